"""Reads images that come as arrays of greys, and not as files."""

from __future__ import annotations

from typing import Any

import numpy as np

from data.base import DataError
from data.forms.images import AS_FOUND, Reading, Scan, check_pixels, inked
from data.greys import PAPER

MOST_CHANNELS = 4  # a last axis of so many is taken for colours
TO_GREY = "make it grey, as by np.asarray(PIL.Image.fromarray(image).convert('L'))"


def images_in(array: np.ndarray) -> list[np.ndarray]:
    """Returns the images of an array (height, width), or (image, height, width). Raises DataError for another shape,
    also where the last of three axes is so short that it seems to hold colours."""
    if array.ndim not in (2, 3) or not array.size or is_coloured(array):
        raise DataError(f"array: {said_of_shape(array, '(height, width) or (image, height, width)')}")
    return [array] if array.ndim == 2 else list(array)


def read_array(values: Any, *, where: str, reading: Reading = AS_FOUND) -> Scan:
    """Returns the image of an array (height, width), or of a list of rows: whole numbers from 0 for black to 255.

    Raises DataError, beginning with `where`, for another shape or other values, and as `data.forms.images.read_image`
    does for an image of too many pixels and for one on which nothing is to be seen.
    """
    reading.check(where)
    array = as_array(values, where)
    if array.ndim != 2 or not array.size:
        raise DataError(f"{where}: {said_of_shape(array, '(height, width)')}")
    check_pixels(array.shape[1], array.shape[0], where, reading.most_pixels)
    check_greys(array, where)
    return inked(array.astype(np.uint8), where, reading)


def as_array(values: Any, where: str) -> np.ndarray:
    """Returns the array of an array or of a list. Raises DataError, beginning with `where`, for what is no numbers, and
    for rows of unequal length."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{where}: the rows of the image differ in length, or are no lists of numbers") from None
    if array.dtype.kind not in "iuf":
        raise DataError(f"{where}: its values are {array.dtype.name}; give whole numbers from 0 (black) to {PAPER}")
    return array


def check_greys(array: np.ndarray, where: str) -> None:
    """Raises DataError, beginning with `where` and with the first one, for values that are no greys."""
    wrong = ~((array >= 0) & (array <= PAPER))
    if array.dtype.kind == "f":
        wrong |= array != np.floor(array)
    if wrong.any():
        row, column = (int(place[0]) for place in np.nonzero(wrong))
        raise DataError(
            f"{where}: the value {array[row, column]} of row {row}, column {column} (from 0 on) is no grey; give whole "
            f"numbers from 0 (black) to {PAPER}"
        )
    if array.max() == 1:
        raise DataError(f"{where}: its values are 0 and 1 alone; give 0 for black and {PAPER} for white")


def is_coloured(array: np.ndarray) -> bool:
    """Returns whether the last of three axes or more seems to hold colours."""
    return array.ndim > 2 and array.shape[-1] <= MOST_CHANNELS


def said_of_shape(array: np.ndarray, wanted: str) -> str:
    """Returns in words that a shape is not the wanted one, and what to do."""
    do = "; take image[..., 0]" if array.shape[-1:] == (1,) else f"; {TO_GREY}"
    return f"the shape {array.shape} is not {wanted}{do if is_coloured(array) else ''}"
