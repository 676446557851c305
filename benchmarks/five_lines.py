"""From a CSV to a forecast with intervals, as in the README: PSRNNForecaster beside a ridge over lags.

python benchmarks/five_lines.py --threads 2
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from side_by_side import Form, Machine, Row, compare, run

from models import PSRNNForecaster

ROWS, COLUMNS = 10_000, 5
HORIZON, LAGS = 24, 24


def readings(path: Path) -> None:
    """Writes hourly readings: waves of a day and of a week, drifting levels and noise, some of it shared."""
    generator, hours = np.random.default_rng(0), np.arange(ROWS)[:, None]
    weights = generator.normal(size=(3, COLUMNS))
    waves = np.sin(2 * np.pi * hours / 24) * weights[0] + np.sin(2 * np.pi * hours / 168) * weights[1]
    drift = 0.02 * np.cumsum(generator.normal(size=(ROWS, COLUMNS)), axis=0)
    noise = 0.3 * generator.normal(size=(ROWS, COLUMNS)) + 0.2 * generator.normal(size=(ROWS, 1)) * weights[2]
    times = pd.date_range("2024-01-01", periods=ROWS, freq="h", name="time")
    pd.DataFrame(waves + drift + noise, times, [f"c{i}" for i in range(COLUMNS)]).to_csv(path)


def ours(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    table = pd.read_csv(path, index_col="time", parse_dates=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "this model is no better")  # than a naive forecast; what it costs is asked
        forecaster = PSRNNForecaster().fit(table)
    return forecaster.predict(HORIZON), forecaster.predict_interval(HORIZON, coverage=0.9)


def ridge(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The last rows predict the next one, and so on; the intervals are quantiles of errors one step ahead."""
    from sklearn.linear_model import Ridge

    values = pd.read_csv(path, index_col="time", parse_dates=True).to_numpy()
    inputs = np.lib.stride_tricks.sliding_window_view(values[:-1], LAGS, axis=0).reshape(len(values) - LAGS, -1)
    regression = Ridge().fit(inputs, values[LAGS:])
    recent = values[-LAGS:]
    for _ in range(HORIZON):
        recent = np.vstack([recent, regression.predict(recent[-LAGS:].T.reshape(1, -1))])
    return recent[LAGS:], np.quantile(values[LAGS:] - regression.predict(inputs), (0.05, 0.95), axis=0)


def measure(machine: Machine, budget: float) -> list[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "readings.csv"
        readings(path)
        forms: dict[str, Form] = {"ours, PSRNNForecaster()": lambda: ours(path)}
        if find_spec("sklearn"):
            forms["scikit-learn Ridge over lags, iterated"] = lambda: ridge(path)
        return compare("CSV to intervals", f"{ROWS} × {COLUMNS}", forms, machine=machine, budget=budget)


if __name__ == "__main__":
    run("from a CSV to a forecast with intervals", measure)
