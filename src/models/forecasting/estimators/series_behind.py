"""In which of several series a model is far behind a naive forecast, though not in all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from models.forecasting.estimators.held_out import HeldOut, origins_of

FAR = 5.0  # times the mean squared error of a naive forecast, from which on a model is far behind
FEWEST = 10  # forecasts of a series, fewer of which are far behind by chance
MOST_NAMED = 3  # series that are named


class Series(NamedTuple):
    """Says which forecasts are of a series: its key, how many they are, and the variance of its rows (target,) in
    squares of the `scale` of all."""

    key: Any
    forecasts: int
    variance: np.ndarray


class FarBehind(NamedTuple):
    """Holds in which series and column the model is far behind a naive forecast, its name, and both mean squared
    errors, in standard deviations."""

    series: Any
    column: Any
    name: str
    error: float
    model_error: float

    @property
    def times(self) -> float:
        """Returns how many times the naive forecast's error the model has."""
        return self.model_error / self.error


def series_of(parts: Sequence[HeldOut], keys: Sequence[Any], scale: np.ndarray) -> list[Series]:
    """Returns the series whose forecasts follow one another in what `errors_of` finds, by their parts held out.

    scale (target,): the standard deviations of all series together; 1 where each is in its own already.
    """
    found = []
    for part, key in zip(parts, keys, strict=True):
        rows = part.rows[:, : len(scale)] / scale
        counts = np.maximum((~np.isnan(rows)).sum(0), 1)
        mean = np.nansum(rows, axis=0) / counts
        found.append(Series(key, len(origins_of(part)), np.nansum(np.square(rows - mean), axis=0) / counts))
    return found


def far_behind(
    residuals: Mapping[str, np.ndarray], scored: np.ndarray, series: Sequence[Series], columns: Sequence[Any]
) -> list[FarBehind]:
    """Returns the series in which the model is far behind a naive forecast, each with its worst column, the worst
    series first; none where it is in all of them, which the comparison of all series says.

    residuals: truth − forecast (forecast, horizon, column) in standard deviations by what forecasts, "model" and the
    naive ones. scored: which of them count, bool of that shape. Far behind is a mean squared error over all steps of
    more than `FAR` times the naive one's, and of more than the variance of the series: about its own mean it would be
    less. A column of a series with fewer than `FEWEST` forecasts does not count, nor one that a naive forecast has no
    error in, as what is constant.
    """
    ends = np.cumsum([each.forecasts for each in series])
    found = []
    for each, end in zip(series, ends, strict=True):
        own = slice(end - each.forecasts, end)
        with np.errstate(over="ignore"):
            errors = {name: _mean_squares(part[own], scored[own]) for name, part in residuals.items()}
        found += _worst(each, errors, columns)
    return sorted(found, key=lambda behind: -behind.times) if len(found) < len(series) else []


def _mean_squares(residual: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """Returns the mean squares (column,) of what is scored, NaN where fewer than `FEWEST` forecasts are."""
    counts = scored.sum((0, 1))
    squared = np.square(np.where(scored, residual, 0.0)).sum((0, 1))
    return np.where(scored.any(1).sum(0) >= FEWEST, squared / np.maximum(counts, 1), np.nan)


def _worst(series: Series, errors: Mapping[str, np.ndarray], columns: Sequence[Any]) -> list[FarBehind]:
    naive = [name for name in errors if name != "model"]
    found = []
    for place, column in enumerate(columns):
        ours = float(errors["model"][place])
        name = min(naive, key=lambda name: errors[name][place])
        least = float(errors[name][place])
        if ours > FAR * least > 0 and ours > series.variance[place]:
            found.append(FarBehind(series.key, column, name, least, ours))
    return [max(found, key=lambda behind: behind.times)] if found else []


def said_of_series(behind: Sequence[FarBehind], steps: int, *, standardise: str) -> str:
    """Returns one line about the series in which a model is far behind a naive forecast.

    standardise: "all" or "each", whose standard deviations the errors are in.
    """
    named = "; ".join(
        f"series {each.series}, column {each.column}: {each.model_error:.3g}, not {each.error:.3g} ({each.name})"
        for each in behind[:MOST_NAMED]
    )
    more = len(behind) - MOST_NAMED
    others = f"; and in {more} more series" if more > 0 else ""
    return (
        f"on the validation part this model is far behind a naive forecast over 1 to {steps} steps in {named}{others}, "
        f"by mean squared errors in standard deviations of {standardise} series; give these series a forecaster of "
        "their own"
    )
