"""Tables of pandas in and out of a forecaster; pandas itself is imported only when somebody passes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


NEXT_ROW = " (next row)"  # ends the name of a column that tells of the row after, see `estimators.covariates.Columns`


def is_frame(series: Any) -> TypeGuard[pd.DataFrame]:
    """Says whether this is a table of pandas."""
    return all(hasattr(series, name) for name in ("columns", "index", "loc"))


def is_row(reading: Any) -> TypeGuard[pd.Series]:
    """Says whether this is a row of a table of pandas."""
    return all(hasattr(reading, name) for name in ("to_frame", "index", "loc"))


def in_order(row: pd.Series, names: Sequence[str]) -> np.ndarray:
    """Returns (feature,) values of a table's row, by the names of the columns. Raises ValueError as `values_of`
    does."""
    return values_of(row.to_frame().T, names)[0]


def are_missing(names: Sequence[str]) -> str:
    """Returns what is said of the columns `names` that a table lacks: "column load is missing"."""
    several = len(names) > 1
    return f"column{'s' if several else ''} {', '.join(names)} {'are' if several else 'is'} missing"


def said_of_next_row(names: Sequence[str]) -> str:
    """Returns what to do without the columns `names`, as they are or as numbers, where some tell of the row after."""
    if not any(name.endswith(NEXT_ROW) for name in names):
        return ""
    return f";{NEXT_ROW} is the value in the row after: update and predict of the fitted estimator take rows as fit did"


def values_of(frame: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Returns (time, feature) values of the columns `names`, in that order; NaN where one is missing in the table.

    A column that is called by a number goes by the text of it. Raises ValueError for columns that are not there, are
    there twice, or hold no numbers.
    """
    present = [str(label) for label in frame.columns]
    absent = [name for name in names if name not in present]
    if absent:
        needed, there = ", ".join(names), ", ".join(present)
        hint = said_of_next_row(absent)
        raise ValueError(f"{are_missing(absent)}; the model needs {needed}, the table has {there}{hint}")
    twice = [name for name in names if present.count(name) > 1]
    if twice:
        raise ValueError(f"column {', '.join(twice)} is there twice")
    columns = []
    for name in names:
        try:
            columns.append(frame.iloc[:, present.index(name)].to_numpy(np.float64, na_value=np.nan))
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {name} holds no numbers ({error}); a gap is NaN") from error
    return np.column_stack(columns)


def as_frame(values: np.ndarray, names: Sequence[str], like: pd.DataFrame, index: Any) -> pd.DataFrame:
    """Returns values (time, feature) of the columns `names` as a table, in the order that they have in the table
    `like`."""
    import pandas as pd

    places = [place for place, label in enumerate(like.columns) if str(label) in names]
    order = [list(names).index(str(like.columns[place])) for place in places]
    return pd.DataFrame(values[:, order], columns=like.columns[places], index=index)
