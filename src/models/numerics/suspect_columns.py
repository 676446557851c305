"""Columns of a table that hold nothing of their own: rounding of the others, and numbers of the rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from models.numerics.standardisation import ROUNDING

FEWEST = 10  # rows, of which fewer may rise by one by chance
YEARS = (1500, 2200)
NAMELESS = re.compile(r"Unnamed: \d+(\.\d+)?(_level_\d+)?")  # what pandas calls a column without a name


def may_be_rounding(values: np.ndarray) -> np.ndarray:
    """Returns which columns of values (row, column), NaN for a gap, are, and vary by, no more than rounding makes of
    the others, bool (column,). A constant column is none."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    with np.errstate(over="ignore"):
        sizes, ranges = np.maximum(-low, high), high - low
    return (sizes <= ROUNDING * sizes.max()) & (ranges <= ROUNDING * ranges.max()) & (ranges > ROUNDING * sizes)


def said_of_rounding(values: np.ndarray, labels: Sequence[Any]) -> str | None:
    """Returns what is said of the columns that `may_be_rounding` of the others; None where there are none."""
    named = ", ".join(str(label) for label, small in zip(labels, may_be_rounding(values), strict=True) if small)
    if not named:
        return None
    return (
        f"below {ROUNDING:g} of the other columns in the rows fitted to, and may be rounding of them: {named}; leave "
        "out what is"
    )


def counts_rows(label: Any, parts: Sequence[np.ndarray]) -> bool:
    """Says whether a column has no name, and whole numbers that rise in every row of every part (row,), or fall."""
    if not NAMELESS.fullmatch(str(label)):
        return False
    numbers = [part[~np.isnan(part)] for part in parts]
    steps = np.concatenate([np.diff(part) for part in numbers])
    whole = all(bool((part == np.round(part)).all()) for part in numbers)
    return whole and len(steps) > 0 and (bool((steps > 0).all()) or bool((steps < 0).all()))


def said_of_counter(label: Any, used: str) -> str:
    """Returns what is said of a column that `counts_rows`. used: what it is taken for, such as "forecast"."""
    return (
        f"column {label!r} counts the rows and is {used} like the others; leave it out, with read_csv(…, index_col=0) "
        "or drop"
    )


def numbers_rows(values: np.ndarray) -> bool:
    """Says whether a column (row,) holds whole numbers that rise by one in every row, as those of records do; years do
    not count."""
    whole = len(values) >= FEWEST and bool((values == np.round(values)).all())
    return whole and bool((np.diff(values) == 1).all()) and not YEARS[0] <= values[0] <= values[-1] <= YEARS[1]


def said_of_numbers(label: Any) -> str:
    """Returns what is said of an input that `numbers_rows` and has a name."""
    return (
        f"column {label!r} rises by one in every row and is an input like the others; if it only numbers the "
        "rows, leave it out, with drop"
    )
