"""The figures of one fitted model: its training, its calibration, and its predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.plotting import (
    REFERENCE,
    Grid,
    band,
    colour,
    legend,
    legend_below,
    line,
    new_axes,
    new_panels,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 400  # of the figure of targets, spread over all
MOST_PANELS = 12  # of the figure along the inputs
BAND = "mean ± 2 standard deviations"
STAGES = (("loss", "−log p(y)/N (standardised)"), ("rmse", "RMSE ({target})"), ("nlpd", "NLPD (nats)"))


def training(curve: Any, kept: int, *, target: str, title: str, x: str) -> Figure:
    """Returns a figure of the loss, and of errors and densities of validation and test part, against the iteration; the
    kept one is marked. The loss is left out where the curve has none."""
    shown = STAGES if curve["loss"].notna().any() else STAGES[1:]
    figure, panels = new_axes(title, x=x, y="", rows=len(shown), height=1.0 + 2.0 * len(shown))
    for panel, (score, label) in zip(panels, shown, strict=True):
        parts = {"training": "loss"} if score == "loss" else {p: f"{p}_{score}" for p in ("validation", "test")}
        for index, (part, column) in enumerate(parts.items()):
            line(panel, index, curve["iteration"], curve[column], part, markers=len(curve) < 20)
        panel.axvline(kept, label="kept", **REFERENCE)
        panel.set_ylabel(label.format(target=target))
        legend(panel)
    whole_ticks(panels[-1])
    return figure


def calibrated(table: pd.DataFrame, *, title: str) -> Figure:
    """Returns a figure of reached against nominal coverage of intervals on the test part."""
    figure, (panel,) = new_axes(title, x="nominal coverage of central intervals", y="reached on the test part")
    panel.plot([0, 1], [0, 1], label="agreement", **REFERENCE)
    line(panel, 1, table["nominal"], table["reached"], "model")
    panel.set_xlim(0, 1)
    panel.set_ylim(0, 1)
    legend(panel)
    return figure


def against_targets(table: Any, *, target: str, title: str) -> Figure:
    """Returns a figure of test rows in the order of their predicted means: the mean, a band of two standard deviations,
    and the targets. It shows `MOST_POINTS` rows at most."""
    ordered = table.sort_values("mean", kind="stable", ignore_index=True)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(MOST_POINTS, len(ordered))).astype(int))
    shown = ordered.iloc[places]
    figure, (panel,) = new_axes(title, x="test rows, by their predicted mean", y=target)
    wide = 2 * shown["standard_deviation"]
    band(panel, 1, places, shown["mean"] - wide, shown["mean"] + wide, BAND)
    line(panel, 1, places, shown["mean"], "mean", markers=False)
    panel.scatter(places, shown["target"], s=6, color=colour(0), linewidths=0, label="target")
    legend(panel)
    return figure


def along(table: Any, *, target: str, title: str) -> Figure:
    """Returns a figure of the prediction along each input, the others at their medians, with a panel for each of the
    first `MOST_PANELS` inputs."""
    inputs = list(dict.fromkeys(table["input"]))[:MOST_PANELS]
    figure, panels = new_panels(inputs, title, x="", y=target, grid=Grid(3, (2.6, 2.2), (0.6, 1.0)))
    wide = 2 * table["standard_deviation"]
    lowest, highest = (table["mean"] - wide).min(), (table["mean"] + wide).max()
    for name, panel in panels.items():
        panel.set_ylim(lowest, highest)
        rows = table[table["input"] == name]
        wide = 2 * rows["standard_deviation"]
        band(panel, 1, rows["value"], rows["mean"] - wide, rows["mean"] + wide, BAND)
        line(panel, 1, rows["value"], rows["mean"], "mean", markers=False)
    legend_below(figure, "the input; the others are at their medians")
    return figure
