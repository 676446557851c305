"""Figures of `recipe=patterns`: lengths, masks beside what a word sees on its page, and cost by number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from data.pages import Document
from pipeline.plotting import (
    HEADING,
    MARKER,
    REFERENCE,
    SMALL_SIZE,
    line,
    new_axes,
    new_figure,
    style,
    written_out,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pipeline.systems.patterns.mask import Mask

PANEL, HEAD = 2.4, 0.9  # inches: of a mask's width and height, and of what is above and below all of them
PAGES = 3.2  # of the height of a page
GREYS = ("#ffffff", "#b8b8b8", "#707070", "#000000")  # of neither, values alone, keys alone, both
SHADES = {"black": "#000000", "seen": "#84c8f2", "page": "#b8b8b8"}
CUT = 512  # tokens that models of short texts read


def lengths_figure(lengths: pd.DataFrame, *, title: str) -> Figure:
    """Draws the share of documents with at least so many words, and tokens, a line a set."""
    figure, axes = new_axes(title, x="", y="share of documents\nwith at least so many", rows=2, height=6.0)
    for panel, unit in zip(axes, ("words", "tokens"), strict=True):
        for index, (name, own) in enumerate(lengths.groupby("data", sort=False)):
            values = np.sort(own[unit].to_numpy())
            shares = 1 - np.arange(len(values)) / len(values)
            panel.step(values, shares, where="pre", label=str(name), **style(index, markers=False))
        panel.set_xscale("log")
        panel.axvline(CUT, **REFERENCE)
        panel.set_xlabel(f"{unit} of a document (grey line: {CUT})", fontsize=HEADING)
        panel.legend(fontsize=SMALL_SIZE)
    return figure


def masks_figure(document: Document, masks: Sequence[Mask], word: int, *, title: str) -> Figure:
    """Draws a column a kind of attention: its mask, and the page of `word` with the words that it attends to."""
    figure = new_figure(PANEL * len(masks), HEAD + PANEL + PAGES, title)
    grid = figure.add_gridspec(2, len(masks), height_ratios=(PANEL, PAGES))
    for column, mask in enumerate(masks):
        draw_mask(figure.add_subplot(grid[0, column]), mask, first=column == 0)
        draw_page(figure.add_subplot(grid[1, column]), document, mask, word)
    figure.supxlabel(
        "above: black, a query attends to a token; grey where keys and values differ (dark: its key alone, light: its "
        "value alone)\nbelow: boxes of words; black: one word, blue: the words whose keys it reads, grey: the others",
        fontsize=SMALL_SIZE,
    )
    return figure


def draw_mask(panel: Axes, mask: Mask, *, first: bool) -> None:
    """Fills the panel of a mask, (query, token)."""
    from matplotlib.colors import ListedColormap

    panel.imshow(mask.seen, cmap=ListedColormap(GREYS), vmin=0, vmax=len(GREYS) - 1, interpolation="none")
    panel.set_title(f"{mask.name}\n{mask.keys.mean():.0f} keys a query", fontsize=SMALL_SIZE)
    panel.set_xlabel("token", fontsize=SMALL_SIZE)
    if first:
        panel.set_ylabel("query", fontsize=SMALL_SIZE)
    panel.tick_params(labelsize=SMALL_SIZE)


def draw_page(panel: Axes, document: Document, mask: Mask, word: int) -> None:
    """Fills the panel of the page of a word: the boxes of its words, without their text."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    page, sees = int(document.pages[word]), mask.seen[word + 1, 1:] >= 2
    there = np.flatnonzero((document.pages == page) & ~np.isnan(document.boxes[:, 0]))
    shades = [SHADES["black" if own == word else "seen" if sees[own] else "page"] for own in there]
    shapes = [Rectangle((x0, y0), x1 - x0, y1 - y0) for x0, y0, x1, y1 in document.boxes[there]]
    edges = [SHADES["black"] if sees[own] else "none" for own in there]
    drawn = PatchCollection(shapes, facecolors=shades, edgecolors=edges, linewidths=0.4, rasterized=True)
    panel.add_collection(drawn)
    wide, high = document.sizes[page]
    panel.set(xlim=(0, wide), ylim=(high, 0), aspect="equal", xticks=[], yticks=[])
    seen = int(sees[there].sum())
    panel.set_xlabel(f"page {page + 1}: {seen} of the word's\n{int(sees.sum())} words", fontsize=SMALL_SIZE)


def cost_figure(costs: pd.DataFrame, *, title: str) -> Figure:
    """Draws seconds and saved bytes against tokens on logarithmic axes, a line a kind of attention, with its slope."""
    figure, axes = new_axes(title, x="tokens of a document", y="", rows=2, height=7.5)
    columns = {"seconds": "seconds, forward and backward", "saved_bytes": "kept for the gradient (MiB)"}
    for panel, (column, label) in zip(axes, columns.items(), strict=True):
        for index, (name, own) in enumerate(costs.groupby("attention", sort=False)):
            values = own[column].to_numpy(float) / (2**20 if column == "saved_bytes" else 1)
            line(panel, index, own["tokens"], values, f"{name}{slope_words(own['tokens'], values)}")
        panel.set(xscale="log", yscale="log")
        panel.set_ylabel(label, fontsize=HEADING)
        panel.legend(fontsize=SMALL_SIZE, markerscale=0.8 * MARKER / 4)
        written_out(panel, sorted(costs["tokens"].unique()))
    return figure


def slope_words(tokens: Any, values: np.ndarray) -> str:
    """Returns in words the slope between the two largest numbers of tokens: 1 is linear, 2 quadratic."""
    if len(values) < 2 or min(values[-2:]) <= 0:
        return ""
    last = np.log(np.asarray(tokens, float)[-2:])
    return f" (slope {np.diff(np.log(values[-2:]))[0] / np.diff(last)[0]:.2f})"
