"""Arms of a multirun beside one another: errors with intervals over drawn cases, differences paired by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.compare.bootstrap import interval, paired_arms
from pipeline.compare.markdown import markdown_table
from pipeline.plotting import CAP, MARKER, SMALL_SIZE, Grid, colour, new_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEPT = ("seconds", "parameters")
WIDTH, LINE, HEAD = 4.2, 0.28, 1.3

ErrorsOfRun = Callable[[str], tuple[float, np.ndarray]]  # of a run, over all cases and over drawn ones, (draw,)


def joined(tables: list[Any]) -> Any:
    """Returns tables one below the other."""
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def compared_arms(jobs: Any, names: Mapping[str, str], errors_of: ErrorsOfRun) -> tuple[Any, Any]:
    """Returns a row an arm, and a row a pair of arms, of a set of jobs. names: what tells the set from others; the
    last is the part."""
    whole, drawn = dict[str, float](), dict[str, Any]()
    for arm, own in jobs.groupby("arm", sort=False):
        pairs = [errors_of(str(run)) for run in own["run_id"]]
        whole[str(arm)] = float(np.mean([one for one, _ in pairs]))
        drawn[str(arm)] = np.mean([many for _, many in pairs], axis=0)
    means = means_of(jobs, whole, drawn)
    return with_names(means, names), with_names(paired_arms(whole, drawn), names)


def means_of(jobs: Any, whole: Mapping[str, float], drawn: Mapping[str, Any]) -> pd.DataFrame:
    """Returns a row an arm: its error with an interval over cases, and what its jobs had in common."""
    rows = []
    for arm, error in whole.items():
        own = jobs[jobs["arm"] == arm]
        low, high = interval(drawn[arm])
        row = {"arm": arm, "jobs": len(own), "error": error, "low": low, "high": high}
        rows.append(row | {name: float(own[name].mean()) for name in KEPT})
    return pd.DataFrame(rows)


def with_names(table: Any, names: Mapping[str, str]) -> Any:
    """Returns a table with the names of its set in front."""
    data, *others = names.values()
    panel = f"{data}: {', '.join(others)}".replace("_", " ")
    for place, (name, value) in enumerate({**names, "panel": panel}.items() if len(table) else ()):
        table.insert(place, name, value)
    return table


def in_words(table: Any, names: Sequence[str]) -> list[str]:
    """Returns the rows of each set as Markdown."""
    if not len(table):
        return []
    return [f"{panel}\n\n{markdown_table(own.drop(columns=['panel', *names]), digits=4)}"
            for panel, own in table.groupby("panel", sort=False)]  # fmt: skip


def errors_by_arm(means: Any, *, title: str, x: str) -> Figure:
    """Draws the test error of each arm with its interval over cases, a panel for each set of data and part."""
    panels = list(dict.fromkeys(means["panel"]))
    most = int(means.groupby("panel", sort=False).size().max())
    figure, axes = new_panels(panels, title, x=x, y="", grid=Grid(2, (WIDTH, HEAD + LINE * most), (0.6, 0.6)))
    for name, panel in axes.items():
        own = means[means["panel"] == name].sort_values("error", ascending=False)
        places = range(len(own))
        sides = abs(own[["low", "high"]].to_numpy(float).T - own["error"].to_numpy(float))
        panel.errorbar(own["error"], places, xerr=sides, fmt="D", color=colour(0), markersize=MARKER, capsize=CAP)
        panel.set_yticks(places, own["arm"].tolist(), fontsize=SMALL_SIZE)
        panel.set_ylim(-0.8, len(own) - 0.2)
    return figure
