"""Numbers that stand for a missing value, such as −999, where a table has them as numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

MARK = re.compile(r"(?:-99+|999+)(\.9+)?")  # what people and programs write; −1 and 99 are too common as values
FEWEST = 2  # times that a mark stands in its column
FEWEST_OTHERS = 3  # different values beside a positive mark
FAR = 3  # ranges of the others between them and a positive mark
MOST_NAMED = 8  # marks of a table


class Mark(NamedTuple):
    """Says of a column how often it holds a number that may stand for a missing value, as it is written."""

    column: str
    written: str
    times: int

    def __str__(self) -> str:
        return f"column {self.column!r}: {self.times} values are {self.written}"


def written(value: float) -> str:
    """Returns a number as a table has it, without decimals where it is whole; one of single precision with the digits
    of that."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    return np.format_float_positional(single if float(single) == value else np.float64(value), trim="-")


def is_mark(value: float) -> bool:
    """Returns whether a number is written by nines alone: two at least before the decimals where it is negative, else
    three."""
    return MARK.fullmatch(written(value)) is not None


def between_marks(kinds: np.ndarray) -> slice:
    """Returns where values (value,), each once and in order, lie between the marks at both their ends."""
    low, high = 0, len(kinds)
    while low < high and is_mark(float(kinds[low])):
        low += 1
    while low < high and is_mark(float(kinds[high - 1])):
        high -= 1
    return slice(low, high)


def end_alike(value: float, others: np.ndarray) -> bool:
    """Returns whether half or more of others (value,) have the decimals of a value, as prices do: 9.99 and 999.99."""
    _, point, decimals = written(value).partition(".")
    return bool(point) and 2 * sum(written(other).endswith(point + decimals) for other in others) >= len(others)


def stands_out(value: float, others: np.ndarray) -> bool:
    """Returns whether a mark lies outside the range of others (value,), each once and in order: a negative one by more
    than that range, a positive one by three of them, where there are three others and they do not end alike."""
    low, high = float(others[0]), float(others[-1])
    wide = high - low
    if value < 0:
        return wide > 0 and low - value > wide
    return len(others) >= FEWEST_OTHERS and value - high >= FAR * wide and not end_alike(value, others)


def marks_of(values: np.ndarray, column: str) -> list[Mark]:
    """Returns the marks of a column of numbers (row,), NaN for an empty cell: those that stand at least `FEWEST` times
    and far outside of what is no mark, see `stands_out`."""
    filled = values[~np.isnan(values)]
    if not len(filled) or not (is_mark(float(filled.min())) or is_mark(float(filled.max()))):
        return []
    kinds, counts = np.unique(filled, return_counts=True)
    inside = between_marks(kinds)
    others = kinds[inside]
    if not len(others):
        return []
    marks = np.r_[: inside.start, inside.stop : len(kinds)]
    found = zip(kinds[marks].tolist(), counts[marks].tolist(), strict=True)
    return [
        Mark(column, written(value), times) for value, times in found if times >= FEWEST and stands_out(value, others)
    ]


def warn_of_marks(values: np.ndarray, path: Path, columns: Sequence[str]) -> None:
    """Warns of all numbers in values (row, column) that may mark a missing value, in one line."""
    named: Iterator[tuple[str, np.ndarray]] = zip(columns, values.T, strict=True)
    marks = [mark for name, own in named for mark in marks_of(own, name)]
    if marks:
        more = f", and {len(marks) - MOST_NAMED} more" * (len(marks) > MOST_NAMED)
        told = ", ".join(map(str, marks[:MOST_NAMED]))
        warnings.warn(
            f"{path}, {told}{more}; empty these cells if that marks a missing value, for they are read as numbers",
            stacklevel=3,
        )
