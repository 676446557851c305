"""Goals by hand: the verdict of an interval beside a bound, and the row of a goal."""

from __future__ import annotations

import math

import pytest

from pipeline.compare.claims import DOES_NOT_HOLD, HOLDS, NO_CLAIM, UNDECIDED
from pipeline.compare.goals import Goal, at_least, below, is_so, row_of, within
from pipeline.compare.statistics import UNKNOWN, Interval


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.0, 2.0, (HOLDS, UNDECIDED, UNDECIDED)),
        (2.0, 3.0, (UNDECIDED, HOLDS, UNDECIDED)),
        (2.5, 3.0, (DOES_NOT_HOLD, HOLDS, DOES_NOT_HOLD)),
        (1.0, 1.5, (HOLDS, DOES_NOT_HOLD, HOLDS)),
        (-3.0, -2.5, (HOLDS, DOES_NOT_HOLD, DOES_NOT_HOLD)),
        (1.0, 3.0, (UNDECIDED, UNDECIDED, UNDECIDED)),
        (math.nan, math.nan, (UNDECIDED, UNDECIDED, UNDECIDED)),
    ],
)
def test_an_interval_below_two_at_least_two_and_within_two(low: float, high: float, expected: tuple[str, ...]) -> None:
    assert tuple(rule(Interval(low, high), 2.0) for rule in (below, at_least, within)) == expected


def test_what_was_looked_at_once_holds_or_does_not() -> None:
    assert (is_so(True), is_so(False)) == (HOLDS, DOES_NOT_HOLD)


def test_the_row_of_a_goal_has_its_interval_and_no_claim_on_stand_in_data() -> None:
    goal = Goal("error below 1", 0.5, Interval(0.4, 0.6), HOLDS)
    row = {"data": "walk", "goal": "error below 1", "value": 0.5, "low": 0.4, "high": 0.6, "verdict": HOLDS}
    assert list(row_of("walk", goal, stand_in=False).items()) == list(row.items())
    assert row_of("walk", goal, stand_in=True) == row | {"verdict": NO_CLAIM}
    assert goal.by_group == UNKNOWN
