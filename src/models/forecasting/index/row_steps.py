"""How far apart the rows of an index are, to set one series beside another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from models.forecasting.index.steps import even_periods, even_step, months_apart, step_of, times_in
from models.forecasting.index.working_days import skips_working_days

LAST_ROWS = 64  # of an index, which tell its step
DAY = 23 * 3600e9  # nanoseconds of the shortest: from here on the steps of one calendar are of unlike lengths
UNLIKE, UNLIKE_DAYS = 0.01, 0.25  # share by which steps differ, and those of at least a day, such as months
MONDAY_TO_FRIDAY = 5  # days
WORKING_DAYS = ("B", "C")  # names that pandas has for their steps


class Step(NamedTuple):
    """Says how far apart the rows of an index are: unit "times" and "spans", in nanoseconds, or "numbers".

    length: of the shortest step. usual: the median. months: how many, where times go on by whole months. weekends:
    whether days have them, False for working days; None where that is not known.
    """

    unit: str
    length: float
    usual: float
    months: int | None = None
    weekends: bool | None = None

    def __str__(self) -> str:
        """Returns the step as people read it."""
        import pandas as pd

        if self.months is not None:
            return _counted(self.months, "month")
        if self.unit == "numbers":
            return f"{self.usual:g}"
        if self.weekends is False:
            return "1 working day"
        span: Any = pd.Timedelta(int(self.usual), "ns")
        return " ".join(_counted(count, name[:-1]) for name, count in span.components._asdict().items() if count)

    def is_like(self, other: Step) -> bool:
        """Says whether two steps are the same, up to rounding and the unlike lengths of days, months and years."""
        if {self.weekends, other.weekends} == {True, False}:
            return False
        share = UNLIKE_DAYS if self.unit == "times" and other.length >= DAY else UNLIKE
        return self.unit == other.unit and abs(self.length - other.length) <= share * other.length


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def step_between(index: Any) -> Step | None:
    """Returns the step at the end of an index, also of working days of which some are missing; None where its rows
    tell none, or there are fewer than three."""
    if index is None or len(index) < 3:
        return None
    if len(index) > LAST_ROWS:  # pandas keeps what it saw of an index, and not of its parts
        index = index[-LAST_ROWS:]
    times = times_in(index)
    if times is not None:
        step = step_of(times)
        if even_periods(index) is None and step is None and not skips_working_days(times):
            return None
        steps = np.diff(times.as_unit("ns").asi8)
        months = months_apart(times) if steps.min() > 27 * DAY else None
        weekends = None if months else _has_weekends(times, step)
        return Step("times", float(steps.min()), float(np.median(steps)), months, weekends)
    if index.dtype.kind == "m":
        index, unit = index.as_unit("ns").astype(np.int64), "spans"
    else:
        unit = "numbers"
    step = index.step if hasattr(index, "step") else even_step(index)
    return None if step is None else Step(unit, float(step), float(step))


def _has_weekends(times: Any, step: Any) -> bool | None:
    """Says whether times hold a Saturday or a Sunday: False where they go on by working days, of which some may be
    missing, None for a few days in which there is no weekend."""
    if bool((times.day_of_week >= MONDAY_TO_FRIDAY).any()):
        return True
    return False if getattr(step, "freqstr", step) in WORKING_DAYS or skips_working_days(times) else None
