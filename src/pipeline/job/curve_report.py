"""The curve of a training, by its epochs or its steps: as metrics, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from pipeline.job.curve import EpochRow, Progress
from pipeline.job.study import Study
from pipeline.plotting import HEADING, MOST_MARKERS, REFERENCE, legend, line, new_axes, whole_ticks
from pipeline.tracking.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def log_row(run: Run, row: EpochRow, stage: str, *, by_step: bool = False) -> None:
    """Logs the values and the learning rate of a row as metrics whose names begin with the stage: by its step, or by
    its epoch and then with whether this was accepted, 1 or 0."""
    accepted = {} if by_step else {"accepted": float(row.accepted)}
    for name, value in {**row.values, "learning_rate": row.learning_rate, **accepted}.items():
        run.metric(f"{stage}/{name}", value, row.step if by_step else row.epoch)


def epoch_table(progress: Progress) -> pd.DataFrame:
    """Returns a row for each epoch of a curve, with whether it was accepted."""
    return pd.DataFrame([{"epoch": row.epoch, **row.values, "learning_rate": row.learning_rate,
                          "accepted": row.accepted} for row in progress.rows])  # fmt: skip


def curve_table(progress: Progress) -> pd.DataFrame:
    """Returns a row for each row of a curve, with its step."""
    return pd.DataFrame([{"epoch": row.epoch, "step": row.step, **row.values, "learning_rate": row.learning_rate}
                         for row in progress.rows])  # fmt: skip


def log_curve(here: Study, progress: Progress, labels: Mapping[str, str], title: str) -> None:
    """Logs the curve as data and as a figure. labels: what its columns are called in the figure, which has a panel for
    each."""
    table = curve_table(progress)
    here.run.table(table, f"curves/{title}.csv")
    here.run.figure(curve_figure(table, progress.kept.step, labels, f"{here.title}: {title}"), f"figures/{title}")


def curve_figure(rows: pd.DataFrame, kept: int, labels: Mapping[str, str], title: str) -> Figure:
    """Draws what a training measured against its steps; the kept step is marked."""
    names = [name for name in labels if name in rows]
    x = "step (0: before training)"
    figure, axes = new_axes(title, x=x, y="", rows=len(names), height=1 + 2 * len(names))
    for index, (panel, name) in enumerate(zip(axes, names, strict=True)):
        if index:
            panel.sharex(axes[0])
        line(panel, index, rows["step"], rows[name], "", markers=len(rows) <= MOST_MARKERS)
        panel.axvline(kept, label="kept", **REFERENCE)
        panel.set_ylabel(labels[name], fontsize=HEADING)
        whole_ticks(panel)
    legend(axes[0])
    return figure
