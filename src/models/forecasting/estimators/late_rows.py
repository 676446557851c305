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
    steps = _steps(index) if tail is None else _steps(tail[-1:], index)
    return float(steps.max(initial=before))


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
    steps = _steps(tail, index[:1])
    before, joint = steps[:-1], steps[-1]
    usual = np.sort(before)[len(before) // 2]
    alike = np.abs(before - usual) <= UNLIKE * usual
    return bool(alike.mean() >= 0.5 and joint >= MISSED * usual and joint > (1 + UNLIKE) * longest)


def _steps(*parts: Any) -> np.ndarray:
    """Returns how far neighbours of an index lie apart, which is given in parts, (step,), times and spans in
    seconds."""
    if parts[0].dtype.kind in "mM":
        places = np.concatenate([part.asi8.view(f"m8[{part.unit}]") for part in parts])
        return np.diff(places) / np.timedelta64(1, "s")
    places = np.concatenate([part.asi8 if holds_periods(part) else part.to_numpy() for part in parts])
    return np.diff(places.astype(np.int64 if places.dtype.kind in "iu" else np.float64))


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
