"""Figures of recipe=theory: one panel an input, labelled, in the colours of `pipeline.plotting`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.compare.statistics import geometric_means
from pipeline.plotting import REFERENCE, Grid, curve, legend_beside, new_panels, style, written_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS_IN_A_ROW = 3
THIN: dict[str, Any] = {"linewidth": 1.2, "markersize": 3.5}  # steps of six samplers lie close together
TICKS = 7  # size of the letters of values that must stand side by side
INTERVAL_NOTE = "geometric mean over draws, 95 % t-interval of the logs"


def panels(names: list[str], title: str, *, x: str, y: str) -> tuple[Figure, dict[str, Axes]]:
    """Returns a figure with named panels, three in a row, and room for one `legend_beside` at the right."""
    return new_panels(names, title, x=x, y=y, grid=Grid(PANELS_IN_A_ROW, size=(2.4, 2.2), margin=(2.5, 1.3)))


def count_axis(panel: Axes, ticks: list[int]) -> None:
    """Makes the x axis one of powers of two at equal distances, with each of the ticks written out."""
    panel.set_xscale("log", base=2)
    written_out(panel, ticks)


def value_axis(panel: Axes) -> None:
    """Makes the x axis logarithmic, with 1, 2 and 5 of each decade written out; where none of them is in range, what
    lies between is written."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    panel.set_xscale("log")
    panel.get_xaxis().set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.get_xaxis().set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.get_xaxis().set_minor_formatter(NullFormatter())
    panel.tick_params(axis="x", labelsize=TICKS)


def by_count(jobs: Any, order: list[str], *, title: str, y: str) -> Figure:
    """Draws geometric means against m, a panel per inputs with a line per sampler. jobs: as `statistics` reads them."""
    means: Any = geometric_means(jobs)
    figure, axes = panels(list(dict.fromkeys(jobs["data"])), title, x=f"frequencies m; {INTERVAL_NOTE}", y=y)
    for name, panel in axes.items():
        here = means[means["data"] == name]
        for i, arm in enumerate(order):
            curve(panel, i, here[here["arm"] == arm].sort_values("count"), "count", arm, markers=True)
        panel.set_yscale("log")
        count_axis(panel, sorted(set(here["count"])))
    legend_beside(figure)
    return figure


def failures(table: Any, order: list[str], *, title: str, threshold: float) -> Figure:
    """Draws the share of draws with Δ above the threshold against m, a panel per inputs with a line per sampler and its
    Wilson interval."""
    x = "frequencies m; share of draws, 95 % Wilson interval"
    figure, axes = panels(list(dict.fromkeys(table["inputs"])), title, x=x, y=f"P(Δ > {threshold:g})")
    chosen = table[table["threshold"] == threshold]
    for name, panel in axes.items():
        here = chosen[chosen["inputs"] == name]
        for i, arm in enumerate(order):
            rows = here[here["sampler"] == arm].sort_values("count")
            bars = rows.rename(columns={"share": "error", "low": "error_low", "high": "error_high"})
            curve(panel, i, bars, "count", arm, markers=True)
        panel.set_ylim(-0.03, 1.03)
        count_axis(panel, sorted(set(here["count"])))
    legend_beside(figure)
    return figure


def distributions(draws: Any, order: list[str], quantity: str, *, title: str, x: str) -> Figure:
    """Draws the share of draws at or below a value, a panel per inputs with a step line per sampler. quantity: the
    column of the values."""
    figure, axes = panels(list(dict.fromkeys(draws["inputs"])), title, x=x, y="share of draws at or below")
    for name, panel in axes.items():
        here = draws[draws["inputs"] == name]
        for i, arm in enumerate(order):
            values = np.sort(here.loc[here["sampler"] == arm, quantity].to_numpy())
            shares = np.arange(1, len(values) + 1) / len(values)
            places = (i, max(1, len(values) // 4))
            panel.step(values, shares, where="post", label=arm, markevery=places, **style(i, **THIN))
        value_axis(panel)
    legend_beside(figure)
    return figure


def ratio_by_dimension(table: pd.DataFrame, *, title: str, y: str) -> Figure:
    """Draws the ratio of two samplers' Δ against the dimension of Gaussian inputs, a panel per m with a line per
    kernel."""
    x = "dimension n of Gaussian inputs; geometric mean of the ratio over draws, 95 % t-interval of the logs"
    figure, axes = panels([f"m = {m}" for m in sorted(set(table["count"]))], title, x=x, y=y)
    for name, panel in axes.items():
        here: Any = table[table["count"] == int(name.removeprefix("m = "))]
        here = here.rename(columns={"ratio": "error", "ratio_low": "error_low", "ratio_high": "error_high"})
        for i, (kernel, rows) in enumerate(here.groupby("kernel", sort=False)):
            curve(panel, i, rows.sort_values("dimension"), "dimension", str(kernel), markers=True)
        panel.axhline(1.0, **REFERENCE)
        count_axis(panel, sorted(set(here["dimension"])))
    legend_beside(figure)
    return figure
