"""Ruled lines on a form: level strokes that are long."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage


def ruled(dark: np.ndarray, length: int) -> np.ndarray:
    """Returns which of the dark pixels (height, width) lie on level strokes of `length` pixels or more, bool. Time
    grows with the pixels alone."""
    long: Any = ndimage.minimum_filter1d(dark, length, 1, mode="constant")
    return ndimage.maximum_filter1d(long, length, 1, origin=back(length)) != 0


def back(size: int) -> int:
    """Returns the origin of the second of two filters of one size that undoes the shift of the first: a window of even
    size has no middle, and SciPy has it reach one pixel further back than on."""
    return size % 2 - 1
