"""Sentence pairs: what the record refuses, its checksum, tasks that are picked, counts and shorter data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data.base import DataError
from data.text_pairs import MOST_CHARACTERS, Pairs, Removed, Task, TextPairs, fault_of, first_fault, tidied

DE, FR = Task("de", "en"), Task("fr", "en")


def made(task: Task, part: str, count: int) -> Pairs:
    return tuple((f"{task.source} {part} {i}", f"english {task.source} {part} {i}") for i in range(count))


def pairs(**changes) -> TextPairs:
    counts = {"train": 6, "validation": 2, "test": 3}
    parts = {part: tuple(made(task, part, count) for task in (DE, FR)) for part, count in counts.items()}
    return TextPairs(**{"name": "made", "tasks": (DE, FR), "parts": parts, "source": "test", **changes})


def with_part(name: str, *of_tasks: Pairs) -> dict:
    return {"parts": {**pairs().parts, name: of_tasks}}


def test_pairs_are_found_by_part_and_task() -> None:
    data = pairs()
    assert data.pairs("test", FR)[1] == ("fr test 1", "english fr test 1")
    assert (data.languages, data.tests, data.held) == (("de", "en", "fr"), ("test",), ("validation", "test"))
    assert (DE.name, DE.reversed.name) == ("de-en", "en-de")
    with pytest.raises(DataError, match="made: there is no task cs-en; there are de-en, fr-en"):
        data.pairs("test", Task("cs", "en"))


def test_picked_tasks_keep_their_pairs_and_counts() -> None:
    data = pairs(
        removed=(Removed(DE, "train", "why", 3), Removed(DE, "test", "why", 1), Removed(FR, "train", "why", 2))
    )
    assert data.sizes() == [
        {"task": "de-en", "train": 6, "validation": 2, "test": 3, "removed": 4},
        {"task": "fr-en", "train": 6, "validation": 2, "test": 3, "removed": 2},
    ]
    only = data.only([FR])
    assert only.sizes() == data.sizes()[1:]
    assert only.pairs("train", FR) == data.pairs("train", FR)
    assert data.only([FR, DE]).tasks == (FR, DE)


def test_shortened_spreads_over_all_pairs() -> None:
    short = pairs().shortened(train=3, held=1)
    assert [text for text, _ in short.pairs("train", DE)] == ["de train 0", "de train 2", "de train 5"]
    assert [row["test"] for row in short.sizes()] == [1, 1]
    whole = pairs()
    assert whole.shortened() is whole
    assert whole.shortened(train=6, held=6).checksum == whole.checksum


def test_equal_data_have_equal_checksums_and_no_other() -> None:
    data = pairs()
    sums = {data.checksum, data.only([FR, DE]).checksum, data.only([DE]).checksum, data.shortened(train=5).checksum}
    changed = (("de train 0", "another"), *made(DE, "train", 6)[1:])
    sums.add(replace(data, parts={**data.parts, "train": (changed, made(FR, "train", 6))}).checksum)
    assert len(sums) == 5
    assert pairs().checksum == data.checksum


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": (DE, DE)}, "made: a task stands twice; give each once"),
        ({"tasks": (DE,)}, "made: the train part has 2 of 1 tasks"),
        ({"tasks": ()}, "parts train, validation, test of 0 tasks are not known"),
        ({"tasks": (DE, Task("en", "en"))}, "made: from en into en is no translation; give two languages"),
        ({"tasks": (DE, Task("zh-Hant", "en"))}, "made: 'zh-Hant' names no language; take up to 16 letters"),
        (with_part("train", made(DE, "train", 2), ()), "task fr-en has no pair in the train part"),
        (with_part("test", (("a", "b"), ("c", " ")), made(FR, "test", 1)), "test part, de-en, pair 2: it is empty"),
        (with_part("test", (("a\x00", "b"),), made(FR, "test", 1)), r"pair 1: it holds the character U\+0000"),
        (
            with_part("train", (("der", "english fr test 2"),), made(FR, "train", 1)),
            "'english fr test 2', in language en, is in the train part and in one of validation, test too; leave it",
        ),
        (
            with_part("validation", made(DE, "validation", 1), (("fr test 0", "x"),)),
            "'fr test 0', in language fr, is in the validation part and in one of test too",
        ),
    ],
)
def test_what_is_no_such_data_is_refused(change, message) -> None:
    with pytest.raises(DataError, match=message) as raised:
        pairs(**change)
    assert "\n" not in str(raised.value)


def test_equal_texts_of_two_languages_are_no_overlap() -> None:
    data = pairs(**with_part("train", (("fr test 0", "x"),), made(FR, "train", 1)))
    assert data.pairs("train", DE) == (("fr test 0", "x"),)


def test_a_further_test_part_may_lack_a_task() -> None:
    data = pairs(**with_part("elsewhere", (("weit", "far"),), ()))
    assert [row["elsewhere"] for row in data.sizes()] == [1, 0]
    assert data.tests == ("test", "elsewhere")
    with pytest.raises(
        DataError, match="'far', in language en, is in the train part and in one of validation, test, e"
    ):
        replace(data, parts={**data.parts, "train": (made(DE, "train", 1), (("loin", "far"),))})


def test_texts_are_tidied_and_faults_named() -> None:
    assert tidied(" na\u0308chste \t\u00a0 Zeile\n") == "nächste Zeile"
    assert tidied("n\u200ba\u200b\u0308chste \u200b Zeile\u200b") == "nächste Zeile"
    assert tidied("\u200b") == ""
    assert "it is empty" in str(fault_of(" \u200b"))
    assert first_fault((("ein", "a"), ("\u200b", "the"))) == "2: it is empty; fill it in or leave the pair out"
    assert fault_of("<2de> क्\u200dष") is None  # a typed tag is text, and so are joiners
    assert str(fault_of("\ufeffthe")).startswith("it holds the character U+FEFF")
    assert str(fault_of("\ud800")).startswith("it holds the character U+D800")
    assert str(fault_of(" \t")).startswith("it is empty")
    assert fault_of("a" * MOST_CHARACTERS) is None
    assert str(fault_of("a" * (MOST_CHARACTERS + 1))).startswith("it has 10001 characters, and 10000 are the most")
