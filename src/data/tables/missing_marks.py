"""Numbers that stand for a missing value, such as −999, where a table has them as numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

MARK = re.compile(r"-?9{2,}(\.9+)?")  # what people and programs write; −1 is too common a value
FEWEST = 2  # times that a mark stands in its column
MOST_NAMED = 8  # marks of a table


class Mark(NamedTuple):
    """Says of a column how often it holds a number that may stand for a missing value, as it is written."""

    column: str
    written: str
    times: int

    def __str__(self) -> str:
        return f"column {self.column!r}: {self.times} values are {self.written}"


def written(value: float) -> str:
    """Returns a number as a table has it, without decimals where it is whole."""
    return f"{value:.15g}"


def is_mark(value: float) -> bool:
    """Returns whether a number is written by nines alone, two at least before the decimals."""
    return MARK.fullmatch(written(value)) is not None


def marks_of(values: np.ndarray, column: str) -> list[Mark]:
    """Returns the marks of a column of numbers (row,), NaN for an empty cell: those that stand at least `FEWEST` times
    and lie outside the range of what is no mark by more than that whole range."""
    filled = values[~np.isnan(values)]
    if not len(filled) or not (is_mark(float(filled.min())) or is_mark(float(filled.max()))):
        return []
    kinds, counts = np.unique(filled, return_counts=True)
    marked = np.array([is_mark(value) for value in kinds.tolist()])
    rest = kinds[~marked]
    if not len(rest):
        return []
    low, high = float(rest[0]), float(rest[-1])
    found = zip(kinds[marked].tolist(), counts[marked].tolist(), strict=True)
    return [
        Mark(column, written(value), times)
        for value, times in found
        if times >= FEWEST and max(low - value, value - high) > high - low
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
