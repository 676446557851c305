"""Intervals that a forecaster carries with it."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch

from models.baselines.persistence import Persistence
from models.forecasting.conformal import conformal_radii, smallest_calibration
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.intervals import COVERAGES, Intervals, NotCalibrated, TooFewForecasts, calibrate


def residuals(count: int = 400, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 3, 2)) * [1.0, 10.0]


@pytest.mark.parametrize("coverage", COVERAGES)
def test_radii_are_those_of_split_conformal_prediction(coverage: float) -> None:
    found = residuals(1200)
    np.testing.assert_array_equal(calibrate(found).radius(coverage, 3), conformal_radii(found, coverage=coverage))


def test_gaps_are_not_counted_and_every_cell_has_its_own_rank() -> None:
    found = residuals(60)
    found[5:20, 1, 0] = np.nan
    intervals = calibrate(found)
    assert intervals.scored.tolist() == [[60, 60], [45, 60], [60, 60]]
    np.testing.assert_array_equal(intervals.radius(0.9, 3), conformal_radii(found, coverage=0.9))


def test_a_coverage_between_two_is_that_of_the_next_one() -> None:
    intervals = calibrate(residuals())
    np.testing.assert_array_equal(intervals.radius(0.87, 2), intervals.radius(0.9, 2))
    assert (intervals.radius(0.9, 2) > intervals.radius(0.85, 2)).all()


@pytest.mark.parametrize(
    ("coverage", "horizon", "message"),
    [
        (0.9, 4, r"^intervals are known for 3 steps ahead, 4 were asked for; .* train anew with so many and a val"),
        (1.5, 1, "interval must lie between 0 and 1, got 1.5"),
        (0.9999, 1, "interval is at most 0.999, got 0.9999"),
        (0.99, 3, "too few forecasts for intervals of 0.99 3 steps ahead"),
    ],
)
def test_what_cannot_be_told_is_refused(coverage: float, horizon: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibrate(residuals(smallest_calibration(0.99) - 1)).radius(coverage, horizon)


def test_a_horizon_that_was_not_calibrated_says_what_is_known_and_was_asked_for() -> None:
    with pytest.raises(NotCalibrated) as caught:
        calibrate(residuals(60)).radius(0.9, 4)
    again = copy.deepcopy(caught.value)
    assert (again.known, again.asked, str(again)) == (3, 4, str(caught.value))
    with pytest.raises(TooFewForecasts):
        calibrate(residuals(5)).radius(0.99, 1)


def test_the_coverage_is_reached_on_fresh_forecasts() -> None:
    """A draw of 20,000 fresh residuals, calibrated on 2,000: three standard errors of both are 0.02."""
    intervals, fresh = calibrate(residuals(2000)), np.abs(residuals(20000, seed=1))
    for coverage in (0.5, 0.9):
        np.testing.assert_allclose((fresh <= intervals.radius(coverage, 3)).mean(0), coverage, atol=0.035)
    assert (fresh <= 0.5 * intervals.radius(0.9, 3)).mean() < 0.7


def forecaster(intervals: Intervals | None) -> Forecaster:
    mean, scale = torch.tensor([1.0, 2.0]).double(), torch.tensor([3.0, 4.0]).double()
    model = Persistence(dimension=2).double()
    return Forecaster(model, mean=mean, scale=scale, feature_names=("a", "b"), intervals=intervals)


def test_intervals_travel_with_the_parameters(tmp_path: Path) -> None:
    kept = calibrate(residuals(30))
    save_forecaster(forecaster(kept), tmp_path)
    found = load_forecaster(tmp_path)
    assert found.intervals is not None
    for one, other in zip(found.intervals, kept, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found.radius(0.8, 2), kept.radius(0.8, 2))


def test_a_model_without_intervals_says_so(tmp_path: Path) -> None:
    save_forecaster(forecaster(None), tmp_path)
    with pytest.raises(ValueError, match="this model has no intervals"):
        load_forecaster(tmp_path).radius(0.9, 1)
