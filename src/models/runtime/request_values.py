"""The values of a request to a served model: numbers alone, in the arrays of a body and in the columns of a table."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from models.runtime.request import LONGEST_VALUE, shortened

if TYPE_CHECKING:
    import pandas as pd

ARRAYS = ("instances", "inputs")
LEAVES = {int, float, type(None)}  # of `json.loads`; None is a gap


class ArrayForm(NamedTuple):
    """Says which arrays a model takes.

    depth: the most levels of lists. shapes: what they may be, in words; deepest: that of the most levels. advice: what
    to do about a value that is no number.
    """

    depth: int
    shapes: str
    deepest: str
    advice: str


def check_arrays(request: dict[str, Any], form: ArrayForm) -> None:
    """Raises ValueError, as `check_array` does, for the array of a request, if it has one."""
    for name in ARRAYS:
        if name in request:
            check_array(name, request[name], form)


def check_array(name: str, rows: Any, form: ArrayForm, level: int = 1) -> int:
    """Returns how many levels of lists `rows` has. Raises ValueError, with the place as in `inputs[0][3]`, unless they
    are lists of lists of numbers, at each level of equal length.

    How many columns there must be, and how many levels, the model knows.
    """
    if not isinstance(rows, list):
        raise ValueError(f"{name} must be an array {form.shapes}, not {shortened(rows)}")
    kinds = set(map(type, rows))
    if kinds <= LEAVES:
        return 1
    if kinds != {list}:
        place = next(place for place, kind in enumerate(map(type, rows)) if kind not in LEAVES)
        raise ValueError(f"{name}[{place}]: {shortened(rows[place])} is not a number; {form.advice}")
    if level == form.depth:
        raise ValueError(f"{name} is nested too deep; an array has at most {form.deepest}")
    levels = [check_array(f"{name}[{place}]", row, form, level + 1) for place, row in enumerate(rows)]
    for place, row in enumerate(rows):
        if (len(row), levels[place]) != (len(rows[0]), levels[0]):
            refuse_unequal(name, place, levels[0], len(rows[0]), len(row))
    return 1 + levels[0]


def refuse_unequal(name: str, place: int, levels: int, first: int, other: int) -> None:
    """Raises ValueError: two rows or sequences of an array differ in length. place: of the second one; the first is
    0."""
    what, advice = (
        ("rows", "") if levels == 1 else ("sequences", "; send them as dataframe_split with a column sequence")
    )
    lengths = f"{name}[0] has {first}, {name}[{place}] has {other}"
    raise ValueError(f"{name} has {what} of different lengths: {lengths}{advice}")


def cells_in_column(column: pd.Series) -> list[Any]:
    """Returns the cells of a column of a table, None for a gap, however pandas writes it."""
    return [None if missing else cell for cell, missing in zip(column, column.isna(), strict=True)]


def is_number(value: Any) -> bool:
    """Says whether a value of a table is a number or a gap; a truth value is neither."""
    return value is None or (isinstance(value, (int, float, np.number)) and not isinstance(value, bool))


def numbers_in_column(column: pd.Series, advice: str) -> np.ndarray:
    """Returns a column of a table as float64 (row,), NaN for a gap.

    Raises ValueError for a number that is too large, and, with the row and `advice`, for a value that is no number:
    text, that of a number too, and true and false.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(column) or is_bool_dtype(column):
        for row, value in enumerate(column):
            if not is_number(value):
                shown = reprlib.repr(value)[:LONGEST_VALUE]  # the whole of one that is nested deep is not to be had
                raise ValueError(f"column {column.name}, row {row}: {shown} is not a number; {advice}")
    try:
        return column.to_numpy(np.float64, na_value=np.nan)
    except OverflowError:
        raise ValueError(f"column {column.name} has a number that is too large") from None
