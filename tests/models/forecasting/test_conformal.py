"""Radii by hand, and coverage where the theorem holds."""

from __future__ import annotations

import numpy as np
import pytest

from models.forecasting.backtest import backtest
from models.forecasting.conformal import conformal_radii, coverage_reached, interval, smallest_calibration


def column(*values: float) -> np.ndarray:
    return np.array(values).reshape(-1, 1, 1)


@pytest.mark.parametrize(
    ("coverage", "expected"),
    [(0.5, 3.0), (0.6, 4.0), (0.61, 4.0), (0.8, 5.0), (0.1, 1.0)],  # ranks ⌈6·coverage⌉ = 3, 4, 4, 5, 1
)
def test_radius_is_the_ranked_size(coverage: float, expected: float) -> None:
    assert conformal_radii(column(-4, 1, 5, -2, 3), coverage=coverage).tolist() == [[expected]]


def test_each_horizon_and_feature_counts_its_own_forecasts() -> None:
    nan = np.nan
    residuals = np.array(
        [
            [[1.0, nan], [10.0, 7.0]],
            [[-2.0, 5.0], [nan, -7.0]],
            [[3.0, -6.0], [-30.0, 7.0]],
            [[4.0, 4.0], [20.0, 1.0]],
        ]
    )
    # n = 4 gives rank ⌈5/2⌉ = 3, n = 3 gives rank ⌈4/2⌉ = 2
    assert conformal_radii(residuals, coverage=0.5).tolist() == [[3.0, 5.0], [20.0, 7.0]]


def test_rank_is_exact_for_decimal_coverages() -> None:
    assert (99 + 1) * 0.55 > 55, "in binary arithmetic the rank would be 56"
    assert conformal_radii(column(*range(1, 100)), coverage=0.55).item() == 55
    assert conformal_radii(column(*range(1, 10)), coverage=0.9).item() == 9


def test_too_few_forecasts_are_counted() -> None:
    assert [smallest_calibration(c) for c in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    residuals = np.ones((9, 2, 3))
    assert np.all(conformal_radii(residuals, coverage=0.9) == 1.0)
    residuals[4, 1, 2] = np.nan
    message = "coverage 0.9 needs at least 9 scored calibration forecasts, horizon 2 of feature 2 has 8; calibrate"
    with pytest.raises(ValueError, match=message):
        conformal_radii(residuals, coverage=0.9)
    with pytest.raises(ValueError, match="needs at least 1 scored calibration forecasts, horizon 1 of feature 0 has 0"):
        conformal_radii(np.ones((0, 1, 1)), coverage=0.5)


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_coverage_of_exchangeable_sequences_is_the_target(coverage: float) -> None:
    """Fresh calibration and test each round: the mean coverage is ⌈(n + 1)c⌉/(n + 1), exactly c for n = 19.

    Random walks with a level of their own: within a sequence all is dependent, the sequences are exchangeable.
    """
    generator = np.random.default_rng(7)
    rounds, calibration, held_out, horizon = 400, 19, 20, 3
    shares = []
    for _ in range(rounds):
        spread = generator.exponential(size=(calibration + held_out, 1, 1))
        residuals = np.cumsum(spread * generator.standard_t(2, (calibration + held_out, horizon, 2)), axis=1)
        radii = conformal_radii(residuals[:calibration], coverage=coverage)
        shares.append(coverage_reached(residuals[calibration:], radii).share)
    k = round((calibration + 1) * coverage)
    between = k * (20 - k) / (20**2 * 21)  # variance of Beta(k, 20 − k), the coverage of one set of radii
    deviation = np.sqrt((between + coverage * (1 - coverage) / held_out) / rounds)
    assert np.abs(np.mean(shares, axis=0) - coverage).max() < 4 * deviation
    assert deviation < 0.007


def test_coverage_reached_counts_scored_forecasts_and_includes_the_ends() -> None:
    residuals = np.array([[[1.0], [np.nan]], [[-2.0], [np.nan]], [[2.5], [np.nan]], [[np.nan], [np.nan]]])
    found = coverage_reached(residuals, np.array([[2.0], [1.0]]))
    assert found.scored.tolist() == [[3], [0]]
    assert found.share[0, 0] == 2 / 3
    assert np.isnan(found.share[1, 0])


def test_interval_is_forecast_and_radius() -> None:
    forecast = np.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    lower, upper = interval(forecast, np.array([[0.5, 1.0]]))
    assert lower.tolist() == [[[0.5, 1.0]], [[2.5, 3.0]]]
    assert upper.tolist() == [[[1.5, 3.0]], [[3.5, 5.0]]]


def test_radii_of_a_backtest_cover_another() -> None:
    """Last value of random walks with unit steps, one origin a series: h steps ahead deviate by √h."""
    generator = np.random.default_rng(3)
    walks = list(np.cumsum(generator.normal(size=(800, 14, 1)), axis=1))

    def residuals(part: list[np.ndarray]) -> np.ndarray:
        last = backtest(lambda seen, horizon: np.repeat(seen[-1:], horizon, 0), part, first=10, step=14, horizon=4)
        return last.residuals()

    radii = conformal_radii(residuals(walks[:400]), coverage=0.9)
    assert np.allclose(radii[:, 0], 1.645 * np.sqrt([1, 2, 3, 4]), rtol=0.15)
    assert np.abs(coverage_reached(residuals(walks[400:]), radii).share - 0.9).max() < 0.06


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 90.0, np.nan])
def test_coverage_is_a_share(coverage: float) -> None:
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1, got"):
        conformal_radii(np.ones((200, 1, 1)), coverage=coverage)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected residuals \(forecast, horizon, feature\), got shape \(5,\)"):
        conformal_radii(np.ones(5), coverage=0.5)
    infinite = np.ones((5, 2, 1))
    infinite[3, 1, 0] = -np.inf
    with pytest.raises(ValueError, match="infinite residual in forecast 3, horizon 2, feature 0"):
        conformal_radii(infinite, coverage=0.5)
    with pytest.raises(ValueError, match="infinite residual in forecast 3, horizon 2, feature 0"):
        coverage_reached(infinite, np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"radii of shape \(1, 2\) do not fit residuals of shape \(5, 2, 1\)"):
        coverage_reached(np.ones((5, 2, 1)), np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"radii of shape \(2,\) do not fit a forecast of shape \(5, 2\)"):
        interval(np.ones((5, 2)), np.ones(2))
    for radius in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="a radius is negative or not finite"):
            coverage_reached(np.ones((5, 1, 1)), np.array([[radius]]))
