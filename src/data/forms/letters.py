"""Shapes of letters as a pen's way, own designs: points on a grid, from which the stand-in hand writes.

A letter is some movements with the pen down, parted by "/". A point is two digits, x and y: the base line has y = 2,
small letters end at 6, capitals at 9, and what hangs below ends at 0. A movement of one point is a dot.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np

from data.base import DataError

BASE, SMALL, TALL = 2, 6, 9
SHAPES = {
    "a": "45 26 05 03 22 44 46 43 52", "b": "09 02/04 26 45 43 22 03", "c": "45 26 05 03 22 43",
    "d": "45 26 05 03 22 44 49 42", "e": "04 44 45 26 05 03 22 43", "f": "38 29 18 12/06 36",
    "g": "45 26 05 03 22 44 46 41 20 01", "h": "09 02/04 26 45 42", "i": "06 02/08", "j": "16 11 00/18",
    "k": "09 02/46 04 42", "l": "09 03 12 22", "m": "06 02/04 26 35 32/34 56 65 62", "n": "06 02/04 26 45 42",
    "o": "26 05 03 22 43 45 26", "p": "06 00/05 26 45 43 22 03", "q": "45 26 05 03 22 44 46 40 51",
    "r": "06 02/04 26 35",
    "s": "45 26 05 24 43 22 03", "t": "19 13 22 33/06 36", "u": "06 03 22 43 46 42", "v": "06 22 46",
    "w": "06 12 36 52 66", "x": "06 42/46 02", "y": "06 23/46 23 00", "z": "06 46 02 42",
    "ß": "01 08 29 38 26 44 43 22 13",
    "A": "02 39 62/15 55", "B": "09 02/09 29 47 16 06/16 36 54 42 02", "C": "58 39 17 04 22 42 53",
    "D": "09 02/09 38 56 54 32 02", "E": "49 09 02 42/06 36", "F": "49 09 02/06 36", "G": "58 39 17 04 22 42 55 35",
    "H": "09 02/59 52/06 56", "I": "09 02", "J": "39 33 12 03", "K": "09 02/49 05 52", "L": "09 02 42",
    "M": "02 09 34 69 62", "N": "02 09 52 59", "O": "39 07 04 32 64 67 39", "P": "09 02/09 39 47 35 05",
    "Q": "39 07 04 32 64 67 39/44 62", "R": "09 02/09 39 47 35 05/25 52", "S": "48 29 07 16 35 43 22 03",
    "T": "09 69/39 32", "U": "09 04 32 64 69", "V": "09 32 69", "W": "09 22 48 62 89", "X": "09 52/59 02",
    "Y": "09 36 69/36 32", "Z": "09 59 02 52",
    "0": "29 07 04 22 44 47 29", "1": "07 29 22", "2": "07 19 39 46 02 42", "3": "08 29 47 26 44 22 03",
    "4": "39 05 45/37 32", "5": "49 09 06 36 44 22 02", "6": "39 16 04 22 43 35 04", "7": "09 49 12",
    "8": "26 08 29 48 26 04 22 44 26", "9": "46 26 07 29 48 46 32",
    "-": "04 24", ".": "02", ",": "12 01", ";": "05/12 01", ":": "05/02", "/": "02 39", "(": "19 06 04 11",
    ")": "09 16 14 01", "'": "09 08", "!": "09 04/02", "?": "08 29 48 25 24/22", "+": "04 44/26 22",
    "&": "52 08 29 38 04 22 54",
}  # fmt: skip
# Marks above a letter, from their middle and the height where they begin; the last one hangs below it.
MARKS: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "\u0308": (((-1.0, 0.5),), ((1.0, 0.5),)),
    "\u0301": (((-0.4, 0.0), (0.6, 1.2)),),
    "\u0300": (((-0.6, 1.2), (0.4, 0.0)),),
    "\u030c": (((-1.0, 1.0), (0.0, 0.0), (1.0, 1.0)),),
    "\u0302": (((-1.0, 0.0), (0.0, 1.0), (1.0, 0.0)),),
    "\u0303": (((-1.2, 0.2), (-0.5, 0.9), (0.4, 0.2), (1.2, 0.9)),),
    "\u030a": (((0.0, 0.0), (-0.6, 0.6), (0.0, 1.2), (0.6, 0.6), (0.0, 0.0)),),
}
CEDILLA, BELOW = "\u0327", ((0.0, -2.0), (0.4, -2.8), (-0.4, -3.2))
DOTTED = {"i": "06 02", "j": "16 11 00"}  # what they lose below a mark
BLANK = 3.0  # width of a blank
Movements = tuple[np.ndarray, ...]


def movements_in(shape: str) -> Movements:
    """Returns the movements of a shape, float64 (point, 2) each."""
    return tuple(np.array([[float(point[0]), float(point[1])] for point in part.split()]) for part in shape.split("/"))


def writable(text: str) -> bool:
    """Returns whether every character of a text has a shape."""
    return all(letter == " " or _shape_of(letter) is not None for letter in unicodedata.normalize("NFC", text))


@cache
def movements_of(letter: str) -> Movements:
    """Returns the movements of a letter, with its marks. Raises DataError for one without a shape."""
    found = _shape_of(letter)
    if found is None:
        raise DataError(f"the letter {letter!r} has no shape to be written by; leave it out of the texts")
    return found


def _shape_of(letter: str) -> Movements | None:
    base, *marks = unicodedata.normalize("NFD", letter)
    if base not in SHAPES or any(mark not in MARKS and mark != CEDILLA for mark in marks):
        return None
    above = [mark for mark in marks if mark != CEDILLA]
    own = movements_in(DOTTED[base] if above and base in DOTTED else SHAPES[base])
    points = np.concatenate(own)
    middle, top = points[:, 0].max() / 2, points[:, 1].max()
    added = [np.add(part, (middle, top + 1)) for mark in above for part in MARKS[mark]]
    below = [np.add(BELOW, (middle, BASE + 2))] if len(above) < len(marks) else []
    return (*own, *added, *below)
