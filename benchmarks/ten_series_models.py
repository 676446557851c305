"""What benchmarks/ten_series.py compares: forecasters that are fitted once, and then forecast from many places."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view

FARTHEST, LONG = 96, 10
LONGEST_FIT = 500  # rows, the last ones, that AutoETS and AutoARIMA are fitted to and begin from
LONG_SEASON = 12  # above it AutoARIMA compares orders by an approximate likelihood, as `auto.arima` of R does
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)  # per row of training
Forecasts = Callable[[pd.DataFrame], np.ndarray]  # a history -> (FARTHEST, column)
Fit = Callable[[pd.DataFrame, int], Forecasts]  # training part and season


def seasonal_naive(train: pd.DataFrame, season: int) -> Forecasts:  # noqa: ARG001
    """The value of one season before; of one step before where none is known."""
    return lambda history: np.resize(history.to_numpy()[-season:], (FARTHEST, history.shape[1]))


def lagged(values: np.ndarray, lags: int) -> np.ndarray:
    """Returns (rows, column, lags): the last `lags` values, less the last, at every row from `lags` − 1 on."""
    windows = sliding_window_view(values, lags, axis=0)
    return windows - windows[..., -1:]


def direct(values: np.ndarray, lags: int, ridges: Sequence[float]) -> list[np.ndarray]:
    """Returns (lags, FARTHEST) for each ridge: a linear map from lags to all horizons, each less the last value, one
    for all columns of standardised `values`.

    Of a long series the rows whose targets are all known are used for all horizons, of a short one those of each.
    """
    inputs, long = lagged(values, lags), len(values) > LONG * FARTHEST
    groups = [range(1, FARTHEST + 1)] if long else [range(h, h + 1) for h in range(1, FARTHEST + 1)]
    maps: list[list[np.ndarray]] = [[] for _ in ridges]
    for horizons in groups:
        count = len(inputs) - horizons[-1]
        if count < 1:
            horizons, count = range(max(len(inputs) - 1, 1), max(len(inputs), 2)), 1
        rows = inputs[:count].reshape(-1, lags)
        last = values[lags - 1 : lags - 1 + count].reshape(-1)
        targets = np.stack([values[lags - 1 + h : lags - 1 + h + count].reshape(-1) - last for h in horizons], axis=1)
        gram, cross = rows.T @ rows / len(rows), rows.T @ targets / len(rows)
        for of_ridge, ridge in zip(maps, ridges, strict=True):
            of_ridge.append(np.linalg.solve(gram + ridge * np.eye(lags), cross))
    return [np.concatenate(of_ridge, axis=1) for of_ridge in maps]


def errors_on(values: np.ndarray, cut: int, weights: np.ndarray) -> float:
    """Returns the mean absolute error of forecasts from some 50 places of what follows `cut`."""
    lags, errors = len(weights), []
    for start in range(cut - 1, len(values) - 1, max((len(values) - cut) // 50, 1)):
        ahead = values[start + 1 : start + 1 + FARTHEST]
        forecast = values[start] + (lagged(values[start + 1 - lags : start + 1], lags)[0] @ weights).T
        errors.append(np.abs(forecast[: len(ahead)] - ahead).mean())
    return float(np.mean(errors))


def ridge_over_lags(train: pd.DataFrame, season: int) -> Forecasts:
    """A direct linear map for each horizon; lags and ridge are those with the least error on the last tenth."""
    mean, scale = train.mean().to_numpy(), train.std().to_numpy()
    values = (train.to_numpy() - mean) / scale
    cut = len(values) - max(len(values) // 10, 1)
    choices = sorted({n for n in (4, 12, 24, season, 2 * season, 7 * season, 96, 336) if 1 < n <= cut // 4})

    tried = [
        (errors_on(values, cut, weights), lags, ridge)
        for lags in choices
        for ridge, weights in zip(RIDGES, direct(values[:cut], lags, RIDGES), strict=True)
    ]
    _, lags, ridge = min(tried)
    weights = direct(values, lags, [ridge])[0]

    def forecasts(history: pd.DataFrame) -> np.ndarray:
        last = (history.to_numpy()[-lags:] - mean) / scale
        return (last[-1] + (lagged(last, lags)[0] @ weights).T) * scale + mean

    return forecasts


def exact_search(season: int) -> dict[str, bool]:  # noqa: ARG001
    return {}


def search_of_arima(season: int) -> dict[str, bool]:
    """An approximate search where the season is long: an exact one takes minutes for a column. The model that is chosen
    is fitted exactly."""
    return {"approximation": season > LONG_SEASON}


def of_statsforecast(name: str, search: Callable[[int], dict[str, bool]] = exact_search) -> Fit:
    """A model of statsforecast for each column by itself, fitted once; `forward` takes its parameters to a longer
    history."""

    def fit(train: pd.DataFrame, season: int) -> Forecasts:
        from statsforecast import models  # pyright: ignore[reportMissingImports]

        kind = getattr(models, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            last = train.to_numpy(np.float64)[-LONGEST_FIT:]
            each = [kind(season_length=season, **search(season)).fit(column) for column in last.T]

        def forecasts(history: pd.DataFrame) -> np.ndarray:
            rows = history.to_numpy(np.float64)[-LONGEST_FIT:]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                columns = [m.forward(y=y, h=FARTHEST)["mean"] for m, y in zip(each, rows.T, strict=True)]
            return np.stack(columns, axis=1)

        return forecasts

    return fit


def ours(train: pd.DataFrame, season: int) -> Forecasts:
    """`PSRNNForecaster` as it is; it is told nothing of the series but its season, as the others are."""
    from models import PSRNNForecaster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a naive forecast is better: the table says it
        forecaster = PSRNNForecaster(season=season if season > 1 else None).fit(train)
    return lambda history: np.asarray(forecaster.predict(FARTHEST, X=history))


MODELS: dict[str, Fit] = {
    "PSRNNForecaster()": ours,
    "ridge over lags": ridge_over_lags,
    "AutoETS": of_statsforecast("AutoETS"),
    "AutoARIMA": of_statsforecast("AutoARIMA", search_of_arima),
    "seasonal naive": seasonal_naive,
}
