"""The figures of one translator: training by task, shares of experts and adapters by task, embeddings of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.plotting import (
    HEADING,
    REFERENCE,
    SMALL_SIZE,
    Grid,
    legend,
    line,
    new_axes,
    new_figure,
    new_panels,
    whole_ticks,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MARKERS = 40  # of a line
SHADES = "Greys"
CELL = 0.42  # of a heat map, in inches
DARK = 0.6  # share of the darkest shade from which numbers in a cell are white


def learning(curve: pd.DataFrame, kept: int, *, title: str) -> Figure:
    """Draws training loss and validation nats against the epoch, then those of each task, and BLEU of each task where
    it was measured; the kept epoch is marked."""
    tasks = [name.removeprefix("nll_") for name in curve if str(name).startswith("nll_")]
    nats = [f"nll_{task}" for task in tasks]
    panels = {"train": ("training loss\n(smoothed)", ["train"])} if "train" in curve else {}  # no epoch, or none taken
    panels["nll"] = ("validation\n(nats a token)", nats)
    scores = [f"bleu_{task}" for task in tasks]
    if any(name in curve for name in scores):
        panels["bleu"] = ("validation BLEU\n(greedy)", scores)
    figure, axes = new_axes(title, x="epoch (0: before training)", y="", rows=len(panels), height=1 + 2 * len(panels))
    for panel, (label, names) in zip(axes, panels.values(), strict=True):
        for index, name in enumerate(names):
            if name in curve:
                words = name.partition("_")[2]
                line(panel, index, curve["epoch"], curve[name], words, markers=len(curve) <= MOST_MARKERS)
        panel.axvline(kept, **REFERENCE)
        panel.set_ylabel(label, fontsize=HEADING)
        whole_ticks(panel)
    if len(tasks) > 1:
        legend(axes[list(panels).index("nll")], ncols=min(4, len(tasks)))
    return figure


def share_maps(shares: Any, *, title: str, what: str) -> Figure:
    """Draws for each layer which share of a task's tokens each expert, or adapter, has.

    shares: columns layer, task, expert, share.
    """
    layers, tasks = [str(name) for name in shares["layer"].unique()], list(shares["task"].unique())
    experts = int(shares["expert"].max()) + 1
    grid = Grid(2, size=(1.6 + CELL * experts, 1.0 + CELL * len(tasks)), margin=(0.4, 0.4))
    figure, axes = new_panels(layers, title, x=f"{what} (share of the tokens of a task)", y="", grid=grid)
    for layer, panel in axes.items():
        own = shares[shares["layer"] == layer]
        table = own.pivot_table(index="task", columns="expert", values="share", sort=False)
        names = [str(name) for name in range(1, table.shape[1] + 1)]
        heat_map(panel, table.loc[tasks].to_numpy(), tasks, names)
    return figure


def heat_map(panel: Axes, values: np.ndarray, rows: list[str], columns: list[str], *, low: float = 0.0) -> None:
    """Fills a panel with shares from `low` to 1, each with its number."""
    panel.imshow(values, cmap=SHADES, vmin=low, vmax=1, aspect="auto")
    panel.grid(visible=False)
    panel.set_xticks(range(len(columns)), columns, fontsize=SMALL_SIZE)
    panel.set_yticks(range(len(rows)), rows, fontsize=SMALL_SIZE)
    for (i, j), value in np.ndenumerate(values):
        colour = "white" if (value - low) / (1 - low) > DARK else "black"
        panel.text(j, i, f"{value:.2f}".removeprefix("0"), ha="center", va="center", fontsize=SMALL_SIZE, color=colour)


def embeddings(cosines: np.ndarray, tasks: list[str], *, title: str) -> Figure:
    """Draws the cosines between the embeddings of tasks."""
    side = 2.0 + CELL * len(tasks)
    figure = new_figure(side, side, title)
    panel = figure.add_subplot()
    heat_map(panel, cosines, tasks, tasks, low=-1.0)
    panel.tick_params(axis="x", rotation=90)
    panel.set_xlabel("cosine between embeddings of tasks", fontsize=SMALL_SIZE)
    return figure
