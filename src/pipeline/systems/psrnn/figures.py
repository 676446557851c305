"""Figures of one run: the learning curve, errors by horizon, predictions, forecasts, and the radii that were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from data.base import Dataset
from pipeline.job.curve import EpochRow
from pipeline.plotting import (
    MOST_MARKERS,
    MSE,
    REFERENCE,
    SMALL_SIZE,
    band,
    feature_figure,
    legend,
    line,
    new_axes,
    style,
    whole_ticks,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def learning_curve(rows: Sequence[EpochRow], best_epoch: int, *, title: str) -> Figure:
    """Draws training, validation and test error per epoch; the epoch that is kept is marked."""
    figure, (panel,) = new_axes(title, x="epoch (0: after initialisation)", y=MSE)
    epochs = [row.epoch for row in rows]
    for i, name in enumerate(("train", "validation", "test")):
        line(panel, i, epochs, [row.values[f"{name}_mse"] for row in rows], name)
    panel.axvline(best_epoch, **REFERENCE)
    panel.annotate(
        "kept",
        (best_epoch, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-3, -10),
        textcoords="offset points",
        fontsize=SMALL_SIZE,
        ha="right",
    )
    panel.set_yscale("log")
    whole_ticks(panel)
    legend(panel)
    return figure


def horizon_curve(errors: pd.DataFrame, *, title: str) -> Figure:
    """Draws the error against the forecast horizon; `errors` has one row per horizon and one column per model."""
    figure, (panel,) = new_axes(title, x="forecast horizon (steps)", y=MSE)
    for i, (name, values) in enumerate(errors.items()):
        line(panel, i, list(errors.index), values.tolist(), str(name))
    panel.set_yscale("log")
    panel.set_xticks(list(errors.index), [str(h) for h in errors.index])
    legend(panel)
    return figure


def direct_and_iterated(errors: pd.DataFrame, *, title: str) -> Figure:
    """Draws the validation error against the forecast horizon, of forecasts by the horizon's own regression and of
    iterated ones, beside the last value and the mean; `errors` has a column for each."""
    figure, (panel,) = new_axes(title, x="forecast horizon (steps)", y=f"validation {MSE}")
    names = {"direct": "direct", "iterated": "iterated", "last_value": "last value", "mean": "mean"}
    for i, (column, name) in enumerate(names.items()):
        values = errors[column].replace(np.inf, np.nan)
        if bool(values.notna().to_numpy().any()):
            line(panel, i, errors["horizon"], values, name, markers=len(errors) <= MOST_MARKERS)
    panel.set_yscale("log")
    whole_ticks(panel)
    legend(panel)
    return figure


Steps = tuple[str, np.ndarray] | None  # name and values of the times of a sequence's rows; None counts them


def steps_of(dataset: Dataset) -> Steps:
    """Returns name and values of the times of the first test sequence, in UTC where they have a zone; None where they
    are not known."""
    times, in_utc = dataset.test.times, " (UTC)" if dataset.test.zone is not None else ""
    return None if times is None else (f"{dataset.time_name}{in_utc}", times[0])


def prediction(
    truth: np.ndarray,
    predicted: np.ndarray,
    features: Sequence[str],
    units: Sequence[str],
    *,
    title: str,
    steps: Steps = None,
) -> Figure:
    """Draws one test sequence, observed and predicted, (time, feature) each."""
    name, x = steps or ("time step", np.arange(len(truth)))

    def draw(panel: Axes, i: int) -> None:
        line(panel, 0, x, truth[:, i], "observed", markers=False)
        line(panel, 1, x, predicted[:, i], "predicted one step ahead", markers=False)

    return feature_figure(features, units, [truth, predicted], draw, title=title, x=(name, x))


class Band(NamedTuple):
    """Holds a forecast and the radii of its intervals, (step, feature) each."""

    forecast: np.ndarray
    radii: np.ndarray


def forecast(
    truth: np.ndarray,
    ahead: Band,
    features: Sequence[str],
    units: Sequence[str],
    *,
    title: str,
    steps: Steps = None,
) -> Figure:
    """Draws the end of a sequence (time, feature) and the forecast from before that end, with the band forecast ±
    radii."""
    name, x = steps or ("time step", np.arange(len(truth)))
    low, high, count = ahead.forecast - ahead.radii, ahead.forecast + ahead.radii, len(ahead.forecast)
    origin, shown = len(truth) - count, slice(max(0, len(truth) - 4 * count), None)

    def draw(panel: Axes, i: int) -> None:
        band(panel, 1, x[origin:], low[:, i], high[:, i], "interval")
        line(panel, 0, x[shown], truth[shown, i], "observed", markers=False)
        line(panel, 1, x[origin:], ahead.forecast[:, i], "forecast", markers=False)

    values = [truth[shown], low, high]
    return feature_figure(features, units, values, draw, title=title, x=(name, x))


def radii_against_law(radii: Mapping[str, np.ndarray], laws: Mapping[str, np.ndarray], *, title: str) -> Figure:
    """Draws the sorted radii of the frequencies (bandwidth 1) against the quantiles of their law; the diagonal is
    agreement."""
    figure, (panel,) = new_axes(
        title, x="quantile of the kernel's radial law (bandwidth 1)", y="drawn radius (bandwidth 1)"
    )
    for i, name in enumerate(radii):
        panel.plot(laws[name], np.sort(radii[name]), label=name, **style(i, linestyle=""))
    low, high = panel.get_xlim()
    panel.plot([low, high], [low, high], label="agreement", **REFERENCE)
    legend(panel)
    return figure
