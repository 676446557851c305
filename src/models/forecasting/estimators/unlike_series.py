"""Series that one model is fitted to, that differ in spread or steps, or stand in the wrong level of an index."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from models.forecasting.estimators.even_steps import way_to_resample
from models.forecasting.estimators.held_out import cut
from models.forecasting.estimators.input import Form, Group, Grouping, Rows
from models.forecasting.index.kinds import contents
from models.forecasting.index.row_steps import step_between
from models.numerics.standardisation import ROUNDING

FEWEST_ROWS = 10  # of the longest series
FEWEST = 10  # observed values of a series, fewer of which tell nothing of its spread
NARROW = 0.1  # of the common standard deviation: from here on down a model of all loses to the last value
ENOUGH = 0.5  # of the columns that have to be narrow: in many columns there is always one
EACH_BY_ITSELF = {
    "groups": "X[columns] = X.groupby(level=0)[columns].transform(lambda s: (s - s.mean()) / (s.std() or 1))",
    "list": "(x - np.nanmean(x, 0)) / np.maximum(np.nanstd(x, 0), 1e-300) for these columns x",
}  # by how the series came
GROUP_FIRST = "put the group first, with X.swaplevel().sort_index()"


class NarrowSeries(NamedTuple):
    """Holds the series (its place) and the column with the least standard deviation about its own mean, beside that of
    all series about their own means, and how many more series are as narrow."""

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


def and_more(others: int, what: str) -> str:
    """Returns ", and 2 more series are as narrow" for 2 others and what is said of them; nothing for none."""
    return f", and {others} more series {'is' if others == 1 else 'are'} {what}" if others else ""


def say_unlike_spreads(groups: Sequence[Group], targets: Sequence[Any], form: Form, *, share: float, off: str) -> bool:
    """Returns whether there are narrow series (`narrow_series`), and warns of the narrowest by its target.

    share: of each series, its end, that is not fitted to. off: what the common unit spoils.
    """
    parts = [cut(group.values[:, : len(targets)], share=share, context=0)[0] for group in groups]
    found = narrow_series(parts) if len(groups) > 1 else None
    if found is None:
        return False
    more = and_more(found.others, "as narrow")
    warnings.warn(
        f"column {targets[found.column]} has a standard deviation of {found.own:.3g} in series "
        f"{groups[found.series].key}, and of {found.common:.3g} in all, each about its own mean{more}; all share one "
        f'unit, so its {off} may be far off; fit with standardise="each", or standardise the target columns of each by '
        "itself, with "
        f"{EACH_BY_ITSELF[form.grouping]}, and put the forecasts back, times its standard deviation plus its mean",
        stacklevel=5,
    )
    return True


def say_unlike_steps(groups: Sequence[Group], grouping: Grouping) -> None:
    """Warns of the first series whose rows are further apart, or less far, than those of one before it; grouping: how
    they came."""
    steps = [(group.key, step) for group in groups if (step := step_between(group.index)) is not None]
    for key, step in steps:
        first, usual = next(pair for pair in steps if pair[1].unit == step.unit)
        if not step.is_like(usual):
            way = "" if step.unit == "numbers" else f", with {way_to_resample(grouping)} say,"
            warnings.warn(
                f"the rows of series {key} are {step} apart, and those of series {first} {usual}; each counts as one "
                f"step of the same model; bring all to one step{way} or fit a forecaster to each",
                stacklevel=6,
            )
            return


def check_levels(rows: Rows) -> None:
    """Raises ValueError for many series of fewer than `FEWEST_ROWS` rows each, as an index with the time first has
    them, and warns where the first level holds times and the second names."""
    if rows.form.grouping != "groups":
        return
    first, longest = rows.groups[0], max(len(group.values) for group in rows.groups)
    if longest < FEWEST_ROWS <= len(rows.groups):
        raise ValueError(
            f"X has {longest} row{'s' * (longest > 1)} in the longest of its {len(rows.groups)} series; give at least "
            f"{FEWEST_ROWS}, or, if its index has the time first, {GROUP_FIRST}"
        )
    if hasattr(first.key, "year") and contents(first.index) == "names":
        warnings.warn(
            f"the index of X has times first and names behind them, so that each time is a series; {GROUP_FIRST}",
            stacklevel=6,
        )
