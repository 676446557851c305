"""Calls of pandas that bring rows to even steps, by how the series came; STEP in them is a frequency or a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from models.forecasting.estimators.input import Grouping
from models.forecasting.index.steps import step_of, times_in
from models.forecasting.index.working_days import WORKING_DAYS, fill_call

EACH_BY_ITSELF = {
    "list": "[x.{} for x in X]",
    "groups": "X.groupby(level=0).apply(lambda x: x.droplevel(0).{})",
}  # by how the series came
NUMBERS = {
    "list": "reindex(range(x.index[0], x.index[-1] + 1, STEP))",
    "groups": "reindex(range(x.index[0][1], x.index[-1][1] + 1, STEP))",
}  # which are put in
WHOLE = {"asfreq": 'asfreq("STEP")', "reindex": 'resample("STEP").asfreq()'}  # of each series from its own first row


def way_to_fill(index: Any, indices: Iterable[Any], grouping: Grouping) -> str:
    """Returns the call that puts empty rows in for those that an index of one series misses, of times, periods, spans
    or whole numbers, for data of this grouping.

    indices: of all series, to which the call comes: it names working days only where all have these."""
    numbers = index.dtype.kind in "iu"
    call = "reindex" if numbers else fill_call(index)
    if call == WORKING_DAYS and not all(fill_call(each) == call for each in indices):
        call = "asfreq"
    if grouping == "one":
        return f"DataFrame.{call}"
    return EACH_BY_ITSELF[grouping].format(NUMBERS[grouping] if numbers else WHOLE.get(call, call))


def way_to_even_steps(index: Any, indices: Iterable[Any], grouping: Grouping) -> str:
    """Returns what to do about uneven times, or whole numbers, of an index of one series, for data of this grouping: to
    leave the zone out where times are even by a clock that was changed, and else to put in the rows that are missing.

    indices: as for `way_to_fill`."""
    if even_by_the_clock(index):
        return (
            "its times are even by a clock that was changed, so leave the zone out, as tz_localize(None) of the index "
            "does"
        )
    missing = "numbers" if index.dtype.kind in "iu" else "times"
    return f"put in empty rows for missing {missing}, with {way_to_fill(index, indices, grouping)} say"


def even_by_the_clock(index: Any) -> bool:
    """Returns whether the times of an index have a zone, and one step without it that they do not keep with it, as 6
    hours over a change by one; a step that divides the change, as an hour, keeps its places."""
    times: Any = times_in(index)
    if getattr(times, "tz", None) is None or step_of(wall := times.tz_localize(None)) is None:
        return False
    step = int(np.median(np.diff(wall.as_unit("ns").asi8)))
    elapsed = times.as_unit("ns").asi8
    return step > 0 and bool(((elapsed - elapsed[0]) % step).any())


def way_to_interpolate(grouping: Grouping) -> str:
    """Returns the call that reads values at even numbers, for data of this grouping."""
    return "numpy.interp" if grouping == "one" else "numpy.interp for each series by itself"


def way_to_resample(grouping: Grouping) -> str:
    """Returns the call that brings times to another step, for data of this grouping."""
    return "DataFrame.resample" if grouping == "one" else EACH_BY_ITSELF[grouping].format('resample("STEP").mean()')
