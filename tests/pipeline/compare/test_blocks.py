"""Block bootstrap of the ratio of two errors along a period."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.compare.blocks import drawn_periods, resampled_ratio


def period(length: int, *, seed: int) -> np.ndarray:
    """Errors that are alike for about ten places."""
    noise = np.random.default_rng(seed).normal(size=length + 9)
    return np.exp(np.convolve(noise, np.ones(10) / 10, mode="valid"))


def test_periods_are_blocks_that_follow_one_another_in_a_circle() -> None:
    periods = drawn_periods(10, 4, np.random.default_rng(0))
    assert periods.shape[1] == 10
    steps = np.diff(periods, axis=1) % 10
    assert np.array_equal(np.unique(np.delete(steps, [3, 7], axis=1)), [1])
    counts = np.bincount(periods.ravel(), minlength=10) / len(periods)
    np.testing.assert_allclose(counts, 1.0, atol=0.05)


def test_the_ratio_is_that_of_weighted_means_and_the_interval_holds_it() -> None:
    base, weights = period(100, seed=0), np.r_[np.full(99, 24.0), 5.0]
    found = resampled_ratio(base, 0.9 * base * (1 + 0.05 * np.sin(np.arange(100))), weights, block=10)
    expected = np.average(0.9 * base * (1 + 0.05 * np.sin(np.arange(100))), weights=weights)
    assert found.ratio == pytest.approx(expected / np.average(base, weights=weights))
    assert found.low < found.ratio < found.high < 1
    assert found.p == pytest.approx(2 / 10_001)
    assert found.blocks == 10


def test_an_arm_against_itself_has_the_ratio_one_and_no_significance() -> None:
    base = period(60, seed=1)
    assert resampled_ratio(base, base, np.ones(60), block=5) == (1.0, 1.0, 1.0, 1.0, 12.0)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(40):
        a, b = period(300, seed=2 * seed), period(300, seed=2 * seed + 1)
        found = resampled_ratio(a, b, np.ones(300), block=30)
        covered += found.low <= 1 <= found.high
    assert 30 <= covered <= 40


def test_nothing_is_said_of_a_period_of_few_blocks() -> None:
    found = resampled_ratio(np.ones(10), np.full(10, 0.5), np.ones(10), block=3)
    assert found.ratio == 0.5
    assert np.isnan([found.low, found.high, found.p]).all()


def test_forecasts_that_diverge_have_no_interval_and_no_p() -> None:
    diverging, level = np.r_[np.ones(39), np.inf], np.ones(40)
    for baseline, challenger in ((diverging, diverging), (level, diverging), (diverging, level)):
        found = resampled_ratio(baseline, challenger, level, block=2)
        assert np.isnan([found.low, found.high, found.p]).all()
    assert resampled_ratio(level, diverging, level, block=2).ratio == np.inf


def test_arms_of_unlike_periods_are_refused() -> None:
    with pytest.raises(ValueError, match="not scored along the same period"):
        resampled_ratio(np.ones(10), np.ones(9), np.ones(10), block=3)
