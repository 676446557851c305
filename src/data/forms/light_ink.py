"""Tells light ink on dark paper from dark ink on light paper, also where a margin or a table is seen around a page."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PIL import Image
from scipy.ndimage import maximum_filter, median_filter, minimum_filter

LEAST_SIDE = 256  # pixels of an image of a page; below it is one of a word, which has no margin
FINE, COARSE = 1024, 128  # pixels of the shorter side, of what is looked at and of the paper behind it
NEAR = 11  # coarse pixels across of which the median is the paper
LEAST_STEP = 24  # between paper and what lies beside it
LEAST_BALANCE = 0.1  # that decides


class LightInk(NamedTuple):
    """Holds whether an image has light ink, and whether the ways of telling it agree, or one of them is plain."""

    light: bool
    sure: bool


def light_ink(grey: np.ndarray) -> LightInk:
    """Returns whether an image, uint8 (height, width), has light ink on dark paper.

    Ink is what there is less of: most pixels are dark where ink is light. On a page of `LEAST_SIDE` pixels or more it
    is what there is less of nearby, as a wide margin may be lighter than the paper, or darker: `balance` says so where
    it is plain.
    """
    middle = (int(grey.min()) + int(grey.max())) / 2
    by_all = bool(np.median(grey) < middle)
    nearby = balance(grey) if min(grey.shape) >= LEAST_SIDE else 0.0
    if abs(nearby) >= LEAST_BALANCE:
        return LightInk(nearby > 0, sure=True)
    return LightInk(by_all, sure=not nearby or (nearby > 0) == by_all)


def balance(grey: np.ndarray) -> float:
    """Returns Σ d³ / Σ |d|³, in [−1, 1], over the differences d between pixels and the paper behind them: above 0 for
    light ink, 0 where nothing differs.

    The paper is the median of what lies around, of the image made small. Left out is what lies near an edge between
    two papers, as that of a page on a table, and what lies near the edge of the image.
    """
    image = Image.fromarray(grey)
    fine = image.reduce(max(1, min(image.size) // FINE))
    size = max(1, min(fine.size) // COARSE)
    paper = median_filter(np.asarray(fine.reduce(size)), size=NEAR)
    even = maximum_filter(paper, NEAR).astype(int) - minimum_filter(paper, NEAR) < LEAST_STEP
    inside = np.zeros_like(even)
    inside[NEAR // 2 : -(NEAR // 2), NEAR // 2 : -(NEAR // 2)] = True
    pixels = np.asarray(fine).astype(np.float64)
    cubes = ((pixels - enlarged(paper, size, pixels.shape)) ** 3)[enlarged(even & inside, size, pixels.shape)]
    return float(cubes.sum() / max(np.abs(cubes).sum(), 1.0))


def enlarged(coarse: np.ndarray, size: int, shape: tuple[int, ...]) -> np.ndarray:
    """Returns an image of which each pixel is `size` pixels wide and high, cut to (height, width)."""
    return coarse.repeat(size, 0).repeat(size, 1)[: shape[0], : shape[1]]
