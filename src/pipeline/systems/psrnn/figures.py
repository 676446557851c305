"""Figures of one run: the learning curve, errors by horizon, predictions, forecasts, and the radii that were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipeline.job.fit import EpochRow
from pipeline.plotting import (
    COLOURS,
    MSE,
    STYLES,
    date_axis,
    feature_panels,
    legend_below,
    line,
    new_axes,
    not_drawn,
    varying,
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def learning_curve(rows: Sequence[EpochRow], best_epoch: int, *, title: str) -> Figure:
    """Training, validation and test error per epoch; the epoch that is kept is marked."""
    from matplotlib.ticker import MaxNLocator

    figure, (panel,) = new_axes(title, x="epoch (0: after initialisation)", y=MSE)
    epochs = [row.epoch for row in rows]
    for i, name in enumerate(("train", "validation", "test")):
        line(panel, i, epochs, [getattr(row, f"{name}_mse") for row in rows], name)
    panel.axvline(best_epoch, color="0.6", linewidth=0.8)
    panel.annotate(
        "kept",
        (best_epoch, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-3, -10),
        textcoords="offset points",
        fontsize=8,
        ha="right",
    )
    panel.set_yscale("log")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.legend()
    return figure


def horizon_curve(errors: pd.DataFrame, *, title: str) -> Figure:
    """Error against forecast horizon; `errors` has one row per horizon and one column per model."""
    figure, (panel,) = new_axes(title, x="forecast horizon (steps)", y=MSE)
    for i, (name, values) in enumerate(errors.items()):
        line(panel, i, list(errors.index), values.tolist(), str(name))
    panel.set_yscale("log")
    panel.set_xticks(list(errors.index), [str(h) for h in errors.index])
    panel.legend()
    return figure


Steps = tuple[str, np.ndarray] | None  # name and values of the times of a sequence's rows; None counts them


def prediction(
    truth: np.ndarray,
    predicted: np.ndarray,
    features: Sequence[str],
    units: Sequence[str],
    *,
    title: str,
    steps: Steps = None,
) -> Figure:
    """One test sequence, observed and predicted, (time, feature) each."""
    name, x = steps or ("time step", np.arange(len(truth)))
    varies = varying([truth, predicted])
    figure, panels = feature_panels(features, units, varies, title=title, x=name)
    for panel, i in panels:
        line(panel, 0, x, truth[:, i], "observed", markers=False)
        line(panel, 1, x, predicted[:, i], "predicted one step ahead", markers=False)
        date_axis(panel, x)
    legend_below(figure, not_drawn(features, varies))
    return figure


def forecast(
    truth: np.ndarray,
    ahead: np.ndarray,
    radii: np.ndarray,
    features: Sequence[str],
    units: Sequence[str],
    *,
    title: str,
    steps: Steps = None,
) -> Figure:
    """The end of a sequence (time, feature) and its forecast from before it (step, feature), with forecast ± radii."""
    name, x = steps or ("time step", np.arange(len(truth)))
    origin, shown = len(truth) - len(ahead), slice(max(0, len(truth) - 4 * len(ahead)), None)
    varies = varying([truth[shown], ahead - radii, ahead + radii])
    figure, panels = feature_panels(features, units, varies, title=title, x=name)
    for panel, i in panels:
        band = ahead[:, i] - radii[:, i], ahead[:, i] + radii[:, i]
        panel.fill_between(x[origin:], *band, color=COLOURS[1], alpha=0.2, linewidth=0, label="interval")
        line(panel, 0, x[shown], truth[shown, i], "observed", markers=False)
        line(panel, 1, x[origin:], ahead[:, i], "forecast", markers=False)
        date_axis(panel, x)
    legend_below(figure, not_drawn(features, varies))
    return figure


def radii_against_law(radii: Mapping[str, np.ndarray], laws: Mapping[str, np.ndarray], *, title: str) -> Figure:
    """Sorted radii of the frequencies (bandwidth 1) against the quantiles of their law; the diagonal is agreement."""
    figure, (panel,) = new_axes(
        title, x="quantile of the kernel's radial law (bandwidth 1)", y="drawn radius (bandwidth 1)"
    )
    for i, name in enumerate(radii):
        panel.plot(
            laws[name],
            np.sort(radii[name]),
            linestyle="",
            marker=STYLES[i][1],
            markersize=4,
            color=COLOURS[i],
            label=name,
        )
    low, high = panel.get_xlim()
    panel.plot([low, high], [low, high], color="0.6", linewidth=0.8, label="agreement")
    panel.legend()
    return figure
