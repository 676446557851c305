"""The figures of one translator: training by task, shares of experts and adapters by task, embeddings of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.plotting import (
    HEADING,
    MOST_MARKERS,
    REFERENCE,
    SMALL_SIZE,
    Grid,
    legend,
    line,
    new_axes,
    new_panels,
    whole_ticks,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

SHADES = "Greys"
DIVERGING = "cividis"  # blue, grey, yellow; its lightness rises throughout
CELL, BARE_CELL = 0.42, 0.22  # of a heat map, in inches: with its number, without
MOST_WRITTEN = 10  # tasks whose cosines are written
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


def heat_map(panel: Axes, values: np.ndarray, rows: list[str], columns: list[str]) -> None:
    """Fills a panel with shares from 0 to 1, each with its number."""
    panel.imshow(values, cmap=SHADES, vmin=0, vmax=1, aspect="auto")
    named_cells(panel, rows, columns)
    for (i, j), value in np.ndenumerate(values):
        number_in_cell(panel, i, j, value, "white" if value > DARK else "black")


def named_cells(panel: Axes, rows: list[str], columns: list[str]) -> None:
    """Writes the names of rows and columns beside the cells of a panel."""
    panel.grid(visible=False)
    panel.set_xticks(range(len(columns)), columns, fontsize=SMALL_SIZE)
    panel.set_yticks(range(len(rows)), rows, fontsize=SMALL_SIZE)


def number_in_cell(panel: Axes, row: int, column: int, value: float, shade: str) -> None:
    """Writes a number with two decimals into a cell of a panel, .25 for 0.25. What rounds to 0 has no sign."""
    words = f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1)
    panel.text(column, row, words, ha="center", va="center", fontsize=SMALL_SIZE, color=shade)


def cosine_maps(cosines: Mapping[str, pd.DataFrame], *, title: str) -> Figure:
    """Draws the cosines between the embeddings of tasks, a panel for each name. Colours go from blue at −1 by grey at 0
    to yellow at 1, ever lighter, so that a grey print tells them apart too. Up to `MOST_WRITTEN` tasks have numbers in
    their cells.

    cosines: a row and a column a task, without unit.
    """
    most = max(len(own) for own in cosines.values())
    side = (CELL if most <= MOST_WRITTEN else BARE_CELL) * most
    grid = Grid(min(3, len(cosines)), size=(1.2 + side, 1.3 + side), margin=(1.2, 0.6))
    figure, axes = new_panels(list(cosines), title, x="cosine between the embeddings of two tasks", y="", grid=grid)
    images = [cosine_map(panel, cosines[name], written=most <= MOST_WRITTEN) for name, panel in axes.items()]
    bar = figure.colorbar(images[0], ax=list(axes.values()), shrink=0.8)
    bar.ax.tick_params(labelsize=SMALL_SIZE)
    return figure


def cosine_map(panel: Axes, cosines: pd.DataFrame, *, written: bool) -> AxesImage:
    """Fills a panel with the cosines between the embeddings of tasks. written: with numbers in the cells."""
    tasks = [str(name) for name in cosines.columns]
    values = cosines.to_numpy(np.float64)
    image = panel.imshow(values, cmap=DIVERGING, vmin=-1, vmax=1, aspect="equal")
    named_cells(panel, tasks, tasks)
    panel.tick_params(axis="x", rotation=90)
    for (i, j), value in np.ndenumerate(values) if written else ():
        number_in_cell(panel, i, j, value, "white" if value < 0 else "black")
    return image
