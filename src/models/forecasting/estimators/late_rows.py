"""Rows that begin late after others of which some are missing, so that nothing else says when the next one is due."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from models.forecasting.estimators.calendar import months_of
from models.forecasting.index.kinds import contents, holds_periods
from models.forecasting.index.steps import UNEVEN, times_in

SHORTEST_MONTH = 28 * 86_400_000_000_000  # nanoseconds: from here on steps are counted in months, of unlike lengths


def begins_late(index: Any, tail: Any) -> bool:
    """Says whether the first row of an index is further from the end of the rows before it than any neighbours of
    these are, `tail` the index of their last ones; false where these are names or fewer than two, and for another kind
    of index."""
    if contents(index) != contents(tail) or contents(tail) == "names" or len(tail) < 2:
        return False
    steps = _steps(tail[-1:].append(index[:1]), tail)
    return bool(steps[0] > (1 + UNEVEN) * steps[1:].max())


def _steps(joint: Any, tail: Any) -> np.ndarray:
    """Returns how far the two rows of `joint` lie apart, and then the neighbours of `tail`, (1 + step,)."""
    steps = [np.diff(_places(index)) for index in (joint, tail)]
    if contents(tail) == "times" and min(int(part.min()) for part in steps) >= SHORTEST_MONTH:
        steps = [np.diff(months_of(index)) for index in (joint, tail)]
    return np.concatenate(steps)


def _places(index: Any) -> np.ndarray:
    if holds_periods(index):
        return index.asi8
    times = times_in(index)
    if times is not None:
        return times.as_unit("ns").asi8
    return index.as_unit("ns").asi8 if index.dtype.kind == "m" else index.to_numpy()


def say_late(late: Mapping[Any, tuple[Any, Any]], name: str, series: int, *, stacklevel: int) -> None:
    """Warns once of series whose rows begin late (`begins_late`), by the first of them.

    late: the index of the rows, and that of the last ones before them, by series. name: of the rows, as an argument.
    series: how many there are.
    """
    if not late:
        return
    key, (index, tail) = next(iter(late.items()))
    more = f" (and {len(late) - 1} more so late)" if len(late) > 1 else ""
    where = f" in series {key}{more}" if series > 1 else ""
    warnings.warn(
        f"{name} begins{where} at {index[0]}, and the rows so far end at {tail[-1]}: no neighbours of the last "
        f"{len(tail)} rows are so far apart, and its first row counts as the next step all the same; put in empty rows "
        "for any that are missing in between",
        stacklevel=stacklevel + 1,
    )
