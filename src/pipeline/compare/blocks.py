"""Two arms along one test period: the ratio of their errors, with an interval by block bootstrap. Pure functions.

Errors of neighbouring forecasts are alike, and those of overlapping windows nearly the same, so whole stretches of the
period are drawn and not single rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pipeline.compare.statistics import CONFIDENCE

DRAWS = 10_000
FEWEST_BLOCKS = 4  # in the period, below which nothing is said: draws of so few are all alike


class Resampled(NamedTuple):
    """Holds the ratio of two mean errors, its 95 % interval, a two-sided p of its being 1, and how many blocks the
    period holds; interval and p are NaN where these are fewer than `FEWEST_BLOCKS`, and where an error is not finite.
    """

    ratio: float
    low: float
    high: float
    p: float
    blocks: float


def drawn_periods(length: int, block: int, generator: np.random.Generator) -> np.ndarray:
    """Returns periods drawn by the circular block bootstrap (Politis and Romano 1992), as places (draw, length):
    blocks of `block` places from anywhere, the first place following the last, cut to `length`."""
    number = math.ceil(length / block)
    starts = generator.integers(0, length, (DRAWS, number, 1))
    return ((starts + np.arange(block)) % length).reshape(DRAWS, -1)[:, :length]


def resampled_ratio(
    baseline: np.ndarray, challenger: np.ndarray, weights: np.ndarray, *, block: int, seed: int = 0
) -> Resampled:
    """Returns how the challenger's mean error compares with the baseline's, both (place,) along the same period.

    weights (place,): how many forecasts a place stands for. block: in places. The interval is that of percentiles over
    `DRAWS` periods; p is twice the smaller share of them on one side of 1, counted with the period itself.
    Raises ValueError for arrays of unlike shapes.
    """
    if not baseline.shape == challenger.shape == weights.shape:
        raise ValueError("the arms were not scored along the same period")
    old, new, blocks = baseline * weights, challenger * weights, len(weights) / block
    with np.errstate(invalid="ignore"):  # both infinite
        ratio = float(new.sum() / old.sum())
    if blocks < FEWEST_BLOCKS or not (np.isfinite(old).all() and np.isfinite(new).all()):
        return Resampled(ratio, math.nan, math.nan, math.nan, blocks)
    periods = drawn_periods(len(weights), block, np.random.default_rng(seed))
    ratios = new[periods].sum(1) / old[periods].sum(1)
    low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    rarer = min(int((ratios <= 1).sum()), int((ratios >= 1).sum()))
    return Resampled(ratio, float(low), float(high), min(1.0, 2 * (rarer + 1) / (DRAWS + 1)), blocks)
