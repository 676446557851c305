"""Figures: labelled, with units, in colours that colour-blind people and grey prints tell apart."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pipeline.fit import EpochRow

if TYPE_CHECKING:
    import pandas as pd
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


def learning_curve(rows: Sequence[EpochRow], best_epoch: int, *, title: str) -> Figure:
    """Training, validation and test error per epoch; the epoch that is kept is marked."""
    from matplotlib.ticker import MaxNLocator

    figure, (panel,) = new_axes(title, x="epoch (0: after initialisation)", y=MSE)
    epochs = [row.epoch for row in rows]
    for i, name in enumerate(("train", "validation", "test")):
        line(panel, i, epochs, [getattr(row, f"{name}_mse") for row in rows], name)
    panel.axvline(best_epoch, color="0.6", linewidth=0.8)
    panel.annotate(
        "kept",
        (best_epoch, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-3, -10),
        textcoords="offset points",
        fontsize=8,
        ha="right",
    )
    panel.set_yscale("log")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.legend()
    return figure


def horizon_curve(errors: pd.DataFrame, *, title: str) -> Figure:
    """Error against forecast horizon; `errors` has one row per horizon and one column per model."""
    figure, (panel,) = new_axes(title, x="forecast horizon (steps)", y=MSE)
    for i, (name, values) in enumerate(errors.items()):
        line(panel, i, list(errors.index), values.tolist(), str(name))
    panel.set_yscale("log")
    panel.set_xticks(list(errors.index), [str(h) for h in errors.index])
    panel.legend()
    return figure


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


Steps = tuple[str, np.ndarray] | None  # name and values of the times of a sequence's rows; None counts them


def prediction(
    truth: np.ndarray,
    predicted: np.ndarray,
    features: Sequence[str],
    units: Sequence[str],
    *,
    title: str,
    steps: Steps = None,
) -> Figure:
    """One test sequence, observed and predicted, (time, feature) each."""
    name, x = steps or ("time step", np.arange(len(truth)))
    varies = varying([truth, predicted])
    figure, panels = feature_panels(features, units, varies, title=title, x=name)
    for panel, i in panels:
        line(panel, 0, x, truth[:, i], "observed", markers=False)
        line(panel, 1, x, predicted[:, i], "predicted one step ahead", markers=False)
        date_axis(panel, x)
    legend_below(figure, not_drawn(features, varies))
    return figure


def forecast(
    truth: np.ndarray,
    ahead: np.ndarray,
    radii: np.ndarray,
    features: Sequence[str],
    units: Sequence[str],
    *,
    title: str,
    steps: Steps = None,
) -> Figure:
    """The end of a sequence (time, feature) and its forecast from before it (step, feature), with forecast ± radii."""
    name, x = steps or ("time step", np.arange(len(truth)))
    origin, shown = len(truth) - len(ahead), slice(max(0, len(truth) - 4 * len(ahead)), None)
    varies = varying([truth[shown], ahead - radii, ahead + radii])
    figure, panels = feature_panels(features, units, varies, title=title, x=name)
    for panel, i in panels:
        band = ahead[:, i] - radii[:, i], ahead[:, i] + radii[:, i]
        panel.fill_between(x[origin:], *band, color=COLOURS[1], alpha=0.2, linewidth=0, label="interval")
        line(panel, 0, x[shown], truth[shown, i], "observed", markers=False)
        line(panel, 1, x[origin:], ahead[:, i], "forecast", markers=False)
        date_axis(panel, x)
    legend_below(figure, not_drawn(features, varies))
    return figure


def radii_against_law(radii: Mapping[str, np.ndarray], laws: Mapping[str, np.ndarray], *, title: str) -> Figure:
    """Sorted radii of the frequencies (bandwidth 1) against the quantiles of their law; the diagonal is agreement."""
    figure, (panel,) = new_axes(
        title, x="quantile of the kernel's radial law (bandwidth 1)", y="drawn radius (bandwidth 1)"
    )
    for i, name in enumerate(radii):
        panel.plot(
            laws[name],
            np.sort(radii[name]),
            linestyle="",
            marker=STYLES[i][1],
            markersize=4,
            color=COLOURS[i],
            label=name,
        )
    low, high = panel.get_xlim()
    panel.plot([low, high], [low, high], color="0.6", linewidth=0.8, label="agreement")
    panel.legend()
    return figure
