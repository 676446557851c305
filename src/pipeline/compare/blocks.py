"""Two arms along one test period: the ratio of their errors, with an interval by batch means. Pure functions.

Errors of neighbouring forecasts are alike, and those of overlapping windows nearly the same, so whole stretches of the
period count as cases and not single rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pipeline.compare.statistics import CONFIDENCE, ROUNDING

FEWEST_BLOCKS = 4  # in the period, below which nothing is said: so few tell little of their spread


class RatioAlong(NamedTuple):
    """Holds the ratio of two mean errors, its 95 % interval, a two-sided p of its being 1, and how many stretches the
    period was cut into; interval and p are NaN where these are fewer than `FEWEST_BLOCKS`, and where an error is not
    finite or the baseline makes none.
    """

    ratio: float
    low: float
    high: float
    p: float
    blocks: int


def stretches(length: int, block: int) -> np.ndarray:
    """Returns where stretches of a period begin, (stretch,): as many as have `block` places or more, of equal length up
    to one place; none where the period is shorter than a block."""
    count = length // block
    return np.arange(count) * length // max(1, count)


def standard_error_of_ratio(old: np.ndarray, new: np.ndarray, starts: np.ndarray) -> float:
    """Returns the standard error of r = Σ new / Σ old by batch means: s/√B, s the standard deviation (with B − 1) of
    (n_b − r d_b) / mean(d) over the B stretches, d_b and n_b the sums of old and new over a stretch.

    It is the linear estimate for a ratio (Cochran 1977, Sampling Techniques, chapter 6).
    old, new: (place,). starts: as `stretches` gives them, at least two.
    """
    below, above = np.add.reduceat(old, starts), np.add.reduceat(new, starts)
    away = (above - above.sum() / below.sum() * below) / below.mean()
    return float(away.std(ddof=1) / math.sqrt(len(starts)))


def ratio_along(baseline: np.ndarray, challenger: np.ndarray, weights: np.ndarray, *, block: int) -> RatioAlong:
    """Returns how the challenger's mean error compares with the baseline's, both (place,) along the same period.

    weights (place,): how many forecasts a place stands for. block: the least length of a stretch, in places. The
    interval is r ± t·s, cut at 0, with s of `standard_error_of_ratio` and Student's t of B − 1 degrees of freedom for B
    stretches, and p is that of (r − 1)/s (Ibragimov and Müller 2010, Journal of Business & Economic Statistics 28).
    Errors that differ by no more than rounding have p 1. Raises ValueError for arrays of unlike shapes.
    """
    from scipy import stats

    if not baseline.shape == challenger.shape == weights.shape:
        raise ValueError("the arms were not scored along the same period")
    old, new, starts = baseline * weights, challenger * weights, stretches(len(weights), block)
    blocks, known = len(starts), bool(np.isfinite(old).all() and np.isfinite(new).all() and old.any())
    with np.errstate(invalid="ignore", divide="ignore"):  # both infinite, or both or the baseline's 0
        ratio = float(new.sum() / old.sum())
    if blocks < FEWEST_BLOCKS or not known:
        return RatioAlong(ratio, math.nan, math.nan, math.nan, blocks)
    if np.abs(new - old).max() <= ROUNDING * old.max():
        return RatioAlong(ratio, ratio, ratio, 1.0, blocks)
    spread = standard_error_of_ratio(old, new, starts)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, blocks - 1)) * spread
    p = float(2 * stats.t.sf(abs(ratio - 1) / spread, blocks - 1)) if spread else 0.0
    return RatioAlong(ratio, max(0.0, ratio - half), ratio + half, p, blocks)
