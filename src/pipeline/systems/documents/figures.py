"""What was taken for what in a run, and the errors of arms by the length of documents and by what is read of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.plotting import (
    CAP,
    HEADING,
    SMALL_SIZE,
    Grid,
    legend,
    new_figure,
    new_panels,
    style,
    written_out,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, MARGIN = (8.4, 4.2), (0.6, 0.6)  # of a panel, and around all of them, in inches
ROOM, CELL = 2.4, 0.52  # of a table of counts: around it, and of a cell, in inches
MOST_NAMES, LETTERS = 20, 24  # that such a table shows, and of each of them
DARK = 0.62  # share of a row from which a cell has white letters
BESIDE, APART = 16.0, 1.04  # words between two arms, and times so many tokens


def confusion_figure(counts: pd.DataFrame, *, unit: str, title: str) -> Figure:
    """Draws how often each kind or class was taken for which; of more than `MOST_NAMES` the most frequent ones.

    counts: as `scores.confusion_of` gives them. unit: what is counted.
    """
    shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0)
    chosen = counts.sum(axis=1).sort_values(ascending=False, kind="stable").index[:MOST_NAMES]
    names = [name for name in counts.index if name in chosen]
    if len(names) < len(counts):
        title = f"{title}, the {len(names)} most frequent of {len(counts)} names"
    side = ROOM + CELL * len(names)
    figure = new_figure(side, side, title)
    panel = figure.add_subplot()
    draw_counts(panel, counts.loc[names, names], shares.loc[names, names].to_numpy())
    panel.set_xlabel(f"named ({unit}; no number: none)\nshade: share of all {unit} of the row", fontsize=HEADING)
    panel.set_ylabel("true", fontsize=HEADING)
    return figure


def draw_counts(panel: Axes, counts: pd.DataFrame, shares: np.ndarray) -> None:
    """Fills the panel with a cell a count, shaded by its share."""
    panel.imshow(shares, cmap="Greys", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts.to_numpy()):
        letters = {"color": "white" if shares[row, column] > DARK else "black", "fontsize": SMALL_SIZE}
        panel.text(column, row, str(count) if count else "", ha="center", va="center", **letters)
    names = [name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…" for name in map(str, counts.index)]
    words: dict[str, Any] = {"fontsize": SMALL_SIZE, "parse_math": False}
    panel.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor", **words)
    panel.set_yticks(range(len(names)), names, **words)


def errors_over(table: Any, fill: Callable[[Axes, Any], None], *, title: str, x: str) -> Figure:
    """Draws test errors with their intervals over documents and seeds, a panel for each set of data and task, which
    `fill` draws."""
    panels, grid = list(dict.fromkeys(table["panel"])), Grid(2, PANEL, MARGIN)
    figure, axes = new_panels(
        panels, title, x=x, y="test error\nbars: 95 % interval over documents and seeds", grid=grid
    )
    for name, panel in axes.items():
        fill(panel, table[table["panel"] == name])
    return figure


def errors_by_length(lengths: Any, *, title: str) -> Figure:
    """Draws the test error of each arm over documents of at least so many words, with its interval over documents and
    seeds; arms stand a little beside each other.

    lengths: as `multirun.by_length` gives them.
    """
    return errors_over(lengths, draw_lengths, title=title, x="words of a document, at least")


def draw_lengths(panel: Axes, lengths: Any) -> None:
    """Fills the panel of one set of data and task."""
    arms = list(lengths.groupby("arm", sort=False))
    for index, (arm, rows) in enumerate(arms):
        places = rows["least_words"] + BESIDE * (index - (len(arms) - 1) / 2)
        draw_line(panel, index, places, rows, str(arm))
    panel.set_xticks(sorted(set(lengths["least_words"])))
    legend(panel, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def errors_by_most(means: Any, *, title: str) -> Figure:
    """Draws the test error by how many tokens are read at most, a line for arms that differ in these alone, with
    intervals over documents and seeds; lines stand a little beside each other.

    means: as `multirun.by_most` gives them.
    """
    return errors_over(means, draw_most, title=title, x="tokens of a document that are read, at most")


def draw_most(panel: Axes, means: Any) -> None:
    """Fills the panel of one set of data and task."""
    lines = list(means.groupby("line", sort=False))
    panel.set_xscale("log", base=2)
    for index, (name, rows) in enumerate(lines):
        places = rows["most_tokens"] * APART ** (index - (len(lines) - 1) / 2)
        draw_line(panel, index, places, rows, str(name))
    written_out(panel, sorted({int(most) for most in means["most_tokens"]}))
    legend(panel, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def draw_line(panel: Axes, index: int, places: Any, rows: Any, label: str) -> None:
    """Draws errors with their intervals at these places."""
    sides = np.abs(rows[["low", "high"]].to_numpy(float).T - rows["error"].to_numpy(float))
    panel.errorbar(places, rows["error"], yerr=sides, capsize=CAP, label=label, **style(index))
