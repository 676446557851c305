"""How a training goes: its length, its steps, what is taken back, and how often it is measured and kept on disk."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from models.runtime.objective import Objective, RefreshedObjective
from pipeline.host.errors import PipelineError
from pipeline.job.curve import Measures
from pipeline.job.dropout import drops_units
from pipeline.job.schedules import share_of_rate


@dataclass(frozen=True)
class FitSettings:
    """How to train.

    epochs, steps: training ends with whichever comes first. optimizer: see `job.optimisers`. clip: the largest norm
    of a gradient. accept: "no_worse" takes an epoch back whose training error rose or is not finite, "always" only one
    that is not finite. schedule, warmup: see `job.schedules`. accumulate: batches for each step. patience: rows of the
    curve without a better one after which training ends. evaluate_every: steps from one row to the next, None for one
    after each epoch. checkpoint_every: steps from one state on disk to the next, None for one with each row. seed: of
    dropout; None where nothing is dropped. autocast: bfloat16 arithmetic where it is safe, on a GPU alone. title: of
    the bar and of messages; without one there is no bar.
    """

    epochs: int
    optimizer: str
    learning_rate: float
    clip: float = math.inf
    steps: int | None = None
    accept: Literal["no_worse", "always"] = "no_worse"
    schedule: str = "constant"
    warmup: float = 0.0
    weight_decay: float = 0.0
    accumulate: int = 1
    patience: int | None = None
    evaluate_every: int | None = None
    checkpoint_every: int | None = None
    seed: int | None = None
    autocast: bool = False
    title: str = ""


def at_least(least: int) -> Callable[[Any], bool]:
    return lambda value: value is None or value >= least


NEEDED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "epochs": (at_least(0), "at least 0"),
    "steps": (at_least(0), "at least 0"),
    "learning_rate": (lambda rate: 0 < rate < math.inf, "a finite number above 0"),
    "clip": (lambda norm: norm > 0, "a number above 0, infinity for no clipping"),
    "accept": (lambda name: name in ("no_worse", "always"), "no_worse or always"),
    "warmup": (lambda share: 0 <= share <= 1, "a share of the steps, from 0 to 1"),
    "weight_decay": (lambda decay: 0 <= decay < math.inf, "a finite number, at least 0"),
    "accumulate": (at_least(1), "at least 1"),
    "patience": (at_least(1), "at least 1"),
    "evaluate_every": (at_least(1), "at least 1"),
    "checkpoint_every": (at_least(1), "at least 1"),
}  # what each setting has to be, beside None where that is allowed


def check_values(settings: FitSettings) -> None:
    """Raise PipelineError for a value that no training can follow, whatever is trained."""
    for name, (right, needed) in NEEDED.items():
        value = getattr(settings, name)
        if not right(value):
            raise PipelineError(f"training cannot follow {name}={value}; give {needed}")
    share_of_rate(settings.schedule, 0, total=settings.steps, warmup=settings.warmup)


def check_settings(settings: FitSettings, objective: Objective, measures: Measures) -> None:
    """Raise PipelineError for settings that the objective or the machine cannot follow, or no training can."""
    check_values(settings)
    if settings.accept == "no_worse" and not isinstance(objective, RefreshedObjective):
        raise PipelineError("accept=no_worse compares training errors, which this objective does not give; use always")
    if settings.seed is None and drops_units(objective.model):
        raise PipelineError("the model has dropout, so training needs a seed that a resumed run can repeat; give one")
    if settings.autocast and next(objective.model.parameters()).device.type != "cuda":
        raise PipelineError("bfloat16 autocast runs on a GPU alone; train without it")
    if settings.patience is not None and measures.decides is None:
        raise PipelineError("patience waits for a better row, and nothing decides which one is; name what decides")
