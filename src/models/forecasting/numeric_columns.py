"""A column of a table as numbers; one that holds none is told by its first cell that is none, with what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from models.runtime.parameters import shown

if TYPE_CHECKING:
    import pandas as pd

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def column_values(column: pd.Series, name: str) -> np.ndarray:
    """Returns the doubles (time,) of a table's column, NaN where one is missing. Raises ValueError where it holds no
    numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_object_dtype

    where, kind = f"column {column.name} of {name}", column.dtype
    number = is_numeric_dtype(kind) or is_bool_dtype(kind)
    if not number and any(isinstance(value, str) for value in column):
        raise ValueError(f"{where} holds text, not numbers{text_in_words(column)}")
    if kind.kind == "c" or not (number or is_object_dtype(kind)):
        advice = "make it the index with set_index" if kind.kind == "M" else "turn it into numbers"
        raise ValueError(f"{where} holds {kind}, not numbers; {advice} or leave it out")
    try:
        return column.to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{where} holds values that are no numbers; turn them into numbers or leave it out") from None


def text_in_words(column: pd.Series) -> str:
    """Returns what is said of a column of texts: its first text that is no number, in which row (from 0), and what to
    do."""
    import pandas as pd

    apart = next((sign for sign in ";\t" if sign in str(column.name) and sign in str(column.iloc[0])), None)
    if apart is not None:
        return f" ({shown(column.iloc[0])}); read the file with sep={apart!r}"
    texts = [(row, text) for row, text in enumerate(column) if isinstance(text, str)]
    numbers: Any = pd.to_numeric(pd.Series([text for _, text in texts]), errors="coerce")
    bad = numbers.isna().to_numpy()
    if not bad.any():
        return f" ({shown(texts[0][1])}); turn it into numbers with pandas.to_numeric"
    row, text = texts[int(np.argmax(bad))]
    if DECIMAL_COMMA.fullmatch(text.strip()):
        return f" ({shown(text)} in row {row}); read the file with decimal=','"
    return (
        f" ({shown(text)} in row {row}); turn it into numbers or leave it out; times (after pandas.to_datetime) and "
        "names of several series go into the index, by set_index"
    )
