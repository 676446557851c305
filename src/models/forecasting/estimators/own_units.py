"""Which unit each series has: that of its own rows, of those fitted to or of those that came before a forecast."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from models.forecasting.estimators.covariates import Columns
from models.forecasting.estimators.held_out import cut
from models.forecasting.estimators.input import Group
from models.forecasting.estimators.position import Position
from models.forecasting.estimators.series_units import in_units
from models.forecasting.estimators.unlike_series import FEWEST, and_more
from models.forecasting.series import units_of
from models.numerics.standardisation import Standardisation, varies_by_rounding

FAR_OFF = 30.0  # standard deviations of a series, from which on values held out outweigh those of other series


def with_own_units(groups: Sequence[Group], columns: Columns, *, share: float) -> list[Group]:
    """Returns series to fit to, each with the units of its observed columns in all but the last `share` of its rows.

    Warns of the series whose last rows are the furthest off in its units, from `FAR_OFF` on. Raises ValueError for
    fewer than `FEWEST` values of a target in one of them, or none of another column, and for a column that is constant
    in each of them.
    """
    parts = [cut(group.values, share=share, context=0)[0][:, : len(columns.observed)] for group in groups]
    for group, part in zip(groups, parts, strict=True):
        _check_values(part, columns, group.key, others=len(groups) > 1)
    constant = np.logical_and.reduce([_constant(part) for part in parts])
    if constant.any():
        label = columns.observed[int(np.argmax(constant))]
        raise ValueError(
            f'column {label} is constant in each of the series, which standardise="each" tells no other way; leave it '
            'out, or fit with standardise="all"'
        )
    found = [replace(group, units=_units_of_one(part)) for group, part in zip(groups, parts, strict=True)]
    _say_far_off(found, [group.values[len(part) :] for group, part in zip(groups, parts, strict=True)], columns)
    return found


def _check_values(part: np.ndarray, columns: Columns, key: Any, *, others: bool) -> None:
    """Raises ValueError where rows (time, column) that are fitted to have too few values for the unit of their
    series."""
    counts, needed = _values(part), _needed(columns)
    few = counts < needed
    if few.any():
        place = int(np.argmax(few))
        count = int(counts[place])
        way = "leave the series out" if others else "give more rows"
        raise ValueError(
            f"column {columns.observed[place]} has {count} value{'s' * (count != 1)} in the rows of "
            f"series {key} that are fitted to, and its unit there needs {needed[place]}; {way}, or fit with "
            'standardise="all"'
        )


def _say_far_off(groups: Sequence[Group], after: Sequence[np.ndarray], columns: Columns) -> None:
    """Warns of the series whose rows (time, column) after those fitted to are the furthest off in a target."""
    targets = len(columns.targets)
    rows = [in_units(part[:, : len(columns.observed)], group.units) for group, part in zip(groups, after, strict=True)]
    sizes = np.stack([np.nan_to_num(np.abs(part[:, :targets])).max(0, initial=0.0) for part in rows])
    far = sizes.max(1) > FAR_OFF
    if len(groups) < 2 or not far.any():
        return
    place, column = map(int, np.unravel_index(int(sizes.argmax()), sizes.shape))
    more = and_more(int(far.sum()) - 1, f"beyond {FAR_OFF:g}")
    warnings.warn(
        f"column {columns.targets[column]} of series {groups[place].key} lies up to {sizes.max():.3g} standard "
        f"deviations of the rows fitted to from their mean in the validation part{more}; its errors outweigh those of "
        "other series in choices and intervals; leave it out, or fit a forecaster to it",
        stacklevel=6,
    )


def units_beside(groups: Sequence[Group], fitted: Mapping[Any, Position]) -> list[Group]:
    """Returns series of X, each with the units of the one fitted to with its key; without units where there is none."""
    return [replace(group, units=fitted[group.key].units if group.key in fitted else None) for group in groups]


def lack_units(groups: Sequence[Group], fitted: Mapping[Any, Position]) -> bool:
    """Says whether one of the series has no units, where those fitted to have units of their own."""
    each = any(position.units is not None for position in fitted.values())
    return each and any(group.units is None for group in groups)


def first_told(history: int, *, lack: bool) -> int:
    """Returns how many rows are seen before the first forecast where nobody says: `history`, and at least as many as
    tell the unit of a series without gaps where some lack theirs."""
    return max(history, FEWEST if lack else 1)


def units_of_rows(groups: Sequence[Group], columns: Columns, first: int | None) -> list[Group]:
    """Returns the series, those without units with those of their own rows.

    first: how many of the rows tell the unit; None: all of them. Raises ValueError where these have fewer than `FEWEST`
    values of a target or no two that differ.
    """
    return [
        replace(group, units=_new_units(group, columns, first)) if group.units is None else group for group in groups
    ]


def units_told_first(
    groups: Sequence[Group], fitted: Mapping[Any, Position], columns: Columns, least: int
) -> tuple[list[Group], list[int]]:
    """Returns the series, those that lack units with those of their first rows, and how many rows these are: the fewest
    that tell a unit, at least `least` of them where there are so many, and 0 of series that lack none.

    Raises ValueError where not even all rows tell one.
    """
    if not lack_units(groups, fitted):
        return list(groups), [0] * len(groups)
    firsts = [0 if group.units is not None else _rows_that_tell(group, columns, least) for group in groups]
    pairs = zip(groups, firsts, strict=True)
    return [units_of_rows([group], columns, first)[0] for group, first in pairs], firsts


def _rows_that_tell(group: Group, columns: Columns, least: int) -> int:
    """Returns how many of the first rows of a series tell its unit, at least `least`; all where fewer do not."""
    rows = group.values[:, : len(columns.observed)]
    counts = range(least, len(rows))
    more = bisect_left(counts, True, key=lambda count: not _lacking(rows[:count], columns).any())
    return min(least + more, len(rows))


def finite_units(series: Sequence[np.ndarray]) -> Standardisation:
    """Returns the units of series (time, column). Raises ValueError for values whose standard deviation is not
    finite."""
    with np.errstate(over="ignore", invalid="ignore"):  # of which the next line speaks
        units = units_of(series)
    if not all(bool(part.isfinite().all()) for part in units):
        raise ValueError("values of X are too large for a standard deviation in double precision; rescale them")
    return units


def _units_of_one(rows: np.ndarray) -> Standardisation:
    """Returns the units of one series (time, column), to the bit the same however its rows lie in memory."""
    return finite_units([np.ascontiguousarray(rows)])


def unchanged_first(units: Standardisation, columns: int) -> Standardisation:
    """Returns units that leave so many of the first columns as they are."""
    mean, scale = (part.clone() for part in units)
    mean[:columns], scale[:columns] = 0.0, 1.0
    return Standardisation(mean, scale)


def _new_units(group: Group, columns: Columns, first: int | None) -> Standardisation:
    rows = group.values[:first, : len(columns.observed)]
    lacking = _lacking(rows, columns)
    if lacking.any():
        place = int(np.argmax(lacking))
        count, seen, needed = int(_values(rows)[place]), len(rows), _needed(columns)[place]
        unlike = " that are not all alike" if needed > 1 else ""
        raise ValueError(
            f"series {group.key} of X, which fit did not see, has too little to tell its unit: column "
            f"{columns.observed[place]} has {count} value{'s' * (count != 1)} in its "
            f"{'first ' * (seen < len(group.values))}{seen} row{'s' * (seen != 1)}, and needs {needed}{unlike}; "
            f'{_way_to_unit(group, columns)}, or fit with standardise="all"'
        )
    return _units_of_one(rows)


def _lacking(rows: np.ndarray, columns: Columns) -> np.ndarray:
    """Returns which columns of rows (time, column) have too few values for a unit, or do not change though they are
    targets, bool (column,)."""
    targets = len(columns.targets)
    lacking = _values(rows) < _needed(columns)
    lacking[:targets] |= _constant(rows[:, :targets])
    return lacking


def _values(rows: np.ndarray) -> np.ndarray:
    """Returns how many values were observed of each column of rows (time, column), (column,)."""
    return (~np.isnan(rows)).sum(0)


def _needed(columns: Columns) -> np.ndarray:
    """Returns how many values of a series tell its unit, by observed column, (column,)."""
    return np.where(np.arange(len(columns.observed)) < len(columns.targets), FEWEST, 1)


def _way_to_unit(group: Group, columns: Columns) -> str:
    """Returns what gives a unit to a series of which the rows seen tell none: more of them, where it has enough."""
    first = _rows_that_tell(group, columns, 1)
    return f"raise first to {first}" if first < len(group.values) else "give more rows"  # to forecast what follows


def _constant(values: np.ndarray) -> np.ndarray:
    """Returns which columns of values (time, column) vary by rounding alone, or were not observed, bool (column,)."""
    low, high = (torch.from_numpy(of(values, axis=0)) for of in (np.fmin.reduce, np.fmax.reduce))
    return (varies_by_rounding(low, high) | low.isnan()).numpy()
