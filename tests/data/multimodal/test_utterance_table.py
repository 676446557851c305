"""Utterances of the user's own: texts or steps a row, what labels are taken for, splits, and each complaint."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from data.base import DataError
from data.multimodal.table import load_utterances
from data.utterances import Utterances

Load = Callable[..., Utterances]


def texts(count: int = 10) -> pd.DataFrame:
    said = [f"{'good' if i % 2 else 'bad'} film,{' really' * (1 + i // 2)}" for i in range(count)]
    return pd.DataFrame({"text": said, "label": np.linspace(-1, 2, count)})


def steps(count: int = 10) -> pd.DataFrame:
    """Sample i has i % 3 + 1 steps of text and audio; the audio of its first step is missing where there are three."""
    rows = []
    for i in range(count):
        for j in range(i % 3 + 1):
            lost = i % 3 == 2 and j == 0
            rows.append([f"s{i}", i % 2, i + j / 10, *((np.nan,) * 2 if lost else (10 * i + j, 1.0))])
    return pd.DataFrame(rows, columns=["sample", "label", "t_x", "a_p", "a_q"])


def by_name(data: Utterances, name: str, modality: str) -> np.ndarray:
    part = next(part for part in data.parts.values() if name in part.names)
    return part.modalities[modality].to_arrays()[part.names.index(name)]


def test_a_table_of_texts_has_a_sample_a_row(load: Load) -> None:
    data = load(texts())
    assert [len(part) for part in data.parts.values()] == [7, 1, 2]
    assert sorted(int(name) for part in data.parts.values() for name in part.names) == list(range(1, 11))
    assert (data.label_kind, data.source, data.name, data.stand_in) == ("score", "table:mine.csv", "mine", False)
    assert data.words is not None
    assert data.words.words == ("bad", "film", "good", "really")
    assert by_name(data, "4", "text")[:, 0].tolist() == [3, 2, 4, 4]
    assert data.train.texts is not None
    assert all(text.endswith("really") for text in data.train.texts)
    assert load(texts(), steps=2).test.modalities["text"].values.shape == (2, 2, 1)
    assert load(texts(), seed=1).checksum != data.checksum == load(texts()).checksum


def test_texts_may_have_names_and_a_step_of_audio(load: Load) -> None:
    frame = texts().assign(sample=[f"u{i}" for i in range(10)], a_pitch=np.arange(10.0))
    data = load(frame)
    assert data.modalities == ("text", "audio")
    assert by_name(data, "u7", "audio").tolist() == [[7.0]]


def test_a_table_of_steps_keeps_the_length_of_each_modality(load: Load) -> None:
    data = load(steps())
    assert data.modalities == ("text", "audio")
    assert by_name(data, "s5", "text").tolist() == [[5.0], [5.1], [5.2]]
    assert by_name(data, "s5", "audio").tolist() == [[51.0, 1.0], [52.0, 1.0]]
    assert (data.words, data.train.texts) == (None, None)
    assert (data.label_kind, data.classes) == ("binary", ("0", "1"))


def test_groups_stay_in_one_part(load: Load) -> None:
    data = load(texts(20).assign(speaker=[f"p{i // 4}" for i in range(20)]), group="speaker", test=0.4)
    parts = [set(part.groups) for part in data.parts.values()]
    assert [len(part) for part in parts] == [2, 1, 2]
    assert len(set.union(*parts)) == 5


@pytest.mark.parametrize("seed", range(4))
def test_samples_that_hold_the_same_words_are_drawn_into_one_part(load: Load, seed: int) -> None:
    frame = pd.concat([texts(), texts().assign(text=texts()["text"].str.upper() + "!")], ignore_index=True)
    with pytest.warns(
        UserWarning, match=r"mine\.csv: 10 of 20 samples hold the same as another; each stays in one part"
    ):
        data = load(frame, seed=seed)
    alone = load(texts(), seed=seed)
    for name, part in data.parts.items():
        assert part.names == (*alone.parts[name].names, *(str(int(own) + 10) for own in alone.parts[name].names))
        assert part.groups == alone.parts[name].groups * 2


@pytest.mark.parametrize("seed", range(4))
def test_parts_have_their_shares_of_samples_and_what_stands_often_is_trained_on(load: Load, seed: int) -> None:
    often = np.random.default_rng(seed).random(100) < 0.4
    frame = texts(100).assign(text=["none" if own else f"good film, number {i}" for i, own in enumerate(often)])
    said = r"hold the same as another; each stays in one part with it, 70 in the training part, 10 in .* and 20 in test"
    with pytest.warns(UserWarning, match=said):
        data = load(frame, seed=seed)
    assert [len(part) for part in data.parts.values()] == [70, 10, 20]
    assert {int(name) - 1 for name in data.train.names} >= set(np.flatnonzero(often))


@pytest.mark.parametrize(("kinds", "of_kinds"), [(1, "1 different content,"), (3, "3 different contents,")])
def test_samples_of_too_few_contents_are_drawn_one_by_one_with_a_warning(load: Load, kinds: int, of_kinds: str) -> None:
    frame = texts(60).assign(text=[f"good film{' really' * (i % kinds)}" for i in range(60)])
    with pytest.warns(
        UserWarning, match=rf"60 samples hold only {of_kinds} which .*: 18 of 18 held-out .* so give a column `group`$"
    ):
        data = load(frame)
    alone = load(texts(60))
    assert {own: part.names for own, part in data.parts.items()} == {
        own: part.names for own, part in alone.parts.items()
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("group", [None, "speaker"])
def test_a_draw_without_repeats_is_a_cut_permutation_of_names_or_of_groups(load: Load, group: str, seed: int) -> None:
    frame = texts(24).assign(speaker=[f"p{i // 2}" for i in range(24)])
    data = load(frame if group else frame.drop(columns="speaker"), group=group, seed=seed)
    names = sorted(set(frame["speaker"]) if group else map(str, range(1, 25)))
    test, validation = round(0.2 * len(names)), round(0.1 * len(names))
    order = np.random.default_rng(seed).permutation(len(names))
    for part, places in zip(("test", "validation", "train"), np.split(order, [test, test + validation]), strict=True):
        assert set(data.parts[part].groups) == {names[i] for i in places}


def test_samples_of_other_steps_or_of_none_are_not_the_same(load: Load) -> None:
    frame = texts().assign(text="so good", a_pitch=[*range(8), np.nan, 9])
    assert len(set(load(frame).train.groups)) == 7
    frame.loc[8:, ["text", "a_pitch"]] = np.nan
    with pytest.warns(UserWarning, match="2 of 10 texts have no known word"):
        assert sum(len(set(part.groups)) for part in load(frame).parts.values()) == 10


def test_groups_that_share_words_are_told_of(load: Load) -> None:
    frame = texts(20).assign(
        speaker=[f"p{i // 4}" for i in range(20)], text=["really so", *texts(20)["text"][1:19], "Really: so."]
    )
    said = r"mine\.csv: 1 of \d+ held-out samples hold the same as one of another part, the first is sample (1|20);"
    told = list[str]()
    for seed in range(6):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = load(frame, group="speaker", seed=seed)
        together = any({"1", "20"} <= set(part.names) for part in data.parts.values())
        assert len(caught) == (not together)
        told += [str(own.message) for own in caught]
    assert told
    assert all(re.search(said, own) for own in told)


@pytest.mark.parametrize(("count", "advice"), [(1, "leave them out"), (12, "part or group them otherwise")])
def test_held_out_samples_of_groups_are_not_to_be_left_out_where_none_would_be_left(
    load: Load, count: int, advice: str
) -> None:
    frame = texts(12).assign(speaker=[f"p{i % 4}" for i in range(12)])
    frame["text"] = [f"good film{' really' * (i // 4 if i < count * 4 else i)}" for i in range(12)]
    with pytest.warns(UserWarning, match=rf"held-out samples hold the same as one of .*, so {advice}$"):
        load(frame, group="speaker")


def test_columns_that_are_nothing_are_named(load: Load) -> None:
    with pytest.warns(UserWarning, match=r"mine\.csv: columns that are not used: mood, x_1"):
        load(texts().assign(mood=1, x_1=2.0))


def test_an_empty_text_is_no_step_and_may_not_be_read_in_training(load: Load) -> None:
    frame = texts()
    frame.loc[:, "text"] = ["", *frame["text"][1:]]
    with pytest.warns(UserWarning, match="1 of 10 texts have no known word"):
        data = load(frame, seed=1)
    assert len(by_name(data, "1", "text")) == 0
    assert "1" in data.train.names
    with pytest.raises(DataError, match=r"mine: training sample 1 .* has no step of text"):
        data.check_roles(["text"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="label"), r"mine\.csv: no column 'label'; there are sample, t_x, a_p, a_q"),
        (lambda f: f.drop(columns="sample"), r"mine\.csv: no column 'sample'"),
        (lambda f: f[["sample", "label"]], "no column 'text', and none that begins with t_, a_ or v_"),
        (lambda f: f.assign(text="a"), "a column 'text' and 't_x'; keep the words or the numbers"),
        (
            lambda f: f.drop(columns="t_x").assign(text="a"),
            "row 4, column 'sample': s1 stands twice; a row with a text",
        ),
        (lambda f: f.iloc[:0], "there are no rows"),
        (lambda f: f.iloc[[0, 1, 3, 2, 4, 5]], "row 5, column 'sample': s1 begins again; keep the rows"),
        (lambda f: f.assign(sample=["", *f["sample"][1:]]), "row 2, column 'sample': the name of the sample is empty"),
        (lambda f: f.assign(label=[np.nan, *f["label"][1:]]), "row 2, column 'label': it is empty"),
        (lambda f: f.assign(label=range(len(f))), "row 4, column 'label': it changes within a sample"),
        (
            lambda f: f.assign(label=[*[1.5] * 18, "4,"]),
            "row 20, column 'label': '4,' is no number, and most labels are",
        ),
        (lambda f: f.assign(label=3), r"column 'label' has 1 values \(3\); class labels have two or more"),
        (lambda f: f.assign(step=0), "row 4, column 'step': it does not rise; put the rows of a sample in order"),
        (lambda f: f.assign(a_p="red"), "row 2, column 'a_p': red is not a finite number"),
        (lambda f: f.assign(a_p=np.inf), "row 2, column 'a_p': inf is not a finite number"),
        (lambda f: f.assign(a_q=np.nan), r"row 2, column 'a_q': it is empty and others of a_… are not"),
        (lambda f: f.iloc[:3], "2 samples cannot be split three ways"),
    ],
)
def test_each_fault_is_named_in_one_line(load: Load, change, message) -> None:
    with pytest.raises(DataError, match=message) as raised:
        load(change(steps()), labels="class" if "class labels" in message else "auto")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": "rank"}, r"^labels=rank is unknown; choose one of auto, score, binary, class"),
        (
            {"labels": "binary"},
            r"column 'label' has 10 values \(-1\.0, .*, …\); binary labels have two; names of classes are compared",
        ),
        ({"words": "glove"}, r"^words=glove is unknown"),
        ({"group": "speaker"}, "no column 'speaker'"),
        ({"validation": 0.6, "test": 0.4}, r"^validation=0\.6 and test=0\.4 must lie above 0 and leave"),
    ],
)
def test_settings_that_make_no_sense_are_refused(load: Load, settings, message) -> None:
    with pytest.raises(DataError, match=message):
        load(texts(), **settings)


def test_a_class_without_a_training_sample_is_named(load: Load) -> None:
    frame = texts().assign(label=["rare", *(["yes", "no"] * 5)[:9]])
    lost = [data for seed in range(20) if "1" not in (data := load(frame, seed=seed)).train.names]
    assert lost
    with pytest.raises(DataError, match="class rare has no training sample"):
        lost[0].check_roles(["text"])


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match=r"^a table needs a file \(.*\); give path='FILE'$"):
        load_utterances()
    with pytest.raises(DataError, match="there is no such file"):
        load_utterances(path="nowhere.csv")


def test_of_a_table_without_labels_that_alone_is_said(load: Load) -> None:
    """Warnings are errors here, so that one about the other columns would come first."""
    with pytest.raises(DataError, match=r"mine\.csv: no column 'label'; there are text, score"):
        load(texts().rename(columns={"label": "score"}))
