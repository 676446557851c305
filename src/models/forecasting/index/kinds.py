"""What an index holds: times, periods, spans of time, numbers or names."""

from __future__ import annotations

from typing import Any


def kind_of(index: Any) -> tuple[Any, ...]:
    """Returns what two indices that follow one another have in common."""
    kind = "i" if index.dtype.kind in "iu" else index.dtype.kind
    return kind, holds_periods(index), getattr(index, "tz", None) is not None


def holds_periods(index: Any) -> bool:
    """Says whether this is an index of periods."""
    return hasattr(index, "asfreq") and hasattr(index, "qyear")


def contents(index: Any) -> str:
    """Returns in words what an index holds."""
    if holds_periods(index):
        return "periods"
    words = {"M": "times", "m": "spans of time", "i": "numbers", "u": "numbers", "f": "numbers"}
    return words.get(index.dtype.kind, "names")


def only_counts(index: Any) -> bool:
    """Says whether an index counts rows from 0, as that of a table without one of its own does."""
    return hasattr(index, "step") and (index.start, index.step) == (0, 1)
