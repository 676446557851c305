"""Rows that begin late after others of which some are missing, so that nothing else says when the next one is due."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from models.forecasting.index.kinds import contents, holds_periods

UNLIKE = 0.1  # of a step: two months or more, and days whose clocks change, differ by less
MISSED = 1.5  # usual steps, from which on at least one row is missing


def longest_step(before: float, tail: Any, index: Any) -> float:
    """Returns the longest step between neighbours of an index that goes on from the end of another, `tail`, of which
    `before` was the longest; seconds of times and spans, else as the index counts, and 0 where there is none, as for
    names. Either may be None."""
    if index is None or contents(index) == "names":
        return 0.0
    joined = index if tail is None else tail[-1:].append(index)
    return float(_steps(joined).max(initial=before))


def begins_late(index: Any, tail: Any, longest: float) -> bool:
    """Says whether the first row of an index begins late: its step s from the row before is above (1 + `UNLIKE`) times
    the longest step before, and at least `MISSED` times the median m of the last ones. Times may be irregular by
    nature: where fewer than half of the last steps lie within `UNLIKE`·m of m, none is late. Nor is one after names, or
    in an index of another kind.

    tail: the index of the last rows before, None for those of an array. longest: the longest step of all before, see
    `longest_step`.
    """
    if tail is None or contents(index) != contents(tail) or contents(tail) == "names" or len(tail) < 2:
        return False
    *before, joint = _steps(tail.append(index[:1]))
    usual = float(np.median(before))
    alike = np.mean(np.abs(np.subtract(before, usual)) <= UNLIKE * usual) >= 0.5
    return bool(alike and joint >= MISSED * usual and joint > (1 + UNLIKE) * longest)


def _steps(index: Any) -> np.ndarray:
    """Returns how far neighbours of an index lie apart, (step,), times and spans in seconds."""
    if holds_periods(index):
        return np.diff(index.asi8)
    if index.dtype.kind in "mM":
        return np.diff(index.asi8) / (np.timedelta64(1, "s") / np.timedelta64(1, index.unit))
    return np.diff(index.to_numpy().astype(np.float64 if index.dtype.kind == "f" else np.int64))


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
        f"{name} begins{where} at {index[0]}, and the rows so far end at {tail[-1]}, further apart than any "
        "neighbours before; its first row counts as the next step all the same, so put in empty rows for any that are "
        "missing in between",
        stacklevel=stacklevel + 1,
    )
