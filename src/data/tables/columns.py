"""Columns of a table as numbers. Those that hold none are named together, with the arguments that leave them out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from data.base import DataError
from data.files.cells import numbers_of, said_of_cell
from data.files.table_files import TextFormat
from data.tables.missing_marks import warn_of_marks

MOST_NAMED = 8
READ_COMMAS = {"decimal": "comma"}
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


class Advice(NamedTuple):
    """Says what to do, in words that end where the arguments to give begin."""

    words: str
    give: Mapping[str, Any] = {}


class Unusable(NamedTuple):
    """Names a column that cannot be modelled, says why in words, and whether it is one of dates or of decimal
    commas."""

    name: str
    why: str
    dated: bool = False
    comma: bool = False


class Use(NamedTuple):
    """Says what columns of numbers are for.

    orders, target: see `way_out`. commas: whether decimal=comma may be advised. decimal: what parts the decimals of
    numbers that are texts. of_model: whether they are those of a fitted model, so that one may have no value, which is
    a gap, and none can be left out.
    """

    orders: bool = True
    target: str | None = None
    commas: bool = False
    decimal: str = "."
    of_model: bool = False

    @classmethod
    def of_file(cls, file: Path, text: TextFormat, *, target: str | None = None, of_model: bool = False) -> Use:
        """Returns what columns of a file are for; with a target there is no order. text: how the file is written."""
        decimal = text.characters(file)[1]
        return cls(target is None, target, text.takes_comma(file), decimal, of_model)


def holds_dates(column: Any) -> bool:
    """Returns true when every filled cell is a date or a duration, by type or as ISO text; false for a column
    without cells."""
    if column.dtype.kind in "mM":
        return True
    filled = column.dropna()
    if filled.empty or pd.api.types.is_numeric_dtype(column):
        return False
    return bool(pd.to_datetime(filled, errors="coerce", format="ISO8601").notna().all())


def fault(name: str, column: Any, use: Use) -> Unusable | None:
    """Says why a column is not one of finite numbers and empty cells. Rows count as in an editor: the header is row
    1."""
    if column.dtype.kind in "mM":
        return Unusable(name, f"column {name!r} holds dates or durations", dated=True)
    converted = numbers_of(column, use.decimal)
    text = np.isnan(converted) & column.notna().to_numpy()
    bad = np.flatnonzero(text | np.isinf(converted))
    if not len(bad):
        empty = not use.of_model and bool(np.isnan(converted).all())
        return Unusable(name, f"column {name!r}: every cell is empty") if empty else None
    if holds_dates(column):
        return Unusable(name, f"column {name!r} holds dates", dated=True)
    cell = str(column.iloc[bad[0]])
    comma = use.commas and DECIMAL_COMMA.fullmatch(cell) is not None
    hint = f" ({comma_in_words(cell)})" if comma else said_of_cell(cell, use.decimal)
    if np.isinf(converted[bad[0]]) and not use.of_model:
        hint = " (the row of an emptied cell is left out)" if use.target else " (a cell that is emptied is a gap)"
    return Unusable(name, f"column {name!r}, row {bad[0] + 2}: {cell!r} is not a finite number{hint}", comma=comma)


def comma_in_words(cell: str) -> str:
    """Says what the comma of a number may be."""
    if THOUSANDS.fullmatch(cell) is None:
        return "it has a decimal comma"
    return f"it has a decimal comma, or one that parts thousands: then write {cell.replace(',', '')}"


def with_commas(words: str, commas: Mapping[str, str]) -> Advice:
    """Returns the advice to mend what is no number. commas: what reads the columns of decimal commas beside it; empty
    where there are none."""
    return Advice(f"{words}; for the decimal commas give", commas) if commas else Advice(words)


def way_out(
    frame: pd.DataFrame, columns: Sequence[str], faults: Sequence[Unusable], *, orders: bool, target: str | None
) -> Advice:
    """Returns the arguments that leave the faulty columns out, and order by the first of dates that says no time twice.

    Columns of decimal commas stay, by the argument that reads them. orders: whether a column of times may be named.
    target: the column that cannot be left out.
    """
    lost = {unusable.name for unusable in faults if not unusable.comma}
    if not lost:
        return Advice("give", READ_COMMAS)
    modelled = [name for name in columns if name not in lost and name != target]
    commas = READ_COMMAS if len(lost) < len(faults) else {}
    if target in lost:
        return with_commas(f"mend it: {target!r} is the column to predict", commas)
    if not modelled:
        return with_commas("mend the file; no other column is left to model", commas)
    times = [unusable.name for unusable in faults if orders and unusable.dated]
    once = [name for name in times if bool(frame[name].notna().all()) and bool(frame[name].is_unique)]
    placed = {"time": once[0]} if once else grouped_times(frame, times)
    kept = [name for name in modelled if name != placed.get("group")]
    words = ordered_way(faults, placed["time"]) if placed else unordered_way(frame, faults, times)
    return Advice(words, {"columns": kept or modelled, **placed, **commas})


def ordered_way(faults: Sequence[Unusable], time: str) -> str:
    """Says that a column of times can order the rows."""
    mend = "" if all(unusable.dated for unusable in faults) else "mend them, or "
    return f"{mend}order rows by {time!r} and model the columns of numbers:"


def unordered_way(frame: pd.DataFrame, faults: Sequence[Unusable], times: Sequence[str]) -> str:
    """Says that the faulty columns can be left out, and why the first of the times cannot order the rows."""
    word, why = "it" if len(faults) == 1 else "them", ""
    if times and bool(frame[times[0]].isna().any()):
        why = f" (a cell of {times[0]!r} is empty)"
    elif times:
        why = f" (times of {times[0]!r} repeat; several series need a group)"
    return f"mend {word}, or go on without {word}{why}:"


def grouped_times(frame: pd.DataFrame, times: Sequence[str]) -> dict[str, str]:
    """Returns the arguments that name the first column of times, and as group the column of fewest values beside which
    no time stands twice; nothing where there is none. A group has two rows at least, in the mean."""
    if not times or bool(frame[times[0]].isna().any()):
        return {}
    table: Any = frame
    others = [str(name) for name in table.columns if name not in times and table[name].dtype.kind != "f"]
    counts = {name: table[name].nunique() for name in others if table[name].notna().all()}
    told = sorted((count, name) for name, count in counts.items() if 2 * count <= len(frame))
    found = [name for _, name in told if not bool(frame.duplicated([name, times[0]]).any())]
    return {"group": found[0], "time": times[0]} if found else {}


def advice_of_model(faults: Sequence[Unusable]) -> Advice:
    """Returns what to do about faulty columns that a fitted model needs."""
    lost = sum(not unusable.comma for unusable in faults)
    if not lost:
        return Advice("give", READ_COMMAS)
    words = f"mend the file: the model needs {'it' if len(faults) == 1 else 'them'}; a gap is an empty cell"
    return with_commas(words, READ_COMMAS if lost < len(faults) else {})


def numbers(frame: pd.DataFrame, path: Path, columns: Sequence[str], use: Use) -> np.ndarray:
    """Returns the columns as (row, column) float64, NaN for an empty cell.

    Warns of numbers that may mark a missing value, but in a file for a fitted model. Raises DataError that names every
    column with text, dates, infinite values or no value at all, and the arguments that go on without them.
    """
    found = (fault(name, frame[name], use) for name in columns)
    faults = [unusable for unusable in found if unusable is not None]
    if faults:
        orders, target = use.orders, use.target
        way = advice_of_model(faults) if use.of_model else way_out(frame, columns, faults, orders=orders, target=target)
        told = "; ".join(unusable.why for unusable in faults[:MOST_NAMED])
        more = f"; and {len(faults) - MOST_NAMED} more" if len(faults) > MOST_NAMED else ""
        where = ", " if len(faults) == 1 else f": {len(faults)} of {len(columns)} columns cannot be modelled: "
        raise DataError(f"{path}{where}{told}{more}; {way.words}", give=way.give)
    values = np.column_stack([numbers_of(frame[name], use.decimal) for name in columns])
    if not use.of_model:
        warn_of_marks(values, path, columns)
    return values
