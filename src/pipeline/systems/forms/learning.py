"""How the networks of forms learn: one gradient loop, its curve as a table and as a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from models.runtime.objective import Objective
from models.runtime.seeding import generator
from models.runtime.threads import threads_for
from pipeline.job.curve import Decision, EpochRow, Measures, Progress
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from pipeline.job.study import Study
from pipeline.plotting import HEADING, REFERENCE, line, new_axes, whole_ticks
from pipeline.systems.forms.config import FormsFit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLIP = 10.0
MOST_MARKERS = 40


class Lesson(NamedTuple):
    """Holds what is minimised, over how many cases, what each row of the curve measures, which of that decides what is
    kept (the least), and what is learning: detector, or recogniser."""

    objective: Objective
    cases: int
    measure: Callable[[], Mapping[str, float]]
    decides: str
    title: str


def learn(lesson: Lesson, own: FormsFit, here: Study, seed: int) -> Progress:
    """Returns the curve of a training, after which the model is that of its best row. A training that was stopped goes
    on from its checkpoint to the same numbers."""
    title, steps = lesson.title, own.epochs * -(-lesson.cases // own.batch) + 1
    rules = FitSettings(
        own.epochs, "adamw", own.learning_rate, CLIP, steps=steps, accept="always", schedule="one_cycle",
        warmup=own.warmup, weight_decay=own.weight_decay, patience=own.patience, title=title, seed=seed,
    )  # fmt: skip

    def log(row: EpochRow) -> None:
        for name, value in {**row.values, "learning_rate": row.learning_rate}.items():
            here.run.metric(f"{title}/{name}", value, row.step)

    loop = Fit(lesson.objective, rules, generator=generator(seed, f"forms/{title}"), path=here.folder / f"{title}.npz",
               measures=Measures(lesson.measure, log, Decision(lesson.decides)))  # fmt: skip
    with threads_for(lesson.objective.model):
        return loop.run()


def curve_table(progress: Progress) -> pd.DataFrame:
    """Returns a row for each row of a curve."""
    return pd.DataFrame([{"epoch": row.epoch, "step": row.step, **row.values, "learning_rate": row.learning_rate}
                         for row in progress.rows])  # fmt: skip


def log_curve(here: Study, progress: Progress, labels: Mapping[str, str], title: str) -> None:
    """The curve as data and as a figure. labels: what its columns are called there, a panel each."""
    table = curve_table(progress)
    here.run.table(table, f"curves/{title}.csv")
    here.run.figure(curve_figure(table, progress.kept.step, labels, f"{here.title}: {title}"), f"figures/{title}")


def curve_figure(rows: pd.DataFrame, kept: int, labels: Mapping[str, str], title: str) -> Figure:
    """Draws what a training measured against its steps; the kept step is marked."""
    names = [name for name in labels if name in rows]
    x = "step (0: before training)"
    figure, axes = new_axes(title, x=x, y="", rows=len(names), height=1 + 1.7 * len(names))
    for index, (panel, name) in enumerate(zip(axes, names, strict=True)):
        line(panel, index, rows["step"], rows[name], "", markers=len(rows) <= MOST_MARKERS)
        panel.axvline(kept, **REFERENCE)
        panel.set_ylabel(labels[name], fontsize=HEADING)
        whole_ticks(panel)
    return figure
