"""Calls of pandas that bring rows to even steps, by how the series came; STEP in them is a frequency or a number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from models.forecasting.estimators.input import Grouping
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


def way_to_interpolate(grouping: Grouping) -> str:
    """Returns the call that reads values at even numbers, for data of this grouping."""
    return "numpy.interp" if grouping == "one" else "numpy.interp for each series by itself"


def way_to_resample(grouping: Grouping) -> str:
    """Returns the call that brings times to another step, for data of this grouping."""
    return "DataFrame.resample" if grouping == "one" else EACH_BY_ITSELF[grouping].format('resample("STEP").mean()')
