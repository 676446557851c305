"""Figures over many jobs: one panel a data set, labelled, in the colours of `pipeline.plotting`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.compare.comparison import Comparison
from pipeline.plotting import (
    CAP,
    MARKER,
    REFERENCE,
    SMALL_SIZE,
    Grid,
    colour,
    curve,
    few_ticks,
    legend,
    legend_beside,
    line,
    new_panels,
    style,
    whole_ticks,
    widened,
    written_out,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = "geometric mean over seeds, 95 % t-interval of the logs"


def panels(data: list[str], title: str, *, x: str, y: str) -> tuple[Figure, dict[str, Axes]]:
    """Lays panels out side by side, two in a row."""
    figure, axes = new_panels(
        data, title, x=("; " if len(data) > 1 else "\n").join(filter(None, [x, BAND])), y=y,
        grid=Grid(2, size=(3.6, 3.1), margin=(1.5, 0.8)),
    )  # fmt: skip
    for panel in axes.values():
        panel.set_yscale("log")
    return figure, axes


def error_by_count(means: Any, comparison: Comparison, *, title: str) -> Figure:
    """Draws `statistics.geometric_means` against what is counted, a line per arm."""
    x = f"{comparison.counted_as} m" if comparison.counted_as else ""
    figure, axes = panels(sorted(means["data"].unique()), title, x=x, y=comparison.label)
    for name, panel in axes.items():
        here = means[means["data"] == name]
        for i, (arm, rows) in enumerate(here.groupby("arm", sort=True)):
            without = rows[rows["count"] == 0]  # a model of which nothing is counted
            for error in without["error"]:
                panel.axhline(error, **style(i, markers=False), label=comparison.named(str(arm)))
            if len(rows) > len(without):
                counted = rows[rows["count"] > 0].sort_values("count")
                curve(panel, i, counted, "count", comparison.named(str(arm)), markers=True)
        panel.set_xscale("log")
        written_out(panel, sorted(set(here["count"]) - {0}) or [1])
        legend(panel)
    return figure


def error_by_epoch(means: Any, comparison: Comparison, *, title: str) -> Figure:
    """Draws geometric means per data, arm and epoch, a line per arm."""
    x = f"epoch of {comparison.trained_by} (0: before)"
    figure, axes = panels(sorted(means["data"].unique()), title, x=x, y=comparison.label)
    for name, panel in axes.items():
        here = means[means["data"] == name]
        for i, (arm, rows) in enumerate(here.groupby("arm", sort=True)):
            curve(panel, i, rows.sort_values("epoch"), "epoch", comparison.named(str(arm)), markers=False)
        whole_ticks(panel)
        legend(panel)
    return figure


def contender_figure(means: Any, comparison: Comparison, *, title: str) -> Figure:
    """Draws a row per arm, the best at the top, with its interval; one panel a data set."""
    data = means["data"].unique().tolist()
    figure, axes = panels(data, title, x=comparison.label, y="")
    for name, panel in axes.items():
        here = means[means["data"] == name].dropna(subset="error")
        rows = here.sort_values("error", ascending=comparison.higher_is_better)
        places = np.arange(len(rows))
        low = (rows["error"] - rows["error_low"]).fillna(0.0).clip(lower=0.0)
        high = (rows["error_high"] - rows["error"]).fillna(0.0).clip(lower=0.0)
        panel.set_yscale("linear")
        panel.set_xscale("log")
        panel.errorbar(
            rows["error"], places, xerr=[low, high], fmt="o", color=colour(0), markersize=MARKER, capsize=CAP
        )
        panel.set_yticks(places, rows["arm"].map(comparison.named).tolist(), fontsize=SMALL_SIZE)
        widened(panel, x=rows[["error", "error_low", "error_high"]])
        few_ticks(panel.xaxis)
    return figure


def error_by_seconds(means: Any, comparison: Comparison, *, title: str) -> Figure:
    """Draws a point per row at its seconds of training, numbered by its arm, which the legend names; an arm that was
    trained for several numbers of epochs is a line, and a grey line joins the rows of `front`."""
    data, arms = means["data"].unique().tolist(), sorted(means["arm"].unique())
    several = "epochs" in means and means["epochs"].nunique() > 1
    x = f"seconds of training{' (in brackets: epochs)' * several}"
    figure, axes = panels(data, title, x=x, y=comparison.label)
    for name, panel in axes.items():
        panel.set_xscale("log")
        panel.margins(x=0.2)
        here = means[means["data"] == name].dropna(subset=["error", "seconds"])
        front = here[here["front"]].sort_values("seconds")
        panel.plot(front["seconds"], front["error"], drawstyle="steps-post", label="smallest error so far", **REFERENCE)
        for i, arm in enumerate(arms):
            numbered_points(panel, i, here[here["arm"] == arm], comparison.named(arm))
        widened(panel, x=here["seconds"], y=here[["error", "error_low", "error_high"]])
        few_ticks(panel.xaxis)
        few_ticks(panel.yaxis)
    legend_beside(figure)
    return figure


def numbered_points(panel: Axes, i: int, rows: Any, label: str) -> None:
    """Draws the rows of one arm with its number beside the last of them, and the epochs beside each where there are
    several, by turns above and below."""
    rows = rows.sort_values("seconds")
    low, high = ((rows["error"] - rows[side]).abs().fillna(0.0) for side in ("error_low", "error_high"))
    panel.errorbar(rows["seconds"], rows["error"], yerr=[low, high], fmt="none", ecolor=colour(i), capsize=CAP)
    line(panel, i, rows["seconds"], rows["error"], f"{i + 1}: {label}")
    several = "epochs" in rows and len(rows) > 1
    for place, row in enumerate(rows.itertuples()):
        epochs = f" ({row.epochs})" if several else ""
        number = f"{i + 1}" if place == len(rows) - 1 else ""
        panel.annotate(
            f"{number}{epochs}", (row.seconds, row.error), textcoords="offset points",
            xytext=(4, (3, -10)[place % 2]), fontsize=SMALL_SIZE,
        )  # fmt: skip
