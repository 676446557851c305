"""Stages of `recipe=experts` by themselves: what is dropped, split, and compared once, on generated languages."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from data import text_pairs
from data.base import DataError
from data.text_pairs import TextPairs
from data.translation.ciphers import Ciphers
from models.experts import predictor
from models.experts.objective import Measured
from models.experts.tags import tag_names
from models.sequence.vocabulary import Vocabulary
from pipeline.host.errors import PipelineError
from pipeline.job.schedules import SCHEDULES, share_of_rate
from pipeline.systems.experts import bars
from pipeline.systems.experts.checks import check_fewshot
from pipeline.systems.experts.config import ExpertsConfig, FitConfig, MixtureConfig, VocabularyConfig
from pipeline.systems.experts.evaluate import ENDS, metrics_of
from pipeline.systems.experts.fewshot import fit_of, mark_of, shots_of, split
from pipeline.systems.experts.figures import learning
from pipeline.systems.experts.fitting import fit_settings, say_long_warmup
from pipeline.systems.experts.load import Encoded, Loaded, encoded, vocabulary_of
from pipeline.systems.experts.validation import Validation


def settings(**changed: Any) -> Any:
    """As much of the settings as a stage reads."""
    longest = changed.pop("longest", 30)
    own = {"languages": ["c3"], "pairs": 5, "adapt": "all"} | changed
    return SimpleNamespace(
        seed=0, fewshot=SimpleNamespace(**own), experts=SimpleNamespace(arm="token+shared", tag="target"),
        vocabulary=SimpleNamespace(longest=longest), tracking=SimpleNamespace(enabled=True),
    )  # fmt: skip


@pytest.fixture(scope="module")
def data() -> TextPairs:
    return Ciphers(languages=3, pairs=40, validation=4, test=4).load()


@pytest.fixture(scope="module")
def vocabulary(data: TextPairs) -> Vocabulary:
    texts = [text for pairs in data.parts["train"] for pair in pairs for text in pair]
    return Vocabulary.train(texts, pieces=300, tags=tag_names(data.tasks))


def test_every_training_sentence_comes_back_from_its_pieces(data: TextPairs, vocabulary: Vocabulary) -> None:
    texts = [text for pairs in data.parts["train"] for pair in pairs for text in pair]
    assert vocabulary.decode(vocabulary.encode(texts)) == texts


def with_long_pairs(data: TextPairs, count: int) -> TextPairs:
    """The data with so many more pairs of the second task, each of them of 100 words."""
    first, second, third = data.parts["train"]
    more = tuple((f"{k} " + "wort " * 100, f"{k} " + "word " * 100) for k in range(count))
    return replace(data, parts={**data.parts, "train": (first, (*second, *more), third)})


def test_long_training_pairs_are_dropped_and_counted_and_long_sources_cut(
    data: TextPairs, vocabulary: Vocabulary
) -> None:
    own = with_long_pairs(data, 3)
    found = encoded(settings(), own, vocabulary)
    assert found.dropped == {"c1-en": 0, "c2-en": 3, "c3-en": 0}
    assert found.parts["train"].count == sum(map(len, own.parts["train"])) - 3
    assert int(found.parts["train"].lengths.max()) <= 30
    cut = encoded(settings(longest=5), with_short_pairs(data), vocabulary)
    assert int(cut.parts["test"].source.lengths.max()) == 5
    with pytest.raises(DataError, match=r"20 of \d+ training pairs of c2-en have more than 30 tokens on a side"):
        encoded(settings(), with_long_pairs(data, 20), vocabulary)


def with_short_pairs(data: TextPairs) -> TextPairs:
    """The data with training pairs of one letter a side."""
    short = tuple((letter, letter) for letter in "abcd")
    return replace(data, parts={**data.parts, "train": (short,) * 3})


def test_new_tasks_stand_last_with_few_pairs_that_are_among_more(data: TextPairs) -> None:
    few, more = (split(settings(languages=["c1"], pairs=count), data) for count in (5, 12))
    assert [task.name for task in few.whole.tasks] == ["c2-en", "c3-en", "c1-en"]
    assert [task.name for task in few.base.tasks] == ["c2-en", "c3-en"]
    assert [len(pairs) for pairs in few.whole.parts["train"]] == [40, 10, 5]  # c3 has a quarter of the pairs
    assert set(few.whole.parts["train"][2]) < set(more.whole.parts["train"][2])
    assert few.whole.parts["test"][2] == data.parts["test"][0]


def test_fewer_pairs_than_were_asked_for_are_said_and_counted(data: TextPairs, capsys) -> None:
    asked = settings(languages=["c1", "c3"], pairs=20)  # c1 has 40, and c3 a quarter of them
    found = split(asked, data).whole
    said = capsys.readouterr()
    words = "fewshot.pairs=20: c3-en has 10, which are all taken; tables say 15, the mean"
    assert words in said.out + said.err
    assert shots_of(asked, found) == 15
    split(settings(languages=["c3"], pairs=10), data)
    assert "fewshot.pairs" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"languages": ["xx"]}, r"fewshot.languages=\['xx'\]: no task has xx; there are c1, en, c2, c3"),
        ({"languages": ["en"]}, r"fewshot.languages=\['en'\] leaves no task to learn before; name fewer"),
    ],
)
def test_languages_that_cannot_be_new_are_refused(changed: dict[str, Any], message: str, data: TextPairs) -> None:
    with pytest.raises(DataError, match=message):
        split(settings(**changed), data)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"languages": ["c1", "c1"]}, r"fewshot.languages=\['c1', 'c1'\] names one twice; name each once"),
        (
            {"adapt": "adapters"},
            r"fewshot.adapt=adapters means nothing to experts.arm=token\+shared; take token",
        ),
    ],
)
def test_settings_of_few_shots_that_cannot_be_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        check_fewshot(settings(**changed))


def test_new_tasks_are_learned_with_the_numbers_of_fewshot_and_a_rate_that_rises_first() -> None:
    own = settings(updates=20, learning_rate=0.002, warmup=40)
    own.fit = FitConfig(
        epochs=1, updates=9, learning_rate=0.1, schedule="warmup_inverse_sqrt", warmup=500, clip=1.0, smoothing=0.1,
        select="bleu", bleu=0, autocast=False,
    )  # fmt: skip
    own.fit = fit_of(own, epochs=10)
    asked = fit_settings(own, title="fit", on_gpu=False)
    rates = [share_of_rate(asked.schedule, step, total=asked.steps, warmup=asked.warmup) for step in range(200)]
    assert (asked.learning_rate, rates.index(max(rates)), own.fit.select) == (0.002, 39, "nll")
    assert sum(rates) > 100  # a warm-up of one update leaves 27
    own.fit.schedule = "constant"
    assert fit_settings(own, title="fit", on_gpu=False).schedule == "constant"


@pytest.mark.parametrize(
    ("warmup", "updates", "rising"), [(500, 1000, 0), (200, 200, 0), (201, 200, 1), (40, 20, 1), (0, 20, 0)]
)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_patience_is_counted_from_the_epoch_in_which_the_warmup_ends(
    schedule: str, warmup: int, updates: int, rising: int
) -> None:
    own = settings()
    own.fit = FitConfig(epochs=20, updates=updates, warmup=warmup, schedule=schedule)
    assert fit_settings(own, title="fit", on_gpu=False).rising == rising


@pytest.mark.parametrize(
    ("languages", "stage", "section"), [([], "fit", "fit"), (["c1"], "base", "fit"), (["c1"], "fit", "fewshot")]
)
def test_a_warmup_longer_than_the_training_is_said(languages: list[str], stage: str, section: str, capsys) -> None:
    own = settings(languages=languages)
    for updates, said in ((4, True), (5, False), (0, False)):  # of two epochs; nothing is trained by none
        own.fit = SimpleNamespace(epochs=2, updates=updates, warmup=9)
        say_long_warmup(own, stage)
        line = f"{section}.warmup=9 is more than all 8 updates; the learning rate rises until the last of them; "
        assert (line + f"lower {section}.warmup" in "".join(capsys.readouterr())) == said


def test_scores_out_of_english_are_of_tasks_out_of_english_alone() -> None:
    values = {"pairs": 9, "nll": 2.0, "chrf": 30.0} | dict.fromkeys(("bleu_low", "bleu_high"), 1.0)
    values |= dict.fromkeys(("chrf_low", "chrf_high"), 1.0)
    bleu = {"de-en": 10.0, "en-de": 20.0, "de-fr": 40.0, "en-fr": 30.0}
    rows = [{"part": "test", "task": task, "bleu": score, **values} for task, score in bleu.items()]
    found = metrics_of(pd.DataFrame(rows), Measured({}, {}))
    assert (found["bleu_xe"], found["bleu_ex"]) == (10, 25)
    assert "bleu_ex" not in metrics_of(pd.DataFrame(rows[:3:2]), Measured({}, {}))


def test_bleu_that_is_undefined_is_left_out_and_cannot_decide() -> None:
    values = {"part": "test", "pairs": 9, "nll": 2.0, "chrf": 30.0} | dict.fromkeys(ENDS, np.nan)
    rows = [{**values, "task": "de-en", "bleu": 10.0}, {**values, "task": "fr-en", "bleu": np.nan}]
    found = metrics_of(pd.DataFrame(rows), Measured({}, {}))
    assert (found["bleu_de-en"], found["bleu_xe"], found["chrf_fr-en"]) == (10, 10, 30)
    assert "bleu_fr-en" not in found
    assert "bleu_xe" not in metrics_of(pd.DataFrame(rows[1:]), Measured({}, {}))
    curve = pd.DataFrame({"epoch": [0, 1], "nll_de-en": 1.0, "nll_fr-en": 2.0, "bleu_fr-en": 3.0})
    assert len(learning(curve, 1, title="t").axes) == 2


def test_bleu_of_validation_leaves_out_tasks_of_which_it_is_undefined() -> None:
    own: Any = SimpleNamespace(sentences=3, data=SimpleNamespace(tasks=[SimpleNamespace(name=name) for name in "abc"]))
    own.of_task = lambda *given: [10.0, np.nan, 20.0][given[1]]
    assert Validation.bleu(own, None) == {"bleu_a": 10, "bleu_c": 20, "bleu": 15}  # pyright: ignore[reportArgumentType]
    own.of_task = lambda *_: np.nan
    assert Validation.bleu(own, None) == {}  # pyright: ignore[reportArgumentType]


def test_what_another_kind_of_device_has_learned_is_not_taken(data: TextPairs, vocabulary: Vocabulary) -> None:
    """A GPU may train in bfloat16."""
    on = [Loaded(data, vocabulary, Encoded({}, {}), torch.device(kind)) for kind in ("cpu", "cuda", "cuda:1")]
    marks = [mark_of(ExpertsConfig(experts=MixtureConfig(arm="dense")), loaded, data) for loaded in on]
    assert (marks[0] == marks[1], marks[1] == marks[2]) == (False, True)


def test_what_was_learned_with_another_vocabulary_is_not_taken(data: TextPairs, vocabulary: Vocabulary) -> None:
    """Another version of the package that makes pieces may make others of the same texts, under the same tags."""
    fewer = Vocabulary.train(["a cat sat"] * 3, pieces=vocabulary.first + 258, tags=vocabulary.tags)
    loaded = [Loaded(data, each, Encoded({}, {}), torch.device("cpu")) for each in (vocabulary, fewer)]
    marks = {mark_of(ExpertsConfig(experts=MixtureConfig(arm="dense")), each, data) for each in loaded}
    assert (fewer.tags == vocabulary.tags, len(marks)) == (True, 2)


def test_what_was_learned_with_another_number_of_threads_is_not_taken(
    data: TextPairs, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, marks = Loaded(data, vocabulary, Encoded({}, {}), torch.device("cpu")), list[str]()
    for threads in (1, 2, 1):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        marks.append(mark_of(ExpertsConfig(experts=MixtureConfig(arm="dense")), loaded, data))
    assert marks[0] == marks[2] != marks[1]


def test_what_was_learned_by_another_schedule_is_not_taken(data: TextPairs, vocabulary: Vocabulary) -> None:
    loaded = Loaded(data, vocabulary, Encoded({}, {}), torch.device("cpu"))
    own = [ExpertsConfig(experts=MixtureConfig(arm="dense"), fit=FitConfig(schedule=each)) for each in SCHEDULES]
    assert len({mark_of(each, loaded, data) for each in own}) == len(SCHEDULES)


ARM = MixtureConfig(arm="dense")
LEARNING = [False, True, False]  # prefix_space of a run after the other


def test_what_was_learned_with_pieces_of_another_kind_is_not_taken(data: TextPairs, vocabulary: Vocabulary) -> None:
    loaded = Loaded(data, vocabulary, Encoded({}, {}), torch.device("cpu"))
    marks = [
        mark_of(ExpertsConfig(experts=ARM, vocabulary=VocabularyConfig(300, own)), loaded, data) for own in LEARNING
    ]
    assert (len(set(marks)), marks[0] == marks[2]) == (2, True)


@pytest.mark.usefixtures("store")
def test_a_vocabulary_is_learned_once_for_equal_settings(data: TextPairs, capsys: pytest.CaptureFixture) -> None:
    found = list[str]()
    for own in LEARNING:
        asked = settings()
        asked.vocabulary, asked.size = VocabularyConfig(400, own), SimpleNamespace(sequences=1)
        found.append(vocabulary_of(asked, data).digest)
    assert (len(set(found)), found[0] == found[2]) == (2, True)
    assert capsys.readouterr().out.count("vocabulary: found, made before") == 1


@pytest.mark.usefixtures("store")
def test_simple_translations_are_scored_once_for_equal_data(data: TextPairs, monkeypatch: pytest.MonkeyPatch) -> None:
    small, asked = data.shortened(train=4, held=2), []
    monkeypatch.setattr(bars, "of_task", lambda *_: asked.append(1) or {"nearest": {"bleu": 12.5}})
    first = bars.scored_bars(settings(), small)
    assert first == {f"bleu_nearest_{task.name}": 12.5 for task in data.tasks}
    assert bars.scored_bars(settings(), small) == first
    assert len(asked) == len(data.tasks)
    bars.scored_bars(settings(), data.shortened(train=3, held=2))
    assert len(asked) == 2 * len(data.tasks)


@pytest.mark.parametrize(
    "text", ["a\x00b", "\ufeffa", "a\ud800", "a\x85 \t b\n", "e\u0301", "\x0b", "a\u200db", "a\u200b \u200bb", "\u200b"]
)
def test_models_take_the_texts_that_data_take(text: str) -> None:
    """Both are checked, for neither knows the other: what was learned from is what can be translated."""
    fault = text_pairs.UNWANTED.search(text)
    if fault is None:
        assert predictor.tidied(text) == text_pairs.tidied(text)
        return
    assert "no text" in str(text_pairs.fault_of(text))
    with pytest.raises(ValueError, match=rf"U\+{ord(fault.group()):04X}, which is no text"):
        predictor.tidied(text)
