"""The ratio of two errors along a period, by batch means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pipeline.compare.blocks import ratio_along, stretches


def period(length: int, *, seed: int, alike: int = 10) -> np.ndarray:
    """Errors of windows: means over as many days as are alike, of days that are independent."""
    noise = np.random.default_rng(seed).normal(size=length + alike - 1)
    return np.convolve(np.exp(noise / 2), np.ones(alike) / alike, mode="valid")


@pytest.mark.parametrize(("length", "block", "lengths"), [(12, 3, {3}), (117, 7, {7, 8}), (107, 14, {15, 16})])
def test_stretches_are_equal_up_to_a_place_and_none_is_shorter_than_a_block(
    length: int, block: int, lengths: set[int]
) -> None:
    starts = stretches(length, block)
    assert (starts[0], len(starts)) == (0, length // block)
    assert set(np.diff(np.r_[starts, length])) == lengths


def test_ratio_interval_and_p_are_those_of_the_sums_of_stretches() -> None:
    """Written out for four stretches of two places, the last place of which stands for one forecast of ten."""
    base, arm = np.r_[1.0, 3, 2, 2, 4, 2, 3, 5], np.r_[1.0, 2, 2, 1, 3, 2, 3, 4]
    weights = np.r_[np.full(7, 10.0), 1.0]
    d, n = np.r_[40.0, 40, 60, 35], np.r_[30.0, 30, 50, 34]
    ratio = 144 / 175
    spread = np.std(n - ratio * d, ddof=1) / d.mean() / 2
    half = stats.t.ppf(0.975, 3) * spread
    p = 2 * stats.t.sf((1 - ratio) / spread, 3)
    assert ratio_along(base, arm, weights, block=2) == pytest.approx((ratio, ratio - half, ratio + half, p, 4))


def test_an_arm_against_itself_has_the_ratio_one_and_no_significance() -> None:
    base = period(60, seed=1)
    assert ratio_along(base, base, np.ones(60), block=5) == (1.0, 1.0, 1.0, 1.0, 12)
    rounded = ratio_along(base, base * (1 + 1e-14), np.ones(60), block=5)
    assert rounded == pytest.approx((1.0, 1.0, 1.0, 1.0, 12))


def test_an_arm_that_is_better_by_the_same_factor_everywhere_is_told_for_sure() -> None:
    found = ratio_along(np.ones(40), np.full(40, 0.5), np.ones(40), block=5)
    assert found == (0.5, 0.5, 0.5, 0.0, 8)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """Of two equal and independent arms. Percentiles of a block bootstrap cover 83 % here."""
    weights, covered, significant = np.ones(113), 0, 0
    for seed in range(400):
        old, new = (period(113, seed=2 * seed + side, alike=8) for side in (0, 1))
        found = ratio_along(old, new, weights, block=14)
        covered += found.low <= 1 <= found.high
        significant += found.p < 0.05
    assert 0.90 <= covered / 400 <= 0.97
    assert significant == 400 - covered


def test_nothing_is_said_of_a_period_of_few_blocks() -> None:
    for block, blocks in ((3, 3), (11, 0)):
        found = ratio_along(np.ones(10), np.full(10, 0.5), np.ones(10), block=block)
        assert (found.ratio, found.blocks) == (0.5, blocks)
        assert np.isnan([found.low, found.high, found.p]).all()


def test_forecasts_that_diverge_have_no_interval_and_no_p() -> None:
    diverging, level = np.r_[np.ones(39), np.inf], np.ones(40)
    for baseline, challenger in ((diverging, diverging), (level, diverging), (diverging, level)):
        found = ratio_along(baseline, challenger, level, block=2)
        assert np.isnan([found.low, found.high, found.p]).all()
    assert ratio_along(level, diverging, level, block=2).ratio == np.inf


def test_beside_an_arm_without_errors_there_is_no_interval_and_no_p() -> None:
    found = ratio_along(np.zeros(40), np.ones(40), np.ones(40), block=5)
    assert found.ratio == np.inf
    assert np.isnan([found.low, found.high, found.p]).all()


def test_arms_of_unlike_periods_are_refused() -> None:
    with pytest.raises(ValueError, match="not scored along the same period"):
        ratio_along(np.ones(10), np.ones(9), np.ones(10), block=3)
