"""Which sentence pairs are learned from and which are held out."""

from __future__ import annotations

import pytest

from models.experts.pairs import Pair, split, tasks_of


def parallel(count: int, *tasks: str) -> list[Pair]:
    """Pairs of these tasks over the same sentences."""
    languages = [task.split("-") for task in tasks]
    return [Pair(f"{a} {k}", f"{b} {k}", a, b) for a, b in languages for k in range(count)]


def test_tasks_over_the_same_sentences_lose_no_more_than_the_share() -> None:
    pairs = parallel(200, "de-en", "fr-en", "en-de")
    learned, held_out = split(pairs, 0.05, seed=0)
    assert (len(learned), len(held_out)) == (570, 30)
    assert {pair.text.split()[1] for pair in learned}.isdisjoint(pair.text.split()[1] for pair in held_out)
    assert split(pairs, 0.05, seed=0) == (learned, held_out)
    assert split(pairs, 0.05, seed=1) != (learned, held_out)


def test_fewer_than_ten_pairs_choose_no_epoch() -> None:
    pairs = parallel(95, "de-en", "et-lv")
    words = (
        "^held_out=0.04 of 190 pairs is fewer than 10: no epoch is chosen, and the last is kept; give more pairs, "
        "a larger held_out, or 0 for none$"
    )
    with pytest.warns(UserWarning, match=words):
        assert split(pairs, 0.04, seed=0) == (pairs, [])
    assert split(pairs, 0.0, seed=0) == (pairs, [])
    assert len(split(pairs, 0.05, seed=0)[1]) == 10


def test_every_task_holds_out_its_share_rounded() -> None:
    pairs = [*parallel(190, "de-en"), *parallel(33, "et-lv"), *parallel(9, "fi-sv")]
    _, held_out = split(pairs, 0.05, seed=0)
    assert [sum(pair.task == task for pair in held_out) for task in tasks_of(pairs)] == [10, 2, 0]


def test_pairs_that_are_lost_beside_those_that_are_held_out_are_warned_of() -> None:
    pairs = [Pair(f"de {k}", f"en {k % 40}", "de", "en") for k in range(400)]
    words = (
        r"^held_out=0.05 holds out 20 of 400 pairs, and \d+ more are not learned from, as they share a sentence with "
        "one of these; lower held_out, or give a sentence fewer times$"
    )
    with pytest.warns(UserWarning, match=words):
        learned, held_out = split(pairs, 0.05, seed=0)
    assert len(learned) + len(held_out) < 360
    with pytest.raises(ValueError, match="task de-en: no pair is left to learn from; give more pairs, or lower held_o"):
        split([Pair(f"de {k}", "en", "de", "en") for k in range(400)], 0.05, seed=0)
