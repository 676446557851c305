"""Images that come as arrays of greys: the same as from a file, and what is no image of greys is said in a line."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.base import DataError
from data.forms.arrays import images_in, read_array
from data.forms.images import Reading, read_image

GREY = np.full((8, 20), 250, np.uint8)
GREY[2:5, 3:9] = 10


def png(grey: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(grey).save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.parametrize("invert", ["auto", "true", "false"])
@pytest.mark.parametrize("grey", [GREY, 255 - GREY])
def test_an_array_is_read_as_its_png_file_is(grey: np.ndarray, invert: str) -> None:
    reading = Reading(invert=invert)
    of_file = read_image(png(grey), where="", reading=reading)
    for values in (grey, grey.tolist(), grey.astype(np.float32), list(grey)):
        own = read_array(values, where="", reading=reading)
        np.testing.assert_array_equal(own.grey, of_file.grey)
        assert (own.grey.dtype, own[1:]) == (np.uint8, of_file[1:])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.zeros((8, 9, 3)), "the shape (8, 9, 3) is not (height, width); make it grey, as by np.asarray(PIL.Image"),
        (np.zeros((8, 9, 1)), "the shape (8, 9, 1) is not (height, width); take image[..., 0]"),
        (np.zeros((2, 8, 9)), "the shape (2, 8, 9) is not (height, width)"),
        ([], "the shape (0,) is not (height, width)"),
        ([[0, 255], [1]], "the rows of the image differ in length, or are no lists of numbers"),
        ([["a", "b"]], "its values are str"),
        (GREY < 128, "its values are bool; give whole numbers from 0 (black) to 255"),
        ((GREY < 128).astype(int), "its values are 0 and 1 alone; give 0 for black and 255 for white"),
        (GREY / 255, "the value 0.98"),
        (np.where(GREY == 10, np.nan, 255), "the value nan of row 2, column 3 (from 0 on) is no grey; give whole"),
        (np.where(GREY == 10, -1, 255), "the value -1 of row 2, column 3 (from 0 on) is no grey; give whole"),
        (GREY.astype(np.uint16) * 257, "the value 64250 of row 0, column 0"),
        (np.full((9, 9), 250), "nothing is to be seen, all pixels are white (250 to 250)"),
    ],
)
def test_what_is_no_image_of_greys_is_said_in_a_line(values: Any, said: str) -> None:
    with pytest.raises(DataError, match=f"^row 2: {re.escape(said)}[^\\n]*$"):
        read_array(values, where="row 2")


def test_an_image_of_too_many_pixels_is_refused() -> None:
    with pytest.raises(DataError, match=r"^row 2: 20 × 8: the image has more than 100 pixels; make it smaller"):
        read_array(GREY, where="row 2", reading=Reading(most_pixels=100))


def test_an_array_holds_one_image_or_several() -> None:
    assert [image.shape for image in images_in(np.zeros((8, 9)))] == [(8, 9)]
    assert [image.shape for image in images_in(np.zeros((3, 8, 9)))] == [(8, 9)] * 3
    with pytest.raises(DataError, match=r"^array: the shape \(8, 9, 4\) is not \(height, width\) or \(image, "):
        images_in(np.zeros((8, 9, 4)))
