"""Figures over many jobs: one panel a data set, labelled, in the colours of `pipeline.plotting`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.compare.labels import label
from pipeline.plotting import COLOURS, MSE, STYLES, entitle, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = "geometric mean over seeds, 95 % t-interval of the logs"


def panels(data: list[str], title: str, *, x: str) -> tuple[Figure, dict[str, Axes]]:
    """Side by side, two in a row."""
    columns = min(2, len(data))
    rows = -(-len(data) // columns)
    figure = new_figure(1.5 + 3.6 * columns, 0.8 + 3.1 * rows)
    entitle(figure, title)
    figure.supylabel(MSE, fontsize=9)
    figure.supxlabel(f"{x}{'; ' if columns > 1 else chr(10)}{BAND}", fontsize=8)
    axes = {name: figure.add_subplot(rows, columns, i + 1) for i, name in enumerate(data)}
    for name, panel in axes.items():
        panel.set_title(name, fontsize=9)
        panel.set_yscale("log")
        panel.grid(True, color="0.9")
    return figure, axes


def curve(panel: Axes, index: int, rows: pd.DataFrame, x: str, label: str, *, markers: bool) -> None:
    """A line with its interval as a band; missing intervals draw no band."""
    style, marker = STYLES[index % len(STYLES)]
    colour = COLOURS[index % len(COLOURS)]
    low, high = rows["error_low"].fillna(rows["error"]), rows["error_high"].fillna(rows["error"])
    panel.fill_between(rows[x], low, high, color=colour, alpha=0.15, linewidth=0)
    panel.plot(
        rows[x], rows["error"], linestyle=style, marker=marker if markers else None, markersize=4, color=colour,
        label=label, linewidth=1.4,
    )  # fmt: skip


def error_by_count(means: Any, *, title: str) -> Figure:
    """`statistics.geometric_means` against the number of frequencies, a line per arm."""
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    figure, axes = panels(sorted(means["data"].unique()), title, x="frequencies m")
    for name, panel in axes.items():
        here = means[means["data"] == name]
        for i, (arm, rows) in enumerate(here.groupby("arm", sort=True)):
            without = rows[rows["count"] == 0]  # a model that has no frequencies
            for error in without["error"]:
                panel.axhline(
                    error, linestyle=STYLES[i % len(STYLES)][0], color=COLOURS[i % len(COLOURS)], label=label(str(arm))
                )
            if len(rows) > len(without):
                counted = rows[rows["count"] > 0].sort_values("count")
                curve(panel, i, counted, "count", label(str(arm)), markers=True)
        panel.set_xscale("log")
        panel.set_xticks(sorted(set(here["count"]) - {0}) or [1])
        panel.get_xaxis().set_major_formatter(ScalarFormatter())
        panel.get_xaxis().set_minor_formatter(NullFormatter())
        panel.legend(fontsize=8)
    return figure


def error_by_epoch(means: Any, *, title: str) -> Figure:
    """Geometric means per data, arm and epoch, a line per arm."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = panels(sorted(means["data"].unique()), title, x="epoch of refinement (0: before)")
    for name, panel in axes.items():
        here = means[means["data"] == name]
        for i, (arm, rows) in enumerate(here.groupby("arm", sort=True)):
            curve(panel, i, rows.sort_values("epoch"), "epoch", label(str(arm)), markers=False)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.legend(fontsize=8)
    return figure


def contenders(means: Any, *, title: str) -> Figure:
    """A row per arm, the best at the top, with its interval; one panel a data set."""
    data = sorted(means["data"].unique())
    figure, axes = panels(data, title, x=MSE)
    figure.supylabel("")
    for name, panel in axes.items():
        rows = means[means["data"] == name].dropna(subset="error").sort_values("error", ascending=False)
        places = np.arange(len(rows))
        low = (rows["error"] - rows["error_low"]).fillna(0.0).clip(lower=0.0)
        high = (rows["error_high"] - rows["error"]).fillna(0.0).clip(lower=0.0)
        panel.set_yscale("linear")
        panel.set_xscale("log")
        panel.errorbar(rows["error"], places, xerr=[low, high], fmt="o", color="black", markersize=4, capsize=3)
        panel.set_yticks(places, rows["arm"].map(label).tolist(), fontsize=8)
    return figure
