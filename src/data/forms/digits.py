"""Digits for dates: MNIST's 10,000 test digits (LeCun, Cortes, Burges), or those of the stand-in hand."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.base import DataError
from data.files.idx import read_idx
from data.files.mnist import ADDRESS, FOLDER, SHA_256
from data.files.published import Published
from data.forms.hand import draw_hand, write_word
from data.greys import PAPER
from data.word_images import PARTS

FILES = Published("composed_forms", "mnist", ADDRESS, SHA_256, FOLDER, "digits that are written by a program")
SHARES = {"train": 0.6, "validation": 0.1, "test": 0.3}
STAND_IN_HANDS = 6  # of each part


class Digits(NamedTuple):
    """Holds digits. images: for each of 0 to 9 its images, ink 255 on 0, each uint8 (height, width)."""

    images: tuple[list[np.ndarray], ...]

    def draw(self, digit: int, generator: np.random.Generator) -> np.ndarray:
        """Returns one of the images of a digit."""
        own = self.images[digit]
        return own[int(generator.integers(len(own)))]


def read_mnist(images: Path, labels: Path, *, seed: int) -> dict[str, Digits]:
    """Returns the digits, every image in one part. Raises DataError for files that do not fit each other."""
    greys, classes = read_idx(images), read_idx(labels)
    if greys.ndim != 3 or classes.shape != greys.shape[:1]:
        raise DataError(f"{labels}: {classes.shape} labels of {greys.shape} images; put the original files there")
    mixed = np.random.default_rng([seed, 5]).permutation(len(greys))
    ends = np.cumsum([round(share * len(greys)) for share in SHARES.values()])[:-1]
    return {
        part: Digits(tuple([greys[row] for row in rows if classes[row] == digit] for digit in range(10)))
        for part, rows in zip(SHARES, np.split(mixed, ends), strict=True)
    }


def written_digits(*, seed: int) -> dict[str, Digits]:
    """Returns digits of the stand-in hand; no two parts have one in common."""
    parts = dict[str, Digits]()
    for number, part in enumerate(PARTS):
        generator = np.random.default_rng([seed, 6, number])
        hands = [draw_hand(generator) for _ in range(STAND_IN_HANDS)]
        own = [[PAPER - write_word(str(digit), hand, generator) for hand in hands] for digit in range(10)]
        parts[part] = Digits(tuple(own))
    return parts


def digits_of(root: str | None, *, source: str, seed: int) -> tuple[dict[str, Digits], bool]:
    """Returns digits by part, and whether they stand in for MNIST's. Raises DataError as `Published.find` does."""
    found = FILES.find(root, source=source)
    return (written_digits(seed=seed), True) if found is None else (read_mnist(*found, seed=seed), False)
