"""Figures: labelled, with units, in colours that colour-blind people and grey prints tell apart."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"), ((0, (5, 1)), "v"), ((0, (1, 1)), "x"))
COLOURS = ("#000000", "#173f85", "#b03a32", "#1f8f7d", "#d9962b", "#84c8f2")  # each lighter than the one before
TITLE_LETTERS = 10.5  # an inch of a title of size 10 holds, whatever letters they are
LEVEL = 1e-9  # of its value: what differs by less is one line
MSE = "mean squared error (standardised units)"


def new_figure(width: float, height: float) -> Figure:
    """Empty, in inches; built without pyplot, so that nothing global is touched. Matplotlib is imported here first."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def entitle(figure: Figure, title: str) -> None:
    """A title over the whole figure, in as many lines as its width asks for."""
    figure.suptitle(textwrap.fill(title, max(20, int(TITLE_LETTERS * figure.get_figwidth()))), fontsize=10)


def legend_beside(figure: Figure) -> None:
    """One legend at the right for all panels, which have the same lines."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8)


def legend_below(figure: Figure, note: str = "") -> None:
    """One legend under all panels, which have the same lines, so that it hides none of them; and a note over it."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    places = {"loc": "outside lower center", "ncols": len(labels)}
    figure.legend(handles, labels, **places, fontsize=8, title=note or None, title_fontsize=8)


def new_axes(title: str, *, x: str, y: str, rows: int = 1, height: float = 4.0) -> tuple[Figure, list[Axes]]:
    """A figure with `rows` panels that share the x axis."""
    figure = new_figure(7.0, height)
    axes = [figure.add_subplot(rows, 1, i + 1) for i in range(rows)]
    entitle(figure, title)
    axes[-1].set_xlabel(x)
    for panel in axes:
        panel.set_ylabel(y)
        panel.grid(True, color="0.9")
    return figure, axes


def line(panel: Axes, index: int, x: ArrayLike, y: ArrayLike, label: str, *, markers: bool = True) -> None:
    style, marker = STYLES[index % len(STYLES)]
    colour = COLOURS[index % len(COLOURS)]
    panel.plot(
        x, y, linestyle=style, marker=marker if markers else None, markersize=4, color=colour, label=label,
        linewidth=1.4,
    )  # fmt: skip


def date_axis(panel: Axes, x: np.ndarray) -> None:
    """Dates are written as short as they can be."""
    from matplotlib.dates import ConciseDateFormatter

    if x.dtype.kind == "M":
        panel.xaxis.set_major_formatter(ConciseDateFormatter(panel.xaxis.get_major_locator()))


def spread(places: np.ndarray, most: int) -> np.ndarray:
    """Up to `most` of the places, spread over all."""
    return places[np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).astype(int))]


def varying(drawn: Sequence[np.ndarray]) -> np.ndarray:
    """(feature,): whether anything drawn of it, in arrays (time, feature), differs from the rest of it."""
    rows = np.concatenate(drawn)
    low, high = np.fmin.reduce(rows), np.fmax.reduce(rows)
    return ~(high - low <= LEVEL * np.maximum(np.abs(low), np.abs(high)))


def not_drawn(features: Sequence[str], varies: np.ndarray) -> str:
    """The names of what is constant, where anything varies."""
    constant = [features[i] for i in np.flatnonzero(~varies).tolist()] if varies.any() else []
    return textwrap.shorten(f"constant, not drawn: {', '.join(constant)}", 90, placeholder=" …") if constant else ""


def feature_panels(
    features: Sequence[str], units: Sequence[str], varies: np.ndarray, *, title: str, x: str, most: int = 4
) -> tuple[Figure, list[tuple[Axes, int]]]:
    """A panel for each of up to `most` features that vary, with its name and unit and its place among all; for constant
    ones where none varies."""
    chosen = spread(np.flatnonzero(varies if varies.any() else ~varies), most)
    figure, axes = new_axes(title, x=x, y="", rows=len(chosen), height=1.6 * len(chosen) + 1)
    for panel, i in zip(axes, chosen, strict=True):
        panel.set_ylabel(f"{features[i]}\n({units[i]})" if units[i] else str(features[i]), fontsize=8)
    return figure, list(zip(axes, chosen.tolist(), strict=True))
