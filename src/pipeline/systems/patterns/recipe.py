"""`recipe=patterns`: how long documents are, what each kind of attention sees of them, and what it costs."""

from __future__ import annotations

from pipeline.host.torchrun import refuse_several
from pipeline.job.clock import Clock
from pipeline.job.study import set_up, study
from pipeline.settings.job import Job
from pipeline.systems.patterns.config import PatternsConfig
from pipeline.systems.patterns.cost import show_cost
from pipeline.systems.patterns.inputs import load, patterns_of
from pipeline.systems.patterns.lengths import show_lengths
from pipeline.systems.patterns.masks import show_masks

STUDIES = {"lengths": show_lengths, "masks": show_masks, "cost": show_cost}


def show(settings: PatternsConfig, job: Job) -> None:
    """Runs the study that `patterns.show` names. It trains nothing, and computes on a CPU."""
    refuse_several("recipe=patterns")
    device = set_up(settings, job)
    patterns_of(settings)
    clock, chosen = Clock(), settings.patterns.show
    with clock.stage("load"):
        found = load(settings)
    with study(settings, job, found, device, clock) as here, clock.stage(chosen):
        STUDIES[chosen](settings, found, here)
