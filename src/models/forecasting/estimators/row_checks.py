"""What rows have to be for a forecaster to learn from them, and what is said of an index that tells no step."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from models.forecasting.estimators.covariates import Columns
from models.forecasting.estimators.even_steps import way_to_even_steps, way_to_interpolate
from models.forecasting.estimators.held_out import cut
from models.forecasting.estimators.input import TAIL, Group, Grouping
from models.forecasting.index.kinds import only_counts
from models.forecasting.index.steps import (
    GO_ON,
    UNEVEN,
    even_periods,
    even_step,
    holds_dates_as_texts,
    step_of,
    times_in,
)
from models.forecasting.index.working_days import skips_working_days
from models.numerics.standardisation import ROUNDING
from models.numerics.suspect_columns import counts_rows, said_of_counter, said_of_rounding

FEWEST_ROWS = 10  # of the longest series
UNEQUAL = 10.0  # times the median step: a longer one is of a running total, not of times
OFFSET = re.compile(r":\d\d(?:[.,]\d+)?\s*([+-]\d\d(?::?\d\d)?|Z)$")  # of a text of a time, from UTC


def check_rows(groups: Sequence[Group], columns: Columns, share: float) -> None:
    """Raises ValueError for too few rows, a column without a value or without change in the part fitted to, and
    targets that were not observed in the held-out part. Warns of dates that are no times of pandas, of columns that may
    be rounding of others, of a column without a name that counts the rows, and of a target that may say when."""
    longest = max(len(group.values) for group in groups)
    if longest < FEWEST_ROWS:
        raise ValueError(f"X has {longest} row{'s' * (longest > 1)} in its longest series; give at least {FEWEST_ROWS}")
    pairs = [cut(group.values, share=share, context=0) for group in groups]
    fitted_to = np.concatenate([before for before, _ in pairs])
    held_out = np.concatenate([part.rows for _, part in pairs])[:, : len(columns.targets)]
    for place, label in enumerate(columns.labels):
        _check_column(fitted_to[:, place], label)
    _say_rounding(fitted_to, columns.labels)
    if np.isnan(held_out).all():
        raise ValueError(f"no target was observed in the last {share:g} of the rows; fit with a larger validation")
    _say_texts(groups)
    _say_counters(groups, columns)
    _say_times(groups, columns)


def say_uneven(groups: Sequence[Group], columns: Columns, grouping: Grouping, *, stacklevel: int) -> None:
    """Warns once of series whose times, spans or numbers are uneven, by the first of them.

    grouping: how they came, which says how rows are put in.
    """
    uneven = [group for group in groups if is_uneven(group)]
    if not uneven:
        return
    indices = [group.index for group in (uneven[0], *groups) if group.index is not None]
    noun, how = _uneven_in_words(indices, columns, grouping)
    more = f" and in {len(uneven) - 1} more" if len(uneven) > 1 else ""
    where = "" if len(groups) == 1 else f" in series {uneven[0].key}{more}"
    counted = ", in the season too" if _counts_in_season(columns) else ""
    warnings.warn(
        f"the {noun} of the index are uneven{where}, and each row counts as one step{counted}; {how}",
        stacklevel=stacklevel,
    )


def is_uneven(group: Group) -> bool:
    """Says whether the times, spans or numbers of a series are uneven."""
    index = group.index
    if index is None or len(index) < 3:
        return False
    return even_step(index) is None if index.dtype.kind in "iuf" else _has_uneven_times(index)


def check_season(groups: Sequence[Group], season: int, share: float) -> None:
    """Raises ValueError for a season of more rows than the longest part fitted to; season 0: none."""
    rows = max(len(cut(group.values, share=share, context=0)[0]) for group in groups)
    if season > rows:
        raise ValueError(f"season is {season} rows, and the longest series has {rows} to fit to; give a shorter season")


def _check_column(values: np.ndarray, label: Any) -> None:
    seen = values[~np.isnan(values)]
    if not len(seen):
        raise ValueError(f"column {label} has no value in the rows fitted to; leave it out or fill it")
    if np.ptp(seen) <= ROUNDING * float(np.abs(seen).max()):
        raise ValueError(f"column {label} is constant ({seen[0]:g}) in the rows fitted to; leave it out")


def _say_rounding(values: np.ndarray, labels: Sequence[Any]) -> None:
    """Warns of columns of values (row, column) that are, and vary by, no more than rounding makes of the others."""
    said = said_of_rounding(values, labels)
    if said:
        warnings.warn(said, stacklevel=7)


def _say_texts(groups: Sequence[Group]) -> None:
    indices = [group.index for group in groups if group.index is not None]
    texts = [index for index in indices if holds_dates_as_texts(index)]
    way = "pd.to_datetime"
    if any(map(_has_unequal_offsets, texts)):
        kind, read = "dates as texts with unequal offsets", ""
        way = 'pd.to_datetime(index, utc=True).tz_convert("ZONE")'
    elif texts:
        kind, read = "dates as texts", "read the table with parse_dates=True, or "
    elif any(index.inferred_type == "date" for index in indices):
        kind, read = "dates of datetime.date", ""
    else:
        return
    warnings.warn(
        f"the index holds {kind}, so that forecasts count 1, 2, … without times; {read}turn its index into times with "
        f"{way}",
        stacklevel=7,
    )


def _has_unequal_offsets(index: Any) -> bool:
    """Says whether texts of times all end with their offset from UTC, and not all with the same."""
    offsets = [OFFSET.search(text) if isinstance(text, str) else None for text in index]
    return None not in offsets and len({offset.group(1) for offset in offsets if offset}) > 1


def _say_counters(groups: Sequence[Group], columns: Columns) -> None:
    """Warns of the first of several columns that pandas made of row numbers, as its tables are written to files."""
    for place, label in enumerate(columns.observed if len(columns.observed) > 1 else ()):
        if counts_rows(label, [group.values[:, place] for group in groups]):
            used = "forecast" if label in columns.targets else "read"
            warnings.warn(said_of_counter(label, used), stacklevel=7)
            return


def _say_times(groups: Sequence[Group], columns: Columns) -> None:
    """Warns of the first of several targets that may say when, where no index does; what counts the rows does not."""
    places = [
        place
        for place, label in enumerate(columns.targets)
        if not counts_rows(label, [group.values[:, place] for group in groups])
    ]
    if len(places) < 2 or not all(only_counts(group.index) for group in groups):
        return
    alone = sum(all(_never_falls(group.values[:, place]) for group in groups) for place in places) == 1
    for place in places:
        if all(may_be_times(group.values[:, place], alone=alone) for group in groups):
            warnings.warn(
                f"column {columns.targets[place]} rises in every row and is forecast like the others; if it says when, "
                "make it the index with set_index",
                stacklevel=7,
            )
            return


def _never_falls(values: np.ndarray) -> bool:
    steps = np.diff(values[~np.isnan(values)])
    return bool((steps >= 0).all() and (steps > 0).any())


def may_be_times(values: np.ndarray, *, alone: bool) -> bool:
    """Returns true when numbers (time,) rise from row to row by one step, up to a thousandth of it, or by whole numbers
    of up to ten times the median; the latter where the column is alone in falling nowhere: several are running
    totals."""
    steps = np.diff(values)
    if not len(steps) or not (steps > 0).all():
        return False
    step = float(np.median(steps))
    whole = alone and bool((values == np.round(values)).all())
    return bool((np.abs(steps - step) <= UNEVEN * step).all()) or (whole and float(steps.max()) <= UNEQUAL * step)


def _has_uneven_times(index: Any) -> bool:
    """Says whether an index holds times, periods or spans of time that tell no step."""
    if even_periods(index) is not None:
        return False
    times = times_in(index)
    return index.dtype.kind == "m" and even_step(index) is None if times is None else step_of(times) is None


def _counts_in_season(columns: Columns) -> bool:
    return columns.season is not None and columns.clock.unit == "rows"


def _goes_on_in_working_days(index: Any, columns: Columns) -> bool:
    """Says whether forecasts after an uneven index have the days from Monday to Friday; where calendar or season go by
    its times, its end has to tell them."""
    times: Any = times_in(index)
    if times is None or not skips_working_days(times[-TAIL:]):
        return False
    return not columns.by_times or step_of(times[-TAIL:]) is not None


def _uneven_in_words(indices: Sequence[Any], columns: Columns, grouping: Grouping) -> tuple[str, str]:
    """Returns what the first of several indices holds, an uneven one, and what to do; of working days also how
    forecasts go on."""
    index = indices[0]
    if index.dtype.kind == "f":
        return "numbers", f"read the values at even ones, with {way_to_interpolate(grouping)} say"
    if index.dtype.kind in "iu":
        return "numbers", way_to_even_steps(index, indices, grouping)
    labels = f"forecasts {GO_ON}; " if _goes_on_in_working_days(index, columns) else ""
    return "times", f"{labels}{way_to_even_steps(index, indices, grouping)}"
