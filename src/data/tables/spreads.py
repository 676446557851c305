"""Series of a table that vary far less than the others: a model of all has one unit for them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.base import ROUNDING

FEWEST = 10  # observed values of a series, fewer of which tell nothing of its spread
NARROW = 0.1  # of the common standard deviation: from here on down a model of all loses to the last value
ENOUGH = 0.5  # of the columns that have to be narrow: in many columns there is always one


class NarrowSeries(NamedTuple):
    """Holds the series (its place) and the column with the least standard deviation about its own mean, beside that of
    all series about their own means, and how many more sequences are as narrow."""

    series: int
    column: int
    own: float
    common: float
    others: int


def narrow_series(parts: Sequence[np.ndarray]) -> NarrowSeries | None:
    """Returns the narrowest of the series that are below `NARROW` of the common standard deviation in half of their
    columns or more; None where there are none. Levels do not count.

    parts: values (time, column) by series, NaN in gaps. A column of a series that is constant, or of which fewer than
    `FEWEST` values were observed, does not count.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        own, counts = (np.stack(each) for each in zip(*map(_spreads, parts), strict=True))
        common = np.sqrt(np.nansum(counts * np.square(own), axis=0) / counts.sum(0))
        shares = own / common
    narrow = (shares < NARROW).mean(1) >= ENOUGH
    if not narrow.any():
        return None
    shares[~narrow] = np.nan
    series, column = map(int, np.unravel_index(int(np.nanargmin(shares)), shares.shape))
    return NarrowSeries(series, column, float(own[series, column]), float(common[column]), int(narrow.sum()) - 1)


def _spreads(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the standard deviation of each column of values (time, column), NaN where it does not count, and how many
    values it is of, 0 there."""
    own, counts = np.full(values.shape[1], np.nan), np.zeros(values.shape[1])
    for place, column in enumerate(values.T):
        seen = column[~np.isnan(column)]
        if len(seen) >= FEWEST and np.ptp(seen) > ROUNDING * float(np.abs(seen).max()):
            own[place], counts[place] = seen.std(), len(seen)
    return own, counts


def warn_of_spreads(parts: Mapping[str, np.ndarray], path: Path, columns: Sequence[str], group: str | None) -> None:
    """Warns of the narrowest of several series (`narrow_series`), values (time, column) by name. group: the column that
    tells them apart; None where a file has none."""
    found = narrow_series(list(parts.values())) if len(parts) > 1 else None
    if found is None:
        return
    others = "sequence is" if found.others == 1 else "sequences are"
    more = f", and {found.others} more {others} as narrow" if found.others else ""
    by_group = f"table[columns] = table.groupby({group!r})[columns]"
    way = f", with {by_group}.transform(lambda s: (s - s.mean()) / (s.std() or 1))" if group else ""
    warnings.warn(
        f"{path}: column {columns[found.column]!r} has a standard deviation of {found.own:.3g} in sequence "
        f"{list(parts)[found.series]}, and of {found.common:.3g} in all, each about its own mean{more}; all share one "
        f"unit, so its forecasts and intervals may be far off; standardise each by itself{way}, and put the forecasts "
        "back, times its standard deviation plus its mean",
        stacklevel=2,
    )
