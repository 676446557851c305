"""The one look of all figures: axes, lines, bands, legends and sizes of letters; colours that colour-blind people and
grey prints tell apart. What a figure shows, with its labels and units, is said where it is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"), ((0, (5, 1)), "v"), ((0, (1, 1)), "x"))
COLOURS = ("#000000", "#173f85", "#b03a32", "#1f8f7d", "#d9962b", "#84c8f2")  # each lighter than the one before
TITLE, HEADING, SMALL_SIZE = 10, 9, 8  # sizes of letters: titles; titles of panels and shared axes; all other words
LINE, MARKER, CAP = 1.4, 4, 3  # of lines, of markers, of the ends of error bars
MOST_MARKERS = 40  # of a line: with more points it has none
REFERENCE: dict[str, Any] = {"color": "0.6", "linewidth": 0.8}  # lines that are no data: a level, a kept epoch
TITLE_LETTERS = 10.5  # an inch of a title holds, whatever letters they are
SAME_LINE = 1e-9  # of its value: what differs by less is one line
NARROW = 30  # times the least value of a logarithmic axis, below which its ticks are a few round numbers
PANELS = 4  # of a figure with one a feature, at most
MSE = "mean squared error (standardised units)"


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Returns an empty figure, its width and height in inches, with a title in as many lines as the width asks for.

    It is built without pyplot, so that nothing global is touched. Matplotlib is imported here first.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    if title:
        figure.suptitle(textwrap.fill(title, max(20, int(TITLE_LETTERS * width))), fontsize=TITLE)
    return figure


def new_axes(title: str, *, x: str, y: str, rows: int = 1, height: float = 4.0) -> tuple[Figure, list[Axes]]:
    """Returns a figure with `rows` panels one above the other, which share the x axis."""
    figure = new_figure(7.0, height, title)
    axes = [figure.add_subplot(rows, 1, i + 1) for i in range(rows)]
    axes[-1].set_xlabel(x)
    for panel in axes:
        panel.set_ylabel(y)
        panel.grid(True, color="0.9")
    return figure, axes


class Grid(NamedTuple):
    """Says where panels stand: up to `columns` in a row.

    size: of a panel, margin: of what is around all panels, both (width, height) in inches. titles: of panels, above the
    middle of their axes, or flush right, which leaves room for longer ones where names stand at the left of the axes.
    """

    columns: int
    size: tuple[float, float]
    margin: tuple[float, float] = (0.0, 0.0)
    titles: Literal["center", "right"] = "center"


def new_panels(names: Sequence[str], title: str, *, x: str, y: str, grid: Grid) -> tuple[Figure, dict[str, Axes]]:
    """Returns a figure with a panel for each name, and one label for all x and all y axes."""
    columns = min(grid.columns, len(names))
    rows = -(-len(names) // columns)
    figure = new_figure(grid.margin[0] + grid.size[0] * columns, grid.margin[1] + grid.size[1] * rows, title)
    if y:
        figure.supylabel(y, fontsize=HEADING)
    figure.supxlabel(x, fontsize=SMALL_SIZE)
    axes = {name: figure.add_subplot(rows, columns, i + 1) for i, name in enumerate(names)}
    for name, panel in axes.items():
        panel.set_title(name, fontsize=HEADING, loc=grid.titles)
        panel.grid(True, color="0.9")
    return figure, axes


def legend(panel: Axes, **place: Any) -> None:
    """Adds a legend to one panel. place: as `Axes.legend` takes it."""
    panel.legend(fontsize=SMALL_SIZE, **place)


def legend_beside(figure: Figure) -> None:
    """Adds one legend at the right for all panels, which have the same lines."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=SMALL_SIZE)


def legend_below(figure: Figure, note: str = "") -> None:
    """Adds one legend under all panels, which have the same lines, so that it hides none of them; the note stands over
    it."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    places = {"loc": "outside lower center", "ncols": len(labels)}
    figure.legend(handles, labels, **places, fontsize=SMALL_SIZE, title=note or None, title_fontsize=SMALL_SIZE)


def colour(index: int) -> str:
    """Returns the colour of the line of that index. After each round the colours are shifted by one, so that a style of
    the round before comes with another colour."""
    return COLOURS[(index + index // len(COLOURS)) % len(COLOURS)]


def style(index: int, *, markers: bool = True, **other: Any) -> dict[str, Any]:
    """Returns how the line of that index is drawn, as `Axes.plot` takes it: each other round of styles has hollow
    markers. other: what is drawn in another way."""
    dashes, marker = STYLES[index % len(STYLES)]
    drawn = {"linestyle": dashes, "linewidth": LINE, "color": colour(index), "markersize": MARKER}
    hollow = {"markerfacecolor": "white"} if index // len(STYLES) % 2 else {}
    return drawn | {"marker": marker if markers else None} | hollow | other


def line(panel: Axes, index: int, x: ArrayLike, y: ArrayLike, label: str, *, markers: bool = True) -> None:
    """Draws a line; a single number, which no line joins to another, has its marker in any case."""
    alone = int(np.isfinite(np.asarray(y, np.float64)).sum()) == 1
    panel.plot(x, y, label=label, **style(index, markers=markers or alone))


def band(panel: Axes, index: int, x: ArrayLike, low: ArrayLike, high: ArrayLike, label: str | None = None) -> None:
    """Draws an interval about the line of that index, in its colour."""
    panel.fill_between(x, low, high, color=colour(index), alpha=0.15, linewidth=0, label=label)


def curve(panel: Axes, index: int, rows: pd.DataFrame, x: str, label: str, *, markers: bool) -> None:
    """Draws a line with its interval as a band; missing intervals draw no band.

    rows: a table with the columns `x`, error, error_low and error_high.
    """
    low, high = (rows[side].fillna(rows["error"]) for side in ("error_low", "error_high"))
    band(panel, index, rows[x], low, high)
    line(panel, index, rows[x], rows["error"], label, markers=markers)


def whole_ticks(panel: Axes) -> None:
    """Puts the ticks of the x axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    panel.xaxis.set_major_locator(MaxNLocator(integer=True))


def written_out(panel: Axes, ticks: Sequence[float]) -> None:
    """Puts the ticks of a logarithmic x axis at these values alone, each written out."""
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    panel.set_xticks(ticks)
    panel.get_xaxis().set_major_formatter(ScalarFormatter())
    panel.get_xaxis().set_minor_formatter(NullFormatter())


def single_value(drawn: Any) -> float | None:
    """Returns the value that all numbers share, at most `SAME_LINE` apart and above 0; None where they differ."""
    values = np.asarray(drawn, dtype=np.float64)
    low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=0.0)
    return float(low) if 0 < low <= high <= low * (1 + SAME_LINE) else None


def widened(panel: Axes, **drawn: Any) -> None:
    """Gives a logarithmic axis, `x` or `y`, limits of its own where what is drawn along it is a single value. By the
    rounding of the transform Matplotlib may find two values, with no room between them. Call it once all is drawn."""
    single = {name: single_value(values) for name, values in drawn.items()}
    alone = {name: value for name, value in single.items() if value is not None}
    for name in alone:  # all of them first: to set the limits of one axis scales the others
        panel.autoscale(enable=False, axis=name)  # pyright: ignore[reportArgumentType]
    panel.set(**{f"{name}lim": (value / 2, value * 2) for name, value in alone.items()})


def few_ticks(axis: Any) -> None:
    """Puts a few round numbers at the ticks of a logarithmic axis over less than `NARROW` times its least value. The
    ticks between powers of ten would run into one another there. Call it once all is drawn."""
    from matplotlib.ticker import MaxNLocator, NullLocator, StrMethodFormatter

    low, high = axis.get_view_interval()
    if high < NARROW * low:
        axis.set_major_locator(MaxNLocator(4))
        axis.set_major_formatter(StrMethodFormatter("{x:.4g}"))
        axis.set_minor_locator(NullLocator())


def save_svg(figure: Figure, path: Path, salt: str) -> None:
    """Writes the figure as SVG. The same figure gives the same file: names inside it are drawn by chance where no salt
    is given."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": salt}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def date_axis(panel: Axes, x: np.ndarray) -> None:
    """Writes the dates of an x axis as short as they can be; any other axis is left alone."""
    from matplotlib.dates import ConciseDateFormatter

    if x.dtype.kind == "M":
        panel.xaxis.set_major_formatter(ConciseDateFormatter(panel.xaxis.get_major_locator()))


def spread(places: np.ndarray, most: int) -> np.ndarray:
    """Returns up to `most` of the places, spread over all."""
    return places[np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).astype(int))]


def varying(drawn: Sequence[np.ndarray]) -> np.ndarray:
    """Returns for each feature, (feature,), whether anything drawn of it differs from the rest of it. drawn: arrays
    (time, feature)."""
    rows = np.concatenate(drawn)
    low, high = np.fmin.reduce(rows), np.fmax.reduce(rows)
    return ~(high - low <= SAME_LINE * np.maximum(np.abs(low), np.abs(high)))


def not_drawn(features: Sequence[str], varies: np.ndarray) -> str:
    """Says which features are constant and not drawn, where anything varies; the text is empty where nothing varies or
    nothing is constant."""
    constant = [features[i] for i in np.flatnonzero(~varies).tolist()] if varies.any() else []
    return textwrap.shorten(f"constant, not drawn: {', '.join(constant)}", 90, placeholder=" …") if constant else ""


def feature_panels(
    features: Sequence[str], units: Sequence[str], varies: np.ndarray, *, title: str, x: str
) -> tuple[Figure, list[tuple[Axes, int]]]:
    """Returns a figure and a panel for each of up to `PANELS` features that vary, with the feature's place among all;
    each panel has the name and unit of its feature. Where no feature varies the panels are those of constant ones."""
    chosen = spread(np.flatnonzero(varies if varies.any() else ~varies), PANELS)
    figure, axes = new_axes(title, x=x, y="", rows=len(chosen), height=1.6 * len(chosen) + 1)
    for panel, i in zip(axes, chosen, strict=True):
        panel.set_ylabel(f"{features[i]}\n({units[i]})" if units[i] else str(features[i]), fontsize=SMALL_SIZE)
    return figure, list(zip(axes, chosen.tolist(), strict=True))


def feature_figure(
    features: Sequence[str],
    units: Sequence[str],
    values: Sequence[np.ndarray],
    draw: Callable[[Axes, int], None],
    *,
    title: str,
    x: tuple[str, np.ndarray],
) -> Figure:
    """Draws a panel for each feature that varies in `values` (time, feature), as `draw` fills it, and one legend below.

    x: the name of the x axis and the times on it.
    """
    name, times = x
    varies = varying(values)
    figure, panels = feature_panels(features, units, varies, title=title, x=name)
    for panel, i in panels:
        draw(panel, i)
        date_axis(panel, times)
    legend_below(figure, not_drawn(features, varies))
    return figure
