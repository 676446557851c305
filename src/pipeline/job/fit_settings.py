"""How a training goes: its length, its steps, what is taken back, and how often it is measured and kept on disk."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from models.runtime.objective import Objective, RefreshedObjective
from pipeline.host.errors import PipelineError
from pipeline.job.curve import Measures
from pipeline.job.dropout import drops_units
from pipeline.job.schedules import share_of_rate
from pipeline.settings.fields import RULE, Rule, rules_of, setting


@dataclass(frozen=True)
class FitSettings:
    """Says how to train.

    epochs, steps: training ends with whichever comes first. optimizer: see `job.optimisers`. clip: the largest norm of
    a gradient, infinity for no clipping. accept: "no_worse" takes an epoch back whose training error rose or is not
    finite, "always" only one that is not finite. schedule, warmup: see `job.schedules`; the warm-up is a share of the
    steps. second_beta: see `job.optimisers`. accumulate: batches for each step. patience: rows of the curve without a
    better one after which training ends. rising: rows behind the start until which the rate only rises; these are
    not counted in patience. evaluate_every: steps from one row to the next, None for one after each epoch.
    checkpoint_every: steps from one state on disk to the next, None for one with each row. seed: of dropout; None where
    nothing is dropped. autocast: bfloat16 arithmetic where it is safe, on a GPU alone. from_start: whether the model
    before training may be kept. title: of the bar and of messages; without one there is no bar.
    """

    epochs: int = field(metadata={RULE: Rule(at_least=0)})
    optimizer: str
    learning_rate: float = field(metadata={RULE: Rule(above=0)})
    clip: float = setting(math.inf, above=0, may_be_infinite=True)
    steps: int | None = setting(None, at_least=0)
    accept: Literal["no_worse", "always"] = setting("no_worse", choices=("no_worse", "always"))
    schedule: str = "constant"
    warmup: float = setting(0.0, at_least=0, at_most=1)
    weight_decay: float = setting(0.0, at_least=0)
    second_beta: float = setting(0.999, at_least=0, below=1)
    accumulate: int = setting(1, at_least=1)
    patience: int | None = setting(None, at_least=1)
    rising: int = setting(0, at_least=0)
    evaluate_every: int | None = setting(None, at_least=1)
    checkpoint_every: int | None = setting(None, at_least=1)
    seed: int | None = None
    autocast: bool = False
    from_start: bool = True
    title: str = ""


def check_values(settings: FitSettings) -> None:
    """Raises PipelineError for a value that no training can follow, whatever is trained."""
    for name, rule in rules_of(FitSettings).items():
        rule.check(f"training: {name}", getattr(settings, name))
    share_of_rate(settings.schedule, 0, total=settings.steps, warmup=settings.warmup)


def check_settings(settings: FitSettings, objective: Objective, measures: Measures) -> None:
    """Raises PipelineError for settings that the objective or the machine cannot follow, or that no training can."""
    check_values(settings)
    if settings.accept == "no_worse" and not isinstance(objective, RefreshedObjective):
        raise PipelineError("accept=no_worse compares training errors, which this objective does not give; use always")
    if settings.seed is None and drops_units(objective.model):
        raise PipelineError(
            "the model draws while training, as dropout does, so training needs a seed that a resumed run can "
            "repeat; give one"
        )
    if settings.autocast and next(objective.model.parameters()).device.type != "cuda":
        raise PipelineError("bfloat16 autocast runs on a GPU alone; train without it")
    if settings.patience is not None and measures.decides is None:
        raise PipelineError("patience waits for a better row, and nothing decides which one is; name what decides")
