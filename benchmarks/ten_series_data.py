"""The ten series of benchmarks/ten_series.py: nine that come with statsmodels or are generated here, and a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd


class Series(NamedTuple):
    """A table whose rows are time steps, and its season in steps (1: none is known)."""

    name: str
    table: pd.DataFrame
    season: int


def from_statsmodels(name: str) -> pd.DataFrame:
    """Returns a data set that statsmodels ships; nothing is downloaded."""
    import importlib

    return importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data


def sunspots() -> Series:
    return Series("sunspots, yearly", from_statsmodels("sunspots").filter(["SUNACTIVITY"]), 11)


def carbon_dioxide() -> Series:
    weekly = from_statsmodels("co2")["co2"].interpolate()
    return Series("CO2 at Mauna Loa, monthly", weekly.resample("MS").mean().to_frame(), 12)


def el_nino() -> Series:
    years = from_statsmodels("elnino").drop(columns="YEAR").to_numpy(np.float64)
    return Series("sea surface, El Niño, monthly", pd.DataFrame({"celsius": years.ravel()}), 12)


def nile() -> Series:
    return Series("Nile at Aswan, yearly", from_statsmodels("nile").filter(["volume"]).astype(np.float64), 1)


def macroeconomy() -> Series:
    """Quarterly logarithms of gross domestic product, consumption and income, and two rates of the United States."""
    data = from_statsmodels("macrodata")
    table = data.filter(["realgdp", "realcons", "realdpi"]).transform(np.log).join(data.filter(["tbilrate", "unemp"]))
    return Series("United States, quarterly, 5 columns", table, 4)


def mackey_glass(steps: int = 3000, *, lag: int = 17) -> Series:
    """x' = 0.2 x(t − 17) / (1 + x(t − 17)¹⁰) − 0.1 x (Mackey and Glass, 1977), by Euler's steps of 0.1, every sixth
    time unit."""
    fine, per_unit = np.full(60 * steps + 10 * lag + 5000, 1.2), 10
    for t in range(lag * per_unit, len(fine) - 1):
        delayed = fine[t - lag * per_unit]
        fine[t + 1] = fine[t] + 0.1 * (0.2 * delayed / (1 + delayed**10) - 0.1 * fine[t])
    return Series("Mackey–Glass, generated", pd.DataFrame({"x": fine[-60 * steps :: 60]}), 1)


def lorenz(steps: int = 3000) -> Series:
    """The system of Lorenz (1963) with σ = 10, ρ = 28, β = 8/3, by Runge–Kutta steps of 0.01, every fifth."""

    def slope(state: np.ndarray) -> np.ndarray:
        x, y, z = state
        return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    state, rows = np.array([1.0, 1.0, 1.0]), np.empty((5 * steps + 1000, 3))
    for row in rows:
        a = slope(state)
        b = slope(state + 0.005 * a)
        c = slope(state + 0.005 * b)
        d = slope(state + 0.01 * c)
        state = state + 0.01 / 6 * (a + 2 * b + 2 * c + d)
        row[:] = state
    return Series("Lorenz, generated, 3 columns", pd.DataFrame(rows[1000::5], columns=list("xyz")), 1)


def two_oscillations(steps: int = 3000) -> Series:
    """Two noisy phases that pull at each other (Kuramoto, 1975), seen as heights with noise."""
    generator = np.random.default_rng(0)
    phases, pace = np.zeros((steps, 2)), 2 * np.pi / np.array([25, 19])
    for t in range(1, steps):
        pull = 0.03 * np.sin(phases[t - 1, ::-1] - phases[t - 1])
        phases[t] = phases[t - 1] + pace + pull + 0.03 * generator.standard_normal(2)
    heights = np.sin(phases) + 0.05 * generator.standard_normal((steps, 2))
    return Series("two oscillations, generated, 2 columns", pd.DataFrame(heights, columns=["left", "right"]), 1)


def days_and_weeks(hours: int = 3000) -> Series:
    """Hours with a day, a week, a slow trend and noise that lasts."""
    generator, t, noise = np.random.default_rng(1), np.arange(hours), np.zeros(hours)
    for hour in range(1, hours):
        noise[hour] = 0.8 * noise[hour - 1] + 0.3 * generator.standard_normal()
    load = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168) + 3e-4 * t + noise
    index = pd.date_range("2024-01-01", periods=hours, freq="h")
    return Series("days and weeks, generated, hourly", pd.DataFrame({"load": load}, index=index), 24)


def hours_of(path: Path) -> Series:
    """Returns a table of hours as ETTh1 is: a header, columns of numbers, from 2016-07-01 00:00 on."""
    table = pd.read_csv(path).select_dtypes("number")
    return Series(
        f"{path.stem}, hourly, {table.shape[1]} columns",
        table.set_axis(pd.date_range("2016-07-01", periods=len(table), freq="h")),
        24,
    )


NINE: tuple[Callable[[], Series], ...] = (
    sunspots, carbon_dioxide, el_nino, nile, macroeconomy, mackey_glass, lorenz, two_oscillations, days_and_weeks,
)  # fmt: skip


def ten(hours: Path | None) -> list[Series]:
    """Returns the nine series, and before them the file of hours where one is given."""
    return [*([hours_of(hours)] if hours else []), *(make() for make in NINE)]
