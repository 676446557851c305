"""The columns of a table that are modelled: those that are asked for, or all but those that say where a row belongs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from data.base import DataError
from data.files.table_files import Table

LIKENESS = 0.7  # of difflib's ratio, from 0 to 1: a column that is less alike is not suggested
FEWEST = 10  # rows, of which fewer may rise by one by chance
YEARS = (1500, 2200)
NAMELESS = re.compile(r"Unnamed: \d+(_level_\d+)?")  # what pandas calls a column without a name


def no_such_columns(absent: Sequence[str], known: Sequence[str]) -> str:
    """Returns what is said of columns that are not among the known ones, with the one that a single one is like."""
    near = get_close_matches(absent[0], known, n=1, cutoff=LIKENESS) if len(absent) == 1 else []
    meant = "".join(f"; did you mean {column!r}?" for column in near)
    named = ", ".join(repr(name) for name in absent)
    return f"no column{'s' * (len(absent) > 1)} {named}; there are {', '.join(known)}{meant}"


def feature_columns(table: Table, path: Path, wanted: Sequence[str] | None, others: set[str]) -> list[str]:
    """Returns the columns that are wanted, else every column but group and time, and but an index.

    Warns of an index that is left out. Raises DataError naming all unknown columns, for a single name that stands in no
    list, and for a column without a name that may be an index.
    """
    if isinstance(wanted, str):
        raise DataError(f"{path}: columns={wanted} must be a list:", give={"columns": [wanted]})
    known = [str(column) for column in table.frame.columns]
    absent = [name for name in [*(wanted or []), *sorted(others)] if name not in known]
    if absent:
        raise DataError(f"{path}: {no_such_columns(absent, known)}")
    warn_of_index(table, path, {*(wanted or []), *others})
    chosen = list(wanted) if wanted else [name for name in known if name not in {*others, *table.levels}]
    chosen = chosen if wanted else without_index(table.frame, path, chosen)
    if not chosen:
        beside = ", ".join(sorted({*others, *table.levels}))
        raise DataError(f"{path}: no column is left to model{f' beside {beside}' * bool(beside)}")
    return chosen


def counts_rows(column: Any) -> bool:
    """Returns true for whole numbers that rise by one from row to row; empty cells, of blank lines, are passed over."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return False
    values = column.dropna().to_numpy(np.float64)
    return len(values) > 0 and values[0] == np.round(values[0]) and bool((np.diff(values) == 1).all())


def numbers_rows(column: Any) -> bool:
    """Returns true for whole numbers that rise by one from row to row, `FEWEST` rows at least; years do not count."""
    if len(column) < FEWEST or column.isna().any() or not counts_rows(column):
        return False
    return not YEARS[0] <= column.iloc[0] <= column.iloc[-1] <= YEARS[1]


def warn_of_numbers(frame: pd.DataFrame, path: Path, columns: Sequence[str]) -> None:
    """Warns of the first of several inputs that numbers the rows, as the records of a table are numbered."""
    found = [name for name in columns if numbers_rows(frame[name])] if len(columns) > 1 else []
    if found:
        warnings.warn(
            f"{path}: column {found[0]!r} rises by one in every row and is an input like the others; if it "
            "only numbers the rows, leave it out by naming the other inputs as columns",
            stacklevel=3,
        )


def holds_numbers(column: Any) -> bool:
    """Returns true for a column of numbers with one at least."""
    return pd.api.types.is_numeric_dtype(column) and bool(column.notna().any())


def warn_of_index(table: Table, path: Path, used: set[str]) -> None:
    """Warns of the first level of a file's index that is not used, unless it counts rows."""
    for name in table.levels:
        if name not in used and not counts_rows(table.frame[name]):
            warnings.warn(
                f"{path}: the index {name!r} is left out; if it says when or to what a row belongs, name it as time "
                "or group",
                stacklevel=3,
            )
            return


def without_index(frame: pd.DataFrame, path: Path, columns: Sequence[str]) -> list[str]:
    """Returns the columns without those that have no name and count rows, as an index that pandas wrote, and warns of
    them. Raises DataError for another column of numbers without a name."""
    nameless = [name for name in columns if NAMELESS.fullmatch(name)]
    counting = [name for name in nameless if counts_rows(frame[name])]
    kept = [name for name in columns if name not in counting]
    for name in nameless:
        if name not in counting and holds_numbers(frame[name]):
            named = [own for own in kept if own not in nameless]
            told = (
                f"{path}: column {list(frame.columns).index(name) + 1} has no name and may be an index; name it in the"
            )
            if not named:
                raise DataError(f"{told} file, as no other column is left to model")
            raise DataError(f"{told} file, or go on without it:", give={"columns": named})
    if counting:
        warnings.warn(
            f"{path}: column {list(frame.columns).index(counting[0]) + 1} has no name and counts the rows; it is left "
            "out as an index",
            stacklevel=3,
        )
    return kept
