"""How the networks of forms learn: one gradient loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from models.runtime.objective import Objective
from models.runtime.seeding import generator
from models.runtime.threads import threads_for
from pipeline.job.curve import Decision, Measures, Progress
from pipeline.job.curve_report import log_row
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from pipeline.job.study import Study
from pipeline.systems.forms.config import FormsFit

CLIP = 10.0


class Lesson(NamedTuple):
    """Holds what is minimised, over how many cases, what each row of the curve measures, which of that decides what is
    kept (the least, and of equal ones that of the least training loss), and what is learning: detector, or
    recogniser."""

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
    loop = Fit(lesson.objective, rules, generator=generator(seed, f"forms/{title}"), path=here.folder / f"{title}.npz",
               measures=Measures(lesson.measure, lambda row: log_row(here.run, row, title, by_step=True),
                                 Decision(lesson.decides, ties="train_loss")))  # fmt: skip
    with threads_for(lesson.objective.model):
        return loop.run()
