"""Splits and overlaps of sentence pairs, beside checks that are written out."""

from __future__ import annotations

import numpy as np
import pytest

from data.base import DataError
from data.text_pairs import Pairs, Removed, Task
from data.translation.overlaps import REPEATED, connected, scored_once, split_connected, without_overlaps

DE, FR = Task("de", "en"), Task("fr", "en")


def random_pairs(count: int, words: int, seed: int) -> Pairs:
    drawn = np.random.default_rng(seed).integers(words, size=(count, 2))
    return tuple(dict.fromkeys((f"f{a}", f"e{b}") for a, b in drawn.tolist()))


def test_pairs_with_a_text_in_common_are_connected_by_way_of_others_and_across_tasks() -> None:
    de = (("a", "1"), ("b", "1"), ("b", "2"), ("c", "3"))
    fr = (("x", "2"), ("a", "4"))  # a of another language is another text
    assert connected([DE, FR], [de, fr]) == [[(0, 0), (0, 1), (0, 2), (1, 0)], [(0, 3)], [(1, 1)]]
    assert connected([DE, DE.reversed], [de[:1], (("1", "z"),)]) == [[(0, 0), (1, 0)]]


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_a_split_have_no_text_in_common(seed: int) -> None:
    tasks, pairs = (DE, FR), [random_pairs(300, 400, seed), random_pairs(60, 400, seed + 100)]
    parts = split_connected(tasks, pairs, {"validation": 0.1, "test": 0.2}, name="made", seed=[seed])
    for i, task in enumerate(tasks):
        assert sorted(sum((part[i] for part in parts.values()), ())) == sorted(pairs[i])
        assert 0 < len(parts["validation"][i]) <= max(1, round(0.1 * len(pairs[i]))), task
        assert 0 < len(parts["test"][i]) <= round(0.2 * len(pairs[i])), task
    texts = [
        {side for task, own in zip(tasks, part, strict=True) for pair in own for side in zip(task, pair, strict=True)}
        for part in parts.values()
    ]
    assert sum(map(len, texts)) == len(set.union(*texts))


def test_a_split_fills_its_shares_where_pairs_are_unconnected() -> None:
    pairs = tuple((f"f{i}", f"e{i}") for i in range(200))
    parts = split_connected([DE], [pairs], {"validation": 0.02, "test": 0.1}, name="made", seed=[0])
    assert {name: len(part[0]) for name, part in parts.items()} == {"train": 176, "validation": 4, "test": 20}
    assert list(parts["train"][0]) == sorted(parts["train"][0], key=lambda pair: int(pair[0][1:]))
    again, other = (
        split_connected([DE], [pairs], {"validation": 0.02, "test": 0.1}, name="made", seed=[seed]) for seed in (0, 1)
    )
    assert again == parts != other


def test_a_small_task_reaches_every_part_beside_a_large_one() -> None:
    large = tuple((f"f{i}", f"e{i}") for i in range(500))
    small = tuple((f"g{i}", f"e{i}") for i in range(10))  # of the same English
    parts = split_connected((DE, FR), [large, small], {"validation": 0.1, "test": 0.1}, name="made", seed=[0])
    assert [len(part[1]) for part in parts.values()] == [8, 1, 1]
    assert [len(part[0]) for part in parts.values()] == [400, 50, 50]


def test_a_task_that_cannot_be_split_is_named() -> None:
    pairs = tuple(("one", f"e{i}") for i in range(30))
    with pytest.raises(DataError, match="made: of 30 pairs of de-en none can go to the validation part, as pairs that"):
        split_connected([DE], [pairs], {"validation": 0.1, "test": 0.1}, name="made", seed=[0])


def test_overlaps_leave_training_first_then_validation_and_never_a_test() -> None:
    parts = {
        "train": (
            (("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("v", "9")),
            (("a", "5"), ("x", "7"), ("y", "1"), ("z", "8")),
        ),
        "validation": ((("e", "1"), ("v", "6")), (("p", "20"),)),
        "test": ((("f", "1"), ("d", "10")), (("q", "21"),)),
        "elsewhere": ((), (("x", "22"), ("r", "2"))),
    }
    kept, removed = without_overlaps((DE, FR), parts)
    assert kept["train"] == ((("c", "3"),), (("a", "5"), ("z", "8")))
    assert kept["validation"] == ((("v", "6"),), (("p", "20"),))
    assert {name: kept[name] for name in ("test", "elsewhere")} == {name: parts[name] for name in ("test", "elsewhere")}
    assert set(removed) == {
        Removed(DE, "validation", "en side held out", 1),
        Removed(DE, "train", "en side held out", 2),
        Removed(DE, "train", "de side held out", 2),
        Removed(FR, "train", "en side held out", 1),
        Removed(FR, "train", "fr side held out", 1),
    }


def test_a_text_is_scored_once_and_trained_on_in_all_its_translations() -> None:
    own = (("a", "1"), ("b", "1"), ("a", "2"), ("c", "3"))
    kept, removed = scored_once([DE], {"train": (own,), "validation": (own,), "test": (own[:1],)})
    assert kept == {"train": (own,), "validation": ((("a", "1"), ("c", "3")),), "test": (own[:1],)}
    assert removed == (Removed(DE, "validation", REPEATED, 2),)
