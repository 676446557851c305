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
MOST_BALANCE = 0.5  # of noise, as its paper is rounded to whole greys
NOISE, MOST_NOISE = 15, 48  # times the median difference, and greys at most: what differs by more is ink
MIDDLE = 128  # of all greys


class LightInk(NamedTuple):
    """Holds whether an image has light ink, and whether the ways of telling it agree, or one of them is plain."""

    light: bool
    sure: bool


class Differences(NamedTuple):
    """Holds how many pixels differ by −255, −254, … 255 from the paper behind them, (511,), and whether that paper has
    no edge on the whole image."""

    counts: np.ndarray
    even: bool

    @property
    def beyond_noise(self) -> Differences:
        """Those differences that are too large for the noise of paper, most of which is blank."""
        sizes = np.abs(DIFFERENCES)
        places = np.cumsum(np.bincount(sizes, self.counts))
        median = int(np.searchsorted(places, places[-1] / 2))
        return self._replace(counts=np.where(sizes > min(NOISE * median, MOST_NOISE), self.counts, 0))

    @property
    def balance(self) -> float:
        """Σ d³ / Σ |d|³, in [−1, 1], over the differences d: above 0 for light ink, 0 where nothing differs."""
        cubes = DIFFERENCES**3 * self.counts
        return int(cubes.sum()) / max(int(np.abs(cubes).sum()), 1)


DIFFERENCES = np.arange(-255, 256)


def light_ink(grey: np.ndarray) -> LightInk:
    """Returns whether an image, uint8 (height, width), has light ink on dark paper.

    Ink is what there is less of: most pixels are dark where ink is light. On a page of `LEAST_SIDE` pixels or more it
    is what there is less of nearby, as a wide margin may be lighter than the paper, or darker: the balance of
    `differences` says so where it is plain. A page of noise alone, as the blank back of a form, has light ink where its
    paper is darker than the middle of all greys.
    """
    middle = (int(grey.min()) + int(grey.max())) / 2
    median = float(np.median(grey))
    by_all = median < middle
    if min(grey.shape) < LEAST_SIDE:
        return LightInk(by_all, sure=True)
    found = differences(grey)
    ink = found.beyond_noise
    if found.even and not ink.counts.any() and abs(found.balance) < MOST_BALANCE:
        return LightInk(median < MIDDLE, sure=True)
    if abs(found.balance) >= LEAST_BALANCE:
        return LightInk(found.balance > 0, sure=True)
    return LightInk(by_all, sure=not ink.balance or (ink.balance > 0) == by_all)


def differences(grey: np.ndarray) -> Differences:
    """Returns how the pixels of an image differ from the paper behind them.

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
    pixels = np.asarray(fine).astype(np.int16)
    apart = (pixels - enlarged(paper, size, pixels.shape))[enlarged(even & inside, size, pixels.shape)]
    return Differences(np.bincount(apart + 255, minlength=len(DIFFERENCES)), bool(even.all()))


def enlarged(coarse: np.ndarray, size: int, shape: tuple[int, ...]) -> np.ndarray:
    """Returns an image of which each pixel is `size` pixels wide and high, cut to (height, width)."""
    return coarse.repeat(size, 0).repeat(size, 1)[: shape[0], : shape[1]]
