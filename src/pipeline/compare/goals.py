"""What a multirun is asked to reach: a goal with its interval and verdict, and the row that tables have of it."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.compare.claims import NO_CLAIM, verdict
from pipeline.compare.statistics import UNKNOWN, Interval


class Goal(NamedTuple):
    """Holds a goal in words, what was measured with its interval over seeds, the verdict, and the interval over groups
    of test samples, where it is known."""

    goal: str
    value: float
    interval: Interval
    verdict: str
    by_group: Interval = UNKNOWN


def row_of(data: object, goal: Goal, *, stand_in: bool) -> dict[str, object]:
    """Returns the row of a goal on a data set: data, goal, value, low, high, verdict. Stand-in data give no claim."""
    said = NO_CLAIM if stand_in else goal.verdict
    return {"data": data, "goal": goal.goal, "value": goal.value, **goal.interval._asdict(), "verdict": said}


def below(interval: Interval, bound: float) -> str:
    """Returns the verdict on the claim that an interval lies below a bound. The claim does not hold where the interval
    lies above the bound."""
    return verdict(supported=interval.high <= bound, contradicted=interval.low > bound)


def at_least(interval: Interval, bound: float) -> str:
    """Returns the verdict on the claim that an interval lies at a bound or above. The claim does not hold where the
    interval lies below the bound."""
    return verdict(supported=interval.low >= bound, contradicted=interval.high < bound)


def within(interval: Interval, bound: float) -> str:
    """Returns the verdict on the claim that an interval lies within ±bound. The claim does not hold where the whole
    interval lies outside."""
    inside = -bound < interval.low and interval.high < bound
    return verdict(supported=inside, contradicted=interval.low > bound or interval.high < -bound)


def is_so(found: bool) -> str:
    """Returns the verdict on a claim that was looked at once and for all, without an interval."""
    return verdict(supported=found, contradicted=not found)
