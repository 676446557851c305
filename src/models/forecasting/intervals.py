"""Prediction intervals that a forecaster carries with it: conformal radii for every coverage that may be asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.forecasting.conformal import ordered_sizes, radii_by_rank

COVERAGES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.98, 0.99, 0.995, 0.999)


class NotCalibrated(ValueError):
    """Says that intervals so far ahead were not calibrated. known, asked: steps ahead."""

    def __init__(self, known: int, asked: int) -> None:
        self.known, self.asked = known, asked
        super().__init__(known, asked)

    def __str__(self) -> str:
        return (
            f"intervals are known for {self.known} steps ahead, {self.asked} were asked for; ask for fewer steps, or "
            "train anew with so many and a validation part that is longer than that"
        )


class TooFewForecasts(ValueError):
    """Says that the validation part had too few forecasts for intervals of so much coverage."""


class Intervals(NamedTuple):
    """Holds radii: the interval of a forecast is forecast ± radius; `models.forecasting.conformal` says what that
    promises.

    coverages (coverage,): ascending, between 0 and 1. radii (coverage, horizon, feature): in the data's own units,
    infinite where too few forecasts were scored for a finite one. scored (horizon, feature): how many that were.
    """

    coverages: np.ndarray
    radii: np.ndarray
    scored: np.ndarray

    def radius(self, coverage: float, horizon: int) -> np.ndarray:
        """Returns (horizon, feature): the radii for the steps 1 to `horizon`, of the least coverage kept that is at
        least the one asked.

        Raises ValueError for a coverage that is not between 0 and 1 or more than the largest kept, NotCalibrated for a
        longer horizon than was calibrated, and TooFewForecasts where the calibration forecasts were too few.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"interval must lie between 0 and 1, got {coverage:g}")
        place = int(np.searchsorted(self.coverages, coverage - 1e-12))
        if place == len(self.coverages):
            raise ValueError(f"interval is at most {self.coverages[-1]:g}, got {coverage:g}")
        known = self.radii.shape[1]
        if horizon > known:
            raise NotCalibrated(known, horizon)
        chosen = self.radii[place, :horizon]
        if not np.isfinite(chosen).all():
            raise TooFewForecasts(
                f"the validation part has too few forecasts for intervals of {coverage:g} {horizon} steps ahead; ask "
                "for less of one, or give it more data"
            )
        return chosen


def calibrate(residuals: np.ndarray) -> Intervals:
    """Returns radii for all of `COVERAGES`: the ⌈(n + 1)·coverage⌉-th smallest of the n scored |residuals|, as
    `models.forecasting.conformal.conformal_radii` has it, but infinite where n is too small.

    residuals (forecast, horizon, feature): truth − forecast on data that the model was not fitted to; NaN = not scored.
    Raises ValueError for another shape and for an infinite residual.
    """
    ordered, scored = ordered_sizes(residuals)
    radii = [radii_by_rank(ordered, scored, coverage) for coverage in COVERAGES]
    return Intervals(np.array(COVERAGES), np.stack(radii), scored)
