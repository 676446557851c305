"""Cells of a table as numbers, whatever parts their decimals, and as texts."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd

COMMA_NUMBER = re.compile(r"([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)")
OTHER_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}([ T]+\d{1,2}:.*)?")  # as people write it
WORDED_DATE = re.compile(  # a year and a word, a quarter, or half of a day; a number with a unit has a shorter word
    r"(?=.*(?:[^\W\d_]{3}|Q[1-4]|[1-4]Q|:\d\d ?[AP]M)).*(?<!\d)\d{4}(?!\d).*", re.IGNORECASE
)
DAYS_FIRST = "in Python pd.to_datetime(column, dayfirst=True) reads those of days before months"
PARTED = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")  # points that part thousands


def numbers_of(column: Any, decimal: str = ".") -> np.ndarray:
    """Returns the cells of a column as float64 (row,): NaN for an empty cell and for a text that is no number. decimal:
    what parts the decimals of numbers that are texts; where it is a comma, a text with a point is no number."""
    commas = decimal == "," and not pd.api.types.is_numeric_dtype(column)
    parsed: Any = pd.to_numeric(column.map(with_point) if commas else column, errors="coerce")
    values = parsed.to_numpy(np.float64, na_value=np.nan)
    return np.where(column.isna(), np.nan, values) if column.dtype.kind in "mM" else values


def texts_of(column: Any) -> list[str]:
    """Returns the cells of a column as texts without blanks at their ends, "" for a missing one.

    Where all numbers of a column are whole they are written without decimals: a gap makes decimal numbers of them."""
    known = column.dropna()
    whole = column.dtype.kind == "f" and bool((known == known.round()).all())
    written = known.map(lambda cell: f"{cell:.0f}" if whole else str(cell).strip())
    return written.astype(object).reindex(column.index, fill_value="").tolist()


def with_point(cell: Any) -> Any:
    """Returns a cell with a point for its decimal comma; None for a text with a point, and any other as it is."""
    if not isinstance(cell, str):
        return cell
    return None if "." in cell else COMMA_NUMBER.sub(r"\1.\2", cell) if COMMA_NUMBER.fullmatch(cell.strip()) else cell


def said_of_cell(cell: str, decimal: str) -> str:
    """Says, in brackets, what to write for a date that is no ISO date, or as `said_of_point`; nothing for any other
    cell."""
    if OTHER_DATE.fullmatch(cell.strip()) is not None:
        return f" (write dates as year-month-day, such as 2024-12-31; {DAYS_FIRST})"
    if (date := worded_date(cell.strip())) is not None:
        return f" (write dates as year-month-day, here {date}; in Python pd.to_datetime(column) reads it)"
    return said_of_point(cell, decimal)


def worded_date(cell: str) -> str | None:
    """Returns a date with a word in it, such as 31 Jan 2024, as year-month-day; None for any other cell."""
    if WORDED_DATE.fullmatch(cell) is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas says that it had to guess the format
        date: Any = pd.to_datetime(cell, errors="coerce")
    return None if pd.isna(date) else f"{date:%Y-%m-%d}"


def said_of_point(cell: str, decimal: str) -> str:
    """Says, in brackets, what to write for a number that has a point where a comma parts the decimals; nothing for any
    other cell."""
    if decimal != "," or "." not in cell or not cell.replace(".", "").replace(",", "").strip("+-").isdigit():
        return ""
    if PARTED.fullmatch(cell) is None:
        return " (it has a point; with decimal='comma' write a comma)"
    return f" (it has a point, which may part thousands: then write {cell.replace('.', '')})"
