"""What came after the origins of forecasts in a held-out part, and what naive forecasts say there."""

from __future__ import annotations

import numpy as np


def truths(rows: np.ndarray, origins: np.ndarray, horizon: int, targets: int) -> np.ndarray:
    """Returns what came, (origin, horizon, target): NaN after the end and where nothing was observed."""
    beyond = np.full((horizon, targets), np.nan)
    series = np.concatenate([rows[:, :targets], beyond])
    return series[origins[:, np.newaxis] + np.arange(horizon)]


def naive_forecasts(rows: np.ndarray, origins: np.ndarray, horizon: int, *, targets: int, season: int) -> np.ndarray:
    """Returns the values a season before, (origin, horizon, target); season 1: the last value.

    Where one was not observed the last one before it stands in; NaN where there is none.
    """
    series = filled_forward(rows[:, :targets])
    back = np.arange(horizon) % season - season
    places = origins[:, np.newaxis] + back
    return np.where((places >= 0)[..., np.newaxis], series[np.maximum(places, 0)], np.nan)


def filled_forward(values: np.ndarray) -> np.ndarray:
    """Returns values (time, column) with the last one before it in place of each gap; NaN before the first."""
    places = np.where(np.isnan(values), 0, np.arange(len(values))[:, np.newaxis])
    return np.take_along_axis(values, np.maximum.accumulate(places, axis=0), axis=0)


def rows_seen(values: np.ndarray) -> int:
    """Returns how many rows of values (time, column) a model counts: those from the first on of which anything was
    observed; NaN is nothing."""
    observed = ~np.isnan(values).all(1)
    return len(values) - int(observed.argmax()) if observed.any() else 0
