"""A column of a table as numbers; one that holds none is told by its first cell that is none, with what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from models.runtime.parameters import shown

if TYPE_CHECKING:
    import pandas as pd

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
SEPARATORS = ";\t"  # of files that read_csv takes for one of commas


def column_values(column: pd.Series, name: str) -> np.ndarray:
    """Returns the doubles (time,) of a table's column, NaN where one is missing. Raises ValueError where it holds no
    numbers, and for one of a file that was read by another separator than its own."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_object_dtype

    where, kind = f"column {column.name} of {name}", column.dtype
    _refuse_cut_rows(column, where)
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


def _refuse_cut_rows(column: pd.Series, where: str) -> None:
    """Raises ValueError where rows with decimal commas were cut at these: what stands before the first is the index."""
    begin: Any = column.index[:1]
    levels = [begin.get_level_values(level) for level in range(begin.nlevels)]
    first = next((entry for level in levels for entry in level if isinstance(entry, str)), "")
    names = f"{column.name} {' '.join(map(str, column.index.names))}"
    apart = next((sign for sign in SEPARATORS if sign in names and sign in first), None)
    if apart is not None:
        raise ValueError(
            f"{where} was cut at its commas, so that the index begins with {shown(first)}; read the file with "
            f"sep={apart!r}, decimal=','"
        )


def text_in_words(column: pd.Series) -> str:
    """Returns what is said of a column of texts: its first text that is no number, in which row (from 0), and what to
    do."""
    import pandas as pd

    apart = next((sign for sign in SEPARATORS if sign in str(column.name) and sign in str(column.iloc[0])), None)
    if apart is not None:
        return f" ({shown(column.iloc[0])}); read the file with sep={apart!r}"
    texts = [(row, text) for row, text in enumerate(column) if isinstance(text, str)]
    numbers: Any = pd.to_numeric(pd.Series([text for _, text in texts]), errors="coerce")
    bad = numbers.isna().to_numpy()
    if not bad.any():
        return f" ({shown(texts[0][1])}); turn it into numbers with pandas.to_numeric"
    row, text = texts[int(np.argmax(bad))]
    if "," in text and (way := _way_of_commas([text.strip() for _, text in texts])):
        return f" ({shown(text)} in row {row}); read the file with {way}"
    return (
        f" ({shown(text)} in row {row}); turn it into numbers or leave it out; times (after pandas.to_datetime) and "
        "names of several series go into the index, by set_index"
    )


def _way_of_commas(texts: Sequence[str]) -> str:
    """Returns how numbers with commas are read: as thousands, with decimal commas, or what decides where both may be;
    nothing where the first is neither."""
    with_comma = [text for text in texts if "," in text]
    if all(map(THOUSANDS.fullmatch, with_comma)):
        example = with_comma[0]
        if any("." in text or text.count(",") > 1 for text in texts):
            return "thousands=','"
        return (
            f"thousands=',' if that means {example.replace(',', '')}, with decimal=',' if it means "
            f"{example.replace(',', '.')}"
        )
    return "decimal=','" if DECIMAL_COMMA.fullmatch(with_comma[0]) else ""
