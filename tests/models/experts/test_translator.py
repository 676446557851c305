"""The translator as a person calls it: learning, a language more, files, what is refused; and its scores."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sacrebleu
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from models import Translator
from models.experts import predictor, search, translator
from models.experts.encoding import encoded, encoded_to_learn
from models.experts.pairs import pairs_in
from models.experts.predictor import Translation, cut_in_words
from models.experts.scores import bleu_of, difference, metrics, resampled, score_of, scores_of, spaced, statistics
from models.experts.tables import translated_table
from models.experts.training import Training
from models.experts.translator import CUT, warn_of_none_held_out, with_tasks
from models.sequence.vocabulary import UNKNOWN

ENGLISH = [f"{one} {two}" for one in ("a", "the", "my", "no") for two in ("house", "tree", "dog", "cat")]
OWN = ("a", "the", "my", "no", "house", "tree", "dog", "cat")
WORDS = {
    "de": ("ein", "das", "mein", "kein", "Haus", "Baum", "Hund", "Katze"),
    "fr": ("un", "le", "mon", "nul", "maison", "arbre", "chien", "chat"),
}
QUICK: dict[str, Any] = {
    "pieces": 320, "width": 16, "heads": 2, "hidden": 24, "layers": 1, "count": 2, "adapter_hidden": 8, "dropout": 0.0,
    "epochs": 1, "updates": 2, "warmup": 2, "tokens": 100, "held_out": 0.0, "beam": 1,
}  # fmt: skip


def pairs(language: str = "de") -> list[tuple[str, str, str, str]]:
    foreign = [" ".join(WORDS[language][OWN.index(word)] for word in text.split()) for text in ENGLISH]
    return [(text, english, language, "en") for text, english in zip(foreign, ENGLISH, strict=True)]


@pytest.fixture(scope="module")
def fitted() -> Translator:
    changed = {"width": 32, "hidden": 48, "epochs": 3, "updates": 40, "learning_rate": 0.01, "warmup": 20}
    return Translator("token+static", **QUICK | changed).fit(pairs())


def test_pairs_are_learned_by_heart_and_a_language_more_leaves_them(fitted: Translator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "before")
    own = Translator.load(tmp_path / "before")
    german, french = [row[0] for row in pairs()], [row[0] for row in pairs("fr")]
    assert own.translate(german, source="de", target="en") == ENGLISH
    assert own.score(pairs())["de-en"]["chrf"] == pytest.approx(100)
    before = own.predictor_.translate(german, [0] * 16)
    own.add_language(pairs("fr"), epochs=3, updates=20, warmup=5)
    assert own.predictor_.translate(german, [0] * 16) == before
    assert own.curve_[-1][0] < own.curve_[0][0]
    assert len(own.translate(french, source="fr", target="en")) == 16
    own.save(tmp_path / "after")
    loaded = Translator.load(tmp_path / "after")
    assert loaded.translate(french, source="fr", target="en") == own.translate(french, source="fr", target="en")
    assert repr((loaded.get_params(), loaded.curve_)) == repr((own.get_params(), own.curve_))


class Terminal(io.StringIO):
    """Is a terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


def test_a_language_more_shows_the_bar_of_a_fit(
    fitted: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted.save(tmp_path / "before")
    own = Translator.load(tmp_path / "before")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    own.add_language(pairs("fr"), epochs=2, updates=1, warmup=1)
    assert "fit:   0%" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()


def test_beam_acts_in_translation_as_it_is_set_there(
    fitted: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted.save(tmp_path / "before")
    own, asked, search = Translator.load(tmp_path / "before").set_params(beam=3), list[int](), predictor.translate
    monkeypatch.setattr(predictor, "translate", lambda *given: asked.append(given[-1].beam) or search(*given))
    own.translate(["das Haus"], source="de", target="en")
    own.save(tmp_path / "after")
    Translator.load(tmp_path / "after").translate(["das Haus"], source="de", target="en")
    predictor.load_predictor(tmp_path / "after").translate(["das Haus"], [0])
    own.set_params(beam=1).score(pairs()[:2])
    assert asked == [3, 3, 3, 1]
    own.set_params(beam=9)
    for call in (lambda: own.score(pairs()), lambda: own.save(tmp_path / "wrong")):
        with pytest.raises(ValueError, match="beam must be at most 8, got 9"):
            call()


def test_spaces_of_no_width_are_nothing(fitted: Translator) -> None:
    told = fitted.translate(["das Haus", "\u200bdas\u200b Haus\u200b", "\u200b"], source="de", target="en")
    assert told == ["the house", "the house", ""]


def test_a_few_pairs_are_learned_at_the_rate_that_was_asked_for(
    fitted: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[Training]()
    monkeypatch.setattr(translator, "train", lambda *given, **_: asked.append(given[2]) or [])
    fitted.save(tmp_path / "kept")
    Translator.load(tmp_path / "kept").add_language(pairs("fr"))
    (how,) = asked
    shares = [how.share(update) for update in range(how.epochs * how.updates)]
    assert shares.index(max(shares)) == 39
    assert sum(shares) > 0.4 * len(shares)


def test_translations_that_do_not_end_are_counted(fitted: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "de-en: 2 of 2 translations did not end and were cut, at twice the tokens of their source and ten more"
    with monkeypatch.context() as patch:
        patch.setattr(search, "END", UNKNOWN)  # which no text of training has, so that none ends
        with pytest.warns(UserWarning, match=words):
            fitted.translate(["das Haus", "ein Hund"], source="de", target="en")
        found = fitted.predictor_.translate(["das Haus", ""], [0, 0])
        assert [one.finished for one in found] == [False, True]
        asked = pd.DataFrame({"text": ["das Haus", None], "from": "de", "to": "en"})
        assert translated_table(fitted.predictor_, asked)["finished"].tolist() == [False, True]
    assert fitted.predictor_.translate(["das Haus"], [0])[0].finished


def test_texts_that_are_cut_are_counted(fitted: Translator) -> None:
    long, words = " ".join(["Haus"] * 100), r"1 of 2 texts have more than longest=60 tokens and were translated up to "
    with pytest.warns(UserWarning, match=rf"de-en: (.*; )?{words}there; cut them into sentences$"):
        fitted.translate([long, "das Haus"], source="de", target="en")
    with pytest.warns(UserWarning, match=words):
        fitted.score([(long, "house", "de", "en"), ("das Haus", "the house", "de", "en")])
    both = [Translation("", 0.0, truncated=True, finished=False), Translation("", 0.0, truncated=True)]
    assert cut_in_words(both, 9) == (
        "1 of 2 translations did not end and were cut, at twice the tokens of their source and ten more; "
        "2 of 2 texts have more than longest=9 tokens and were translated up to there; cut them into sentences"
    )


def test_a_new_target_language_has_a_tag(fitted: Translator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "kept")
    own = Translator.load(tmp_path / "kept")
    own.add_language([(b, a, "en", "fr") for a, b, _, _ in pairs("fr")], adapt="all", epochs=1, updates=2, warmup=2)
    assert "2fr" in own.predictor_.vocabulary.tags
    assert own.predictor_.vocabulary.size == fitted.predictor_.vocabulary.size
    assert own.translate([""], source="en", target="fr") == [""]


def test_a_new_task_begins_with_the_embedding_of_a_known_one() -> None:
    known = [*pairs(), *pairs("fr"), *((b, a, "en", "de") for a, b, _, _ in pairs())]
    own = Translator(**QUICK | {"arm": "token+dynamic"}).fit(known)
    before = own.predictor_.network.table
    own.add_language([(a, b, "it", "en") for a, b, _, _ in pairs("fr")], adapt="tasks", learning_rate=1e-30, epochs=2)
    table = own.predictor_.network.table
    assert torch.equal(table[:3], before)
    assert any(torch.equal(table[3], row) for row in before)


def test_what_a_new_task_begins_with_is_kept_where_no_epoch_is_better(fitted: Translator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "kept")
    own = Translator.load(tmp_path / "kept").set_params(held_out=0.7)
    known = [(text, english, "nl", "en") for text, english, _, _ in pairs()]
    own.add_language(known, epochs=2, updates=1, learning_rate=1e2, warmup=1)
    assert own.translate([text for text, *_ in known], source="nl", target="en") == ENGLISH
    assert len(own.curve_) == 2


@pytest.mark.parametrize("adapter", ["dynamic", "shared"])
def test_a_new_task_leaves_adapters_of_all_tasks_alone(adapter: str) -> None:
    known = [*pairs(), *pairs("fr"), *((b, a, "en", "de") for a, b, _, _ in pairs())]
    own = Translator(**QUICK | {"arm": f"token+{adapter}"}).fit(known)
    texts = [row[0] for row in known]
    before = own.predictor_.translate(texts, [place // 16 for place in range(48)])
    weights = {name: value.clone() for name, value in own.predictor_.network.state_dict().items()}
    own.add_language(
        [(a, b, "it", "en") for a, b, _, _ in pairs("fr")], learning_rate=0.1, epochs=1, updates=2, warmup=2
    )
    after = own.predictor_.network.state_dict()
    assert {name for name in weights if not torch.equal(after[name][: len(weights[name])], weights[name])} == set()
    assert not any(torch.equal(after["table"][3], row) for row in weights["table"])
    assert own.predictor_.translate(texts, [place // 16 for place in range(48)]) == before


@pytest.mark.parametrize(("tag", "new"), [("none", 0), ("target", 0), ("task", 1)])
def test_a_new_source_changes_nothing_of_old_tasks_but_the_row_of_its_tag(tag: str, new: int) -> None:
    """With tag="task" alone it has one; that row counts in the softmax of old tasks too."""
    before = Translator(**QUICK | {"tag": tag}).fit(pairs()).predictor_
    after = with_tasks(before, [("fr", "en")], seed=0)
    old, grown = before.network.state_dict(), after.network.state_dict()
    changed = (grown.pop("embedding") != old.pop("embedding")).any(1).nonzero().flatten().tolist()
    assert changed == [after.vocabulary.tag("fr2")][:new]
    assert all(torch.equal(grown[name][: len(value)], value) for name, value in old.items())
    scores = [own.translate(["das Haus"], [0])[0].score for own in (before, after)]
    assert (scores[0] == scores[1]) == (not new)


@pytest.mark.parametrize("adapter", ["static", "dynamic"])
@pytest.mark.parametrize("router", ["sentence", "hash", "random"])
def test_every_router_learns_with_adapters_and_is_kept(router: str, adapter: str, tmp_path: Path) -> None:
    known = [*pairs(), *pairs("fr"), *((b, a, "en", "de") for a, b, _, _ in pairs())]
    changed = {"arm": f"{router}+{adapter}", "count": 4, "epochs": 2, "updates": 5, "learning_rate": 0.01, "warmup": 2}
    own, again = (Translator(**QUICK | changed).fit(known) for _ in range(2))
    assert own.curve_ == again.curve_
    assert own.curve_[1][0] < own.curve_[0][0]
    adapters = own.predictor_.network.decoder_adapters[0].experts
    assert all(bool(each.any()) for each in adapters.leave[: 3 if adapter == "static" else 0])
    assert bool(adapters.leave.any())  # which begins with zeros
    own.save(tmp_path / "kept")
    loaded, texts = Translator.load(tmp_path / "kept"), [row[0] for row in known]
    task = [place // 16 for place in range(48)]
    assert loaded.predictor_.translate(texts, task) == own.predictor_.translate(texts, task)


def test_a_failed_call_leaves_the_translator_as_it_was(fitted: Translator) -> None:
    before = dict(vars(fitted))
    for call, reason in (
        (lambda: fitted.add_language(pairs()), "task de-en is learned already; give pairs of new tasks alone"),
        (lambda: fitted.add_language(pairs("fr"), adapt="tasks"), "adapter static has no tasks to adapt; take all"),
        (lambda: fitted.add_language(pairs("fr"), learning_rate=1e30), "not finite; lower"),
        (lambda: fitted.fit([]), "there are no pairs; give rows of text, translation, from, to"),
    ):
        with pytest.raises(ValueError, match=reason):
            call()
        assert vars(fitted) == before
    assert fitted.translate(["das Haus"], source="de", target="en") == ["the house"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("a", "b", "de"), "pair 0 must be four texts, text, translation, from, to"),
        (("a", None, "de", "en"), "pair 0 must be four texts"),
        (("a", " ", "de", "en"), "pair 0, translation: it is empty; fill it in or leave the pair out"),
        (("a\x00", "b", "de", "en"), r"pair 0, text: it holds the character U\+0000"),
        (("a", "b", "de", "de"), "pair 0: from and to are both 'de'; give two languages"),
        (("a", "b", "<2de>", "en"), "pair 0: '<2de>' names no language; take letters, digits and _"),
        (("a", "b", "2de", "en"), "pair 0: '2de' names no language"),  # else a tag "22de" could be of two kinds
        (("a", "b", "zh-Hant", "en"), "pair 0: 'zh-Hant' names no language"),
    ],
)
def test_pairs_that_are_none_are_refused_in_one_line(row: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Translator(**QUICK).fit([row])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"arm": "token+shared"}, "adapter shared needs at least 3 tasks"),
        (
            {"arm": "tokens"},
            "an arm is ROUTER or ROUTER.ADAPTER, as token.static, and 'tokens' is none; ROUTER is",
        ),
        ({"pieces": 20}, "pieces must be at least"),
        ({"longest": 4}, "16 of the 16 pairs to learn from have more than longest=4 tokens"),
        ({"heads": 3}, "width must be even and a multiple of heads"),
        ({"beam": 9}, "beam must be at most 8, got 9"),
        ({"temperature": 0.5}, "temperature and updates must be at least 1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Translator(**QUICK | changed).fit(pairs())


@pytest.mark.parametrize(
    ("changed", "reason"),
    [({"arm": "tokens"}, "an arm is"), ({"arm": "token+shared"}, "3 tasks"), ({"heads": 3}, "multiple of heads")],
)
def test_a_network_that_cannot_be_is_refused_before_a_vocabulary_is_learned(
    changed: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.experts.translator.vocabulary_of", lambda *_, **__: pytest.fail("it was learned"))
    with pytest.raises(ValueError, match=reason):
        Translator(**QUICK | changed).fit(pairs())


def test_few_texts_take_as_many_pieces_as_they_allow_and_a_number_of_ones_own_is_refused() -> None:
    with pytest.warns(
        UserWarning, match=r"^the texts allow \d+ pieces of a vocabulary, so these are taken and not 2000"
    ) as said:
        own = Translator(**dict(QUICK, pieces=None)).fit(pairs())
    assert said[0].filename == __file__
    most = own.predictor_.vocabulary.size
    with pytest.raises(ValueError, match=f"the texts allow 294 to {most} pieces, and {most + 1} were asked for"):
        Translator(**QUICK | {"pieces": most + 1}).fit(pairs())
    assert Translator(**QUICK | {"pieces": most}).fit(pairs()).predictor_.vocabulary.size == most


def test_how_pieces_are_learned_is_a_parameter_that_is_saved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^prefix_space must be True or False, got 'yes'$"):
        Translator(**QUICK | {"prefix_space": "yes"}).fit(pairs())
    own = Translator(**QUICK | {"pieces": 300, "prefix_space": True}).fit(pairs())
    own.save(tmp_path / "own")
    read = Translator.load(tmp_path / "own")
    assert read.prefix_space is True
    first, later = read.predictor_.vocabulary.encode(["Haus", "Haus Haus"])
    assert later.tolist() == [*first.tolist()] * 2


def test_long_pairs_are_not_learned_from(fitted: Translator) -> None:
    long = ("Haus " * 100, "house " * 100, "de", "en")
    beyond = "have more than longest=60 tokens"
    left_out = rf"^1 of the 17 pairs to learn from {beyond} and are left out; cut them into sentences"
    with pytest.warns(UserWarning, match=rf"{left_out}$"):
        found = encoded_to_learn(fitted.predictor_, pairs_in([*pairs(), long]), advice=CUT)
    assert found.count == len(pairs())
    assert encoded(fitted.predictor_, pairs_in([*pairs(), long])).count == len(pairs())  # as held-out pairs are
    with pytest.warns(UserWarning, match=rf"{left_out}, or raise longest$") as said:
        Translator(**QUICK).fit([*pairs(), long])
    assert (len(said), said[0].filename) == (1, __file__)
    again = fitted.predictor_.translate([long[0]], [0])
    assert again[0].truncated
    few = pairs_in([*pairs()[:4], long, ("mehr " + long[0], *long[1:])])
    with pytest.raises(ValueError, match=rf"^2 of the 6 pairs to learn from {beyond}; cut them into sentences$"):
        encoded_to_learn(fitted.predictor_, few, advice=CUT)


def test_a_longest_that_only_fit_heeds_is_no_advice_on_new_languages(fitted: Translator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "own")
    own, long = Translator.load(tmp_path / "own").set_params(longest=300), ("maison " * 50, "house " * 50, "fr", "en")
    said = r"^1 of the 17 pairs to learn from have .* tokens and are left out; cut them into sentences$"
    with pytest.warns(UserWarning, match=said):
        own.add_language([*pairs("fr"), long], epochs=1, updates=1, warmup=1)
    with pytest.raises(ValueError, match=r"^1 of the 1 pairs to learn from have .* tokens; cut them into sentences$"):
        own.add_language([("casa " * 50, "house " * 50, "it", "en")], epochs=1, updates=1, warmup=1)
    others = [(english, text, "en", "de") for text, english, *_ in pairs()]
    with pytest.raises(ValueError, match=r"^task it-en: all of its pairs have .* tokens; cut them into sentences$"):
        own.add_language([*others, ("casa " * 50, "house " * 50, "it", "en")], epochs=1, updates=1, warmup=1)


def test_a_table_held_out_pairs_and_equal_seeds() -> None:
    table = pd.DataFrame(pairs() + pairs("fr"), columns=["text", "translation", "from", "to"])
    own = Translator(**QUICK | {"held_out": 0.4, "epochs": 2, "arm": "dense", "pieces": 310}).fit(table)
    fresh: Any = clone(own)
    again = fresh.fit(table)
    assert own.curve_ == again.curve_
    assert all(0 < nats < 10 for _, nats in own.curve_)
    with pytest.raises(ValueError, match="column to must be there once"):
        own.fit(table.drop(columns="to"))
    with pytest.raises(NotFittedError, match="not fitted"):
        Translator().translate(["ein"], source="de", target="en")
    with pytest.raises(TypeError, match="texts must be a list of texts"):
        own.translate("ein", source="de", target="en")
    with pytest.raises(ValueError, match="does not translate from de into fr; it knows de-en, fr-en"):
        own.translate(["ein"], source="de", target="fr")


def test_tasks_of_which_no_pair_is_held_out_are_named(fitted: Translator, tmp_path: Path) -> None:
    known = [*pairs(), *((b, a, "en", "de") for a, b, _, _ in pairs())]
    with pytest.warns(
        UserWarning, match=r"^no pair of fr-en is held out, so that other tasks alone choose the epoch; "
    ):
        Translator(**QUICK | {"held_out": 0.4}).fit([*known, *pairs("fr")[-1:]])
    with pytest.warns(UserWarning, match=r"held out, so that no epoch is chosen; give more pairs, or raise held_out$"):
        warn_of_none_held_out(fitted.predictor_, encoded(fitted.predictor_, []), 0)  # as where all are too long
    fitted.save(tmp_path / "own")
    own = Translator.load(tmp_path / "own").set_params(held_out=0.5)
    with pytest.warns(UserWarning, match=r"^held_out=0.5 of 16 pairs is fewer than 10: no epoch is chosen") as said:
        own.add_language(pairs("fr"), epochs=1, updates=1, warmup=1)
    assert (len(said), said[0].filename) == (1, __file__)
    assert np.isnan(own.curve_[0][1])


def test_scores_say_what_to_install(monkeypatch) -> None:
    metrics.cache_clear()
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(ImportError, match=r"scores of translations need sacrebleu; install it with: pip install"):
        scores_of(["a"], ["a"])


def test_scores_are_those_of_sacrebleu_and_differences_share_their_draws() -> None:
    words = ("dog", "cat", *"abcd", "tree", "king")
    references = [f"the {word} is in the old house by the {word}" for word in words]
    found = [*references[:6], "a tree is in an old house by the tree", "the king was near the house"]
    scores = scores_of(found, references, draws=50)
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(found, [references]).score, abs=1e-12)
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(found, [references]).score, abs=1e-12)
    assert scores["bleu_low"] < scores["bleu"] < scores["bleu_high"] <= 100 + 1e-9
    counts = statistics("bleu", [*found, "a", "no"], [*references, "b", "no"])
    few = np.array([counts[7:].sum(0), counts[8], counts[9], counts.sum(0), counts[6] + counts[8]])
    assert bleu_of(few) == pytest.approx([score_of("bleu", own) for own in few], abs=1e-12)
    generator, looped = np.random.default_rng(7), []
    for _ in range(20):
        times = np.bincount(generator.integers(10, size=10), minlength=10)
        looped.append(score_of("bleu", times.astype(float) @ counts))
    assert resampled("bleu", [counts], draws=20, seed=7)[0] == pytest.approx(looped, abs=1e-12)
    assert difference("chrf", found, found, references, draws=20) == (0, 0, 0)
    gain = difference("bleu", found, references, references, draws=50)
    assert gain.value == pytest.approx(100 - scores["bleu"])
    assert 0 <= gain.low < gain.value < gain.high
    with pytest.raises(ValueError, match="each translation needs its reference; got 8 and 3"):
        scores_of(found, references[:3])


@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_few_sentences_have_scores_without_an_interval(size: int) -> None:
    references = [f"the number {place} is in the old house" for place in range(size)]
    found = [*references[1:], "the house"]
    scores = scores_of(found, references, draws=50)
    own = difference("bleu", found, references, references, draws=50)
    ends = [*(scores[f"{name}_{end}"] for name in ("bleu", "chrf") for end in ("low", "high")), own.low, own.high]
    assert np.isnan(ends).all() if size < 8 else np.isfinite(ends).all()
    assert np.isfinite([scores["bleu"], scores["chrf"], own.value]).all()


def test_bleu_is_undefined_where_no_reference_has_four_words() -> None:
    short = ["the old house", "a dog"] * 4
    scores = scores_of(short, short, draws=9)
    assert np.isnan([scores["bleu"], scores["bleu_low"], scores["bleu_high"]]).all()
    assert (scores["chrf"], scores["chrf_low"]) == pytest.approx((100, 100))
    assert np.isnan(difference("bleu", short, short, short, draws=9)).all()
    assert scores_of(["a dog of the house", *short], ["a dog", *short])["bleu"] != 100  # no reference has four
    longer = [*short, "a dog in the house"]
    assert scores_of(longer, longer)["bleu"] == pytest.approx(100)
    assert scores_of(short, [*short[1:], "a dog in the house"])["bleu"] == 0  # as all translations are too short


@pytest.mark.parametrize("text", ["今天天气很好。", "きょうは雨です", "วันนี้ฝนตก", "ထမင်းစားပြီးပြီ", "ខ្ញុំស្រឡាញ់អ្នក"])
def test_characters_are_words_of_bleu_where_no_spaces_stand_between_words(text: str) -> None:
    assert scores_of([text] * 8, [text] * 8)["bleu"] == pytest.approx(100)
    near = scores_of([text[:-2]] * 8, [text] * 8)["bleu"]
    assert 30 < near < 100
    both = ["im Haus, 3.5 m; é हिन्दी 한국어!", "a , b."]
    assert spaced(both) == both


def test_bleu_of_chinese_is_that_of_sacrebleu() -> None:
    references = ["今天天气很好。", "我喜欢 Berlin 和茶。", "他有3本书"]
    found = ["今天天气好。", "我喜欢 Berlin 和咖啡。", "他有2本书"]
    expected = sacrebleu.corpus_bleu(found, [references], tokenize="zh").score
    assert scores_of(found, references)["bleu"] == pytest.approx(expected, abs=1e-12)
    assert 0 < expected < 100


def test_a_warmup_longer_than_all_updates_is_warned_of() -> None:
    said = r"^warmup=4 is more than all 2 updates .*rises to 50% of learning_rate=0.003 at most; lower warmup$"
    with pytest.warns(UserWarning, match=said):
        own = Translator(**QUICK | {"warmup": 4}).fit(pairs())
    with pytest.warns(UserWarning, match=r"^warmup=40 is more than all 1 updates"):
        own.add_language(pairs("fr"), epochs=1, updates=1)


@pytest.mark.parametrize(("warmup", "updates", "rising"), [(200, 200, 0), (200, 20, 9), (201, 20, 10), (40, 20, 1)])
def test_patience_is_counted_from_the_epoch_in_which_the_warmup_ends(warmup: int, updates: int, rising: int) -> None:
    assert Training(20, updates, 0.003, warmup, 1.0, 2).course.rising == rising
