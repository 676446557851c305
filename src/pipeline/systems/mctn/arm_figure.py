"""The errors of arms side by side: a dot a job, the mean with its interval, and the bar."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.compare.statistics import mean_interval
from pipeline.plotting import CAP, HEADING, MARKER, REFERENCE, SMALL_SIZE, Grid, colour, new_panels
from pipeline.systems.mctn.folds import averaged, unit_of
from pipeline.systems.mctn.labels import named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, MARGIN, LINE, HEAD = 4.2, 0.6, 0.28, 1.3  # of a panel, and around it; of an arm and of the rest of the height
LETTERS = 44  # of a line above a panel
ENDS = 0.8  # arms that there is room for above the first one and below the last


def error_by_arm(jobs: Any, means: Any, *, title: str) -> Figure:
    """Draws test errors, a panel per data set with a line per arm, those of least mean at the top. The interval is over
    seeds, over folds where there are several.

    jobs: as `labels.labelled` gives them. means: as `tables.means_of` does.
    """
    names = [str(name) for name in means["data"].unique()]
    most = int(means.groupby("data", sort=False).size().max())
    x = "test error (mean absolute error of scores, share of wrong classes)\ndots: jobs; bars: mean, 95 % t-interval"
    grid = Grid(2, size=(WIDTH, HEAD + LINE * most), margin=(MARGIN, MARGIN))
    figure, axes = new_panels(names, title, x=x, y="", grid=grid)
    for name, panel in axes.items():
        draw(panel, jobs[jobs["data"] == name], means[means["data"] == name].sort_values("error", ascending=False))
    return figure


def draw(panel: Axes, jobs: Any, means: Any) -> None:
    """Fills the panel of one data set with the dots of jobs, the mean of each arm with its interval, and the line of
    the bar."""
    arms, unit = means.loc[~means["bar"], "arm"].tolist(), unit_of(jobs)
    taught = set(means.loc[means["contaminated"], "arm"])
    for place, arm in enumerate(arms):
        own = jobs[(jobs["arm"] == arm) & np.isfinite(jobs["test_error"])]
        dots, errors = own["test_error"].to_numpy(), averaged(own["test_error"], own, unit)
        panel.plot(dots, np.full(len(dots), place), "o", color=colour(1), alpha=0.35, markersize=MARKER)
        low, high = mean_interval(errors, unit.shared)
        sides = [[errors.mean() - low], [high - errors.mean()]] if len(errors) and np.isfinite(low) else None
        panel.errorbar([errors.mean()], [place], xerr=sides, fmt="D", color=colour(0), markersize=MARKER, capsize=CAP)
    for bar in means[means["bar"]].to_dict("records"):
        panel.axvline(bar["error"], **REFERENCE)
        called = named(bar["arm"], bar["data"], stand_in=bar["stand_in"])
        line = textwrap.fill(f"line: {called}, the bar", LETTERS)
        panel.set_title(f"{panel.get_title()}\n{line}", fontsize=HEADING)
    shown = [f"{arm}\n(trained on labels)" if arm in taught else arm for arm in arms]
    panel.set_yticks(range(len(arms)), shown, fontsize=SMALL_SIZE)
    panel.set_ylim(-ENDS, len(arms) - 1 + ENDS)
