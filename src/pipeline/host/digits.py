"""Digits of numbers that are written into tables: those that double precision is sure of."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

SURE = 15  # significant digits that each double keeps; two more tell it from its neighbours


def with_sure_digits(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Returns a table whose numbers in these columns have at most 15 significant digits, so that 36.300000000000004 is
    written as 36.3. What is NaN or infinite stays so, and so does a column of single precision: it is written with the
    few digits that tell its numbers apart."""
    frame = frame.copy()
    for name in columns:
        if frame[name].dtype != np.float32:
            frame[name] = sure(frame[name].to_numpy(np.float64))
    return frame


def sure(numbers: np.ndarray) -> np.ndarray:
    """Returns the numbers nearest to what 15 significant digits tell of numbers (row,)."""
    return np.array([float(f"{number:.{SURE}g}") for number in numbers.tolist()])
