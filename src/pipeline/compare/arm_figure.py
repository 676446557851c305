"""Errors of the arms of a multirun side by side, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.plotting import CAP, MARKER, SMALL_SIZE, Grid, colour, new_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, MARGIN, LINE, HEAD = 4.2, 0.6, 0.28, 1.3  # of a panel, and around it; of an arm and of the rest of the height


def errors_by_arm(means: Any, *, title: str, x: str) -> Figure:
    """Draws the error of each arm with its interval, a panel for each set of data and a line for each arm, those of
    least error at the top.

    means: a row an arm, with the columns panel, arm, error, low and high. x: what the error is, and over what the
    interval.
    """
    panels = list(dict.fromkeys(means["panel"]))
    most = int(means.groupby("panel", sort=False).size().max())
    grid = Grid(2, (WIDTH, HEAD + LINE * most), (MARGIN, MARGIN), titles="right")
    figure, axes = new_panels(panels, title, x=x, y="", grid=grid)
    for name, panel in axes.items():
        own = means[means["panel"] == name].sort_values("error", ascending=False)
        sides = np.abs(own[["low", "high"]].to_numpy(float).T - own["error"].to_numpy(float))
        panel.errorbar(
            own["error"], range(len(own)), xerr=sides, fmt="D", color=colour(0), markersize=MARKER, capsize=CAP
        )
        panel.set_yticks(range(len(own)), own["arm"].tolist(), fontsize=SMALL_SIZE)
        panel.set_ylim(-0.8, len(own) - 0.2)
    return figure
