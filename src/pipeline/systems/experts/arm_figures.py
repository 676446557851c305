"""The arms of a multirun side by side: nats a token with a dot a job, by epoch of training, and BLEU by task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.compare.statistics import mean_interval
from pipeline.plotting import (
    CAP,
    MARKER,
    MOST_MARKERS,
    SMALL_SIZE,
    Grid,
    colour,
    curve,
    legend,
    line,
    new_axes,
    new_panels,
    whole_ticks,
    written_out,
)
from pipeline.systems.experts.labels import with_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, MARGIN, LINE, HEAD = 4.2, 0.6, 0.24, 1.3  # of a panel, and around it; of an arm and of the rest of the height
NAME = 0.19  # height of a line of a legend, in inches
BANDS = "bands: 95 % t-interval over seeds, from three on; values before training are cut off where they are higher"
BESIDE = 1.02  # of the logarithmic axis, so that bars of arms do not hide each other


def nats_by_arm(jobs: Any, means: Any, *, title: str) -> Figure:
    """Draws nats a token of the test part, a panel per data set with a line per arm, those of least mean at the top.
    Where jobs learned tasks later, the axis says that theirs are of these alone."""
    names = [str(name) for name in means["data"].unique()]
    most = int(means.groupby("data", sort=False).size().max())
    over = " or ".join(sorted({"new tasks" if shots else "tasks" for shots in jobs["shots"]}, reverse=True))
    x = f"test −log p of a target token (nats, mean over {over})\ndots: jobs; bars: mean, 95 % t-interval over seeds"
    figure, axes = new_panels(
        names, title, x=x, y="", grid=Grid(2, (WIDTH, HEAD + LINE * most), (MARGIN, MARGIN), "right")
    )
    for name, panel in axes.items():
        own = means[means["data"] == name].sort_values("test_error", ascending=False)
        for place, arm in enumerate(own["arm"]):
            values = jobs[(jobs["data"] == name) & (jobs["arm"] == arm)]["test_error"].to_numpy(np.float64)
            dots_and_mean(panel, values, place)
        panel.set_yticks(range(len(own)), own["arm"].tolist(), fontsize=SMALL_SIZE)
        panel.margins(y=0.1)
    return figure


def dots_and_mean(panel: Axes, values: np.ndarray, place: int) -> None:
    """Draws jobs as dots, and their mean with its interval, on a line of a panel."""
    panel.plot(values, np.full(len(values), place), "o", color=colour(1), alpha=0.35, markersize=MARKER)
    low, high = mean_interval(values)
    sides = [[values.mean() - low], [high - values.mean()]] if np.isfinite(low) else None
    panel.errorbar([values.mean()], [place], xerr=sides, fmt="D", color=colour(0), markersize=MARKER, capsize=CAP)


def scores_by_task(tasks: Any, *, title: str) -> Figure:
    """Draws BLEU, a panel per data set and task that has one with a line per arm; bars are bootstrap intervals over
    test sentences.

    tasks: as `tables.by_task` gives them.
    """
    several = tasks["data"].nunique() > 1
    panels = {
        f"{data}: {task}" if several else str(task): own
        for (data, task), own in tasks.groupby(["data", "task"], sort=False)
        if own["bleu"].notna().any()
    }
    most = max(own["arm"].nunique() for own in panels.values())
    x = "BLEU, mean over seeds; bars: 95 % over test sentences"
    grid = Grid(2, (WIDTH, HEAD + LINE * most), (MARGIN, MARGIN), titles="right")
    figure, axes = new_panels(list(panels), title, x=x, y="", grid=grid)
    for name, panel in axes.items():
        rows = panels[name].iloc[::-1]
        scores, places = rows["bleu"].to_numpy(np.float64), np.arange(len(rows))
        low, high = (rows[f"bleu_sentences_{end}"].to_numpy(np.float64) for end in ("low", "high"))
        sides = np.nan_to_num(np.abs(np.stack([scores - low, high - scores])))
        panel.errorbar(scores, places, xerr=sides, fmt="D", color=colour(0), markersize=MARKER, capsize=CAP)
        panel.set_yticks(places, rows["arm"].tolist(), fontsize=SMALL_SIZE)
        panel.margins(y=0.1)
    return figure


def nats_by_epoch(curves: Any, *, title: str) -> Figure:
    """Draws nats a token of the validation part against the epoch of training, a panel per data set and task with a
    line per arm; bands are t-intervals over seeds. What is above all values after epoch 0 is cut off: without training
    the nats are several times as many.

    curves: columns data, arm, task, epoch, nll, nll_low and nll_high.
    """
    panels = {with_data(curves, *key): own for key, own in curves.groupby(["data", "task"], sort=False)}
    arms = {str(arm): index for index, arm in enumerate(curves["arm"].unique())}
    columns, height = 3, 1 + NAME * len(arms)  # of panels in a row; of the figure, so that the legend has room
    grid = Grid(columns, size=(3.2, max(2.6, height / -(-len(panels) // columns))), margin=(2.4, 1.2))
    x, y = "epoch (0: before training)", "validation −log p of a target token (nats)"
    figure, axes = new_panels(list(panels), f"{title}; {BANDS}", x=x, y=y, grid=grid)
    for name, panel in axes.items():
        rows = panels[name].rename(columns=lambda column: str(column).replace("nll", "error"))
        for arm, own in rows.groupby("arm", sort=False):
            curve(panel, arms[str(arm)], own, "epoch", str(arm), markers=own["epoch"].nunique() <= MOST_MARKERS)
        cut_above(panel, rows[rows["epoch"] > 0]["error"].max())
        whole_ticks(panel)
    lines = {str(drawn.get_label()): drawn for panel in axes.values() for drawn in panel.get_lines()}
    beside = "outside right center"  # at the top it would lie over a wide title
    figure.legend([lines[arm] for arm in arms], list(arms), loc=beside, fontsize=SMALL_SIZE)
    return figure


def cut_above(panel: Axes, most: float) -> None:
    """Ends the y axis a little above a value, where more is drawn; a missing value leaves it as it is."""
    low, high = panel.get_ylim()
    if most < high:
        panel.set_ylim(low, min(high, most + 0.05 * (most - low)))


def chrf_by_pairs(fewshot: Any, *, title: str) -> Figure:
    """Draws chrF of new tasks against their training pairs, a line per data set and way to learn them; bars are
    t-intervals over seeds, from three on.

    fewshot: as `tables.fewshot_of` gives it.
    """
    x = "training pairs of a new task; bars: 95 % t-interval over seeds"
    figure, (panel,) = new_axes(title, x=x, y="chrF, mean over new tasks and seeds")
    several = fewshot["data"].nunique() > 1
    for index, ((data, arm), own) in enumerate(fewshot.groupby(["data", "arm"], sort=False)):
        rows = own.sort_values("pairs")
        places = rows["pairs"] * BESIDE**index
        line(panel, index, places, rows["new_chrf"], f"{data}: {arm}" if several else str(arm))
        sides = [rows["new_chrf"] - rows["new_chrf_low"], rows["new_chrf_high"] - rows["new_chrf"]]
        panel.errorbar(places, rows["new_chrf"], yerr=sides, fmt="none", ecolor=colour(index), capsize=CAP)
    panel.set_xscale("log")
    panel.set_xlim(fewshot["pairs"].min() / 1.5, fewshot["pairs"].max() * 1.5)
    written_out(panel, sorted(set(fewshot["pairs"])))
    legend(panel, loc="best")
    return figure
