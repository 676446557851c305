"""Figures of the example: the forecast with its intervals, and the backtest; in own units, readable in grey."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from data.base import Dataset, Sequences
from pipeline.plotting import band, legend, line, new_axes, whole_ticks

ABOVE: dict[str, Any] = {"ncols": 3, "loc": "lower right", "bbox_to_anchor": (1, 1), "frameon": False}


def panels(data: Dataset, title: str, x: str) -> tuple[Figure, list[Axes]]:
    """One panel a feature; their legend goes above the first, clear of the curves."""
    rows = len(data.feature_names)
    figure, axes = new_axes(title, x=x, y="", rows=rows, height=1.9 * rows + 1)
    for panel, name, unit in zip(axes, data.feature_names, data.units, strict=True):
        panel.set_ylabel(f"{name} ({unit})" if unit else name)
        whole_ticks(panel)
    return figure, axes


def forecast_figure(data: Dataset, whole: Sequences, table: pd.DataFrame, coverage: float) -> Figure:
    """The last rows of the first sequence, and what the model expects after them."""
    series, name = whole.to_arrays(1)[0], whole.names[0]
    rows: Any = table[table["sequence"] == name]
    shown = np.arange(max(0, len(series) - 4 * len(rows)), len(series))
    ahead = len(series) - 1 + rows["step"]
    figure, axes = panels(data, f"{name}: forecast of {len(rows)} steps", "time step (row of the series, from 0)")
    for panel, feature, values in zip(axes, data.feature_names, series.T, strict=True):
        lower, upper = rows[f"{feature}_lower"], rows[f"{feature}_upper"]
        band(panel, 1, ahead, lower, upper, f"{100 * coverage:g}% interval")
        line(panel, 0, shown, values[shown], "observed", markers=False)
        line(panel, 1, ahead, rows[feature], "forecast", markers=False)
    legend(axes[0], **ABOVE)
    return figure


def error_figure(data: Dataset, table: pd.DataFrame) -> Figure:
    """Backtest: error by horizon beside the last value."""
    figure, axes = panels(data, "backtest on the test part: root mean squared error", "steps ahead")
    for panel, feature in zip(axes, data.feature_names, strict=True):
        rows: Any = table[table["feature"] == feature]
        line(panel, 0, rows["horizon"], rows["rmse"], "model")
        line(panel, 1, rows["horizon"], rows["last_value_rmse"], "last value")
        panel.set_ylim(bottom=0)
    legend(axes[0], **ABOVE)
    return figure
