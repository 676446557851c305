"""Who attends to whom: each pattern against its definition, written out for every pair."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from models.runtime.plain import made_of, plain
from models.sequence import neighbours
from models.sequence.orders import page_order, reading_order
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import (
    Distance,
    DistanceWindow,
    Full,
    Keys,
    Layout,
    Pattern,
    SlidingWindow,
    SpatialWindow,
    WindowRandom,
    WithGlobalTokens,
    keys_of,
)
from page_layouts import layout

PATTERNS: tuple[Pattern, ...] = (
    Full(), SlidingWindow(6), WindowRandom(4, 2), Distance(5), Distance(5, mutual=True), DistanceWindow(5, 4),
    Distance(5, slack=1.0), SpatialWindow(20.0, 10.0),
)  # fmt: skip
SYMMETRIC = (Full(), SlidingWindow(6), Distance(5, mutual=True), SpatialWindow(20.0, 10.0))


def dense(pattern: Pattern, place: Layout, *, seed: int = 0) -> np.ndarray:
    return keys_of(pattern, place, np.random.default_rng(seed)).matrix().toarray() > 0


def near(place: Layout, count: int) -> np.ndarray:
    """The nearest by sorting all of them, ties as the pattern says."""
    found = np.eye(place.count, dtype=bool)
    there = np.flatnonzero(~np.isnan(place.centres[:, 0]))
    for i in there:
        steps = place.centres[there] - place.centres[i]
        order = np.lexsort((there, abs(there - i), steps[:, 0] ** 2 + steps[:, 1] ** 2))
        found[i, there[order[:count]]] = True
    return found


def window(count: int, size: int) -> np.ndarray:
    places = np.arange(count)
    return abs(places[:, None] - places) <= size // 2


def with_first(allowed: np.ndarray) -> np.ndarray:
    allowed = allowed.copy()
    allowed[0] = allowed[:, 0] = True
    return allowed


@pytest.mark.parametrize("grid", [False, True], ids=["strewn", "ties"])
@pytest.mark.parametrize("count", [1, 2, 5, 64, 150])
def test_patterns_are_what_they_say(count: int, grid: bool) -> None:
    place = layout(count, grid=grid)
    x, y = (abs(place.centres[:, None, side] - place.centres[None, :, side]) for side in range(2))
    expected = {
        Full(): np.ones((count, count), bool),
        SlidingWindow(6): window(count, 6),
        Distance(5): near(place, 5),
        Distance(5, mutual=True): near(place, 5) | near(place, 5).T,
        DistanceWindow(5, 4): near(place, 5) | window(count, 4),
        SpatialWindow(20.0, 10.0): (x <= 20) & (y <= 10) | np.eye(count, dtype=bool),
    }
    for pattern, allowed in expected.items():
        np.testing.assert_array_equal(dense(pattern, place), with_first(allowed), err_msg=str(pattern))
        if isinstance(pattern, WithGlobalTokens):
            alone = replace(pattern, global_tokens=[])
            np.testing.assert_array_equal(dense(alone, place), allowed, err_msg=str(alone))


def test_pairs_are_those_of_the_page_and_the_text_where_no_token_is_global() -> None:
    place, chance = layout(12), np.random.default_rng(0)
    alone, usual = (DistanceKeysWindowValues(3, global_tokens=own).pairs(place, chance) for own in ((), ("first",)))
    np.testing.assert_array_equal(alone.keys.matrix().toarray() > 0, near(place, 3))
    assert np.diff(alone.values.offsets).tolist() == [1] + [3] * 11
    assert np.diff(usual.values.offsets).tolist() == [12] + [4] * 11
    assert alone.keys.of(0).tolist() == alone.values.of(0).tolist() == [0]


@pytest.mark.parametrize("given", ["first", ["second"], [0], None, ["first", "first"]])
def test_no_other_token_is_global(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^global_tokens must be \[first\] or \[\], got"):
        SlidingWindow(6, global_tokens=given)


def test_global_tokens_as_a_list_are_the_same_pattern() -> None:
    own = Distance(5, global_tokens=["first"])
    assert own == Distance(5) == made_of(plain(own, "pattern")) != Distance(5, global_tokens=())
    before = plain(own, "pattern")
    del before["fields"]["global_tokens"]  # as it was saved before there was the setting
    assert made_of(before) == own


def test_all_in_one_place_are_neighbours_in_the_order_of_the_text() -> None:
    place = Layout(np.ones((40, 2)), np.zeros(40, bool))
    np.testing.assert_array_equal(dense(Distance(4), place), near(place, 4))
    assert Distance(4).keys(place, np.random.default_rng(0)).of(10).tolist() == [8, 9, 10, 11]


def test_neighbours_are_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    place = layout(100, grid=True)
    whole = dense(Distance(9), place)
    monkeypatch.setattr(neighbours, "ROWS", 7)
    np.testing.assert_array_equal(dense(Distance(9), place), whole)


def test_blocks_beside_drawn_and_at_both_ends() -> None:
    allowed = dense(WindowRandom(4, 2), layout(42, first_everywhere=False), seed=3)
    blocks = allowed[::4, ::4]
    assert (np.repeat(np.repeat(blocks, 4, 0), 4, 1)[:42, :42] == allowed).all()
    assert blocks[[0, -1]].all()
    assert blocks[:, [0, -1]].all()
    for own in range(2, len(blocks) - 2):
        assert blocks[own, own - 1 : own + 2].all()
        assert blocks[own].sum() == 2 + 3 + 2
    assert (dense(WindowRandom(4, 2), layout(42, first_everywhere=False), seed=4) != allowed).any()
    np.testing.assert_array_equal(dense(WindowRandom(4, 2), layout(42, first_everywhere=False), seed=3), allowed)


def test_the_pattern_of_a_long_document_is_no_other_than_that_of_a_short_one() -> None:
    """BigBird's published code attends to everything up to a length."""
    assert not dense(WindowRandom(4, 1), layout(60, first_everywhere=False)).all()


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 33, 90])
def test_every_token_has_itself_and_few_patterns_are_symmetric(pattern: Pattern, count: int) -> None:
    allowed = dense(pattern, layout(count))
    assert allowed.diagonal().all()
    assert allowed[0].all()
    assert allowed[:, 0].all()
    if pattern in SYMMETRIC:
        assert (allowed == allowed.T).all()


def test_approximate_neighbours_are_as_many_and_hardly_farther() -> None:
    place = layout(150)
    exact, found = (dense(Distance(9, slack=slack), place) for slack in (0.0, 0.5))
    for i in np.flatnonzero(~place.everywhere & ~np.isnan(place.centres[:, 0])):
        farthest = [
            np.sort(np.hypot(*(place.centres[own[i] & ~place.everywhere] - place.centres[i]).T))[-1]
            for own in (exact, found)
        ]
        assert farthest[1] <= 1.5 * farthest[0] + 1e-9
        assert found[i].sum() == exact[i].sum()
        assert found[i, i]


def test_distance_is_not_symmetric() -> None:
    allowed = dense(Distance(5), layout(90))
    assert (allowed != allowed.T).any()


def test_pairs_come_in_any_order_and_count_once() -> None:
    keys = Keys.of_pairs(np.array([2, 0, 2, 2]), np.array([1, 0, 0, 1]), 3)
    assert (keys.offsets.tolist(), keys.keys.tolist()) == ([0, 1, 1, 3], [0, 0, 1])


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: SlidingWindow(7), "window must be an even number of at least 2, got 7"),
        (lambda: DistanceWindow(5, 0), "window must be an even number of at least 2, got 0"),
        (lambda: Distance(0), "neighbours must be a whole number of at least 1, got 0"),
        (lambda: Distance(5, slack=-1.0), "slack must be at least 0, got -1.0"),
        (lambda: WindowRandom(0), "block must be a whole number of at least 1, got 0"),
        (lambda: WindowRandom(4, -1), "random_blocks must be a whole number of at least 0, got -1"),
        (lambda: SpatialWindow(1.0, 0.0), "height must be a number above 0, got 0.0"),
        (lambda: SpatialWindow(math.inf, 1.0), "width must be a number above 0 and finite, got inf"),
    ],
)
def test_sizes_that_make_no_sense(made: Callable[[], Pattern], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made()


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100])
def test_an_order_of_the_page_has_each_token_once_and_leaves_of_neighbours(count: int) -> None:
    place = layout(count)
    order = page_order(place.centres, leaf=8)
    assert sorted(order.tolist()) == reading_order(count).tolist()
    assert order[-1] == 0  # it has no place
    if count == 100:
        leaves = [place.centres[order[start : start + 8]] for start in range(0, 96, 8)]
        assert max(np.ptp(leaf, axis=0).max() for leaf in leaves) < 60
        assert all(len(leaf) == 8 for leaf in leaves)
