"""What a run of `recipe=psrnn` is called, and where it is kept."""

from __future__ import annotations

from dataclasses import asdict

import torch

from data.base import Dataset
from pipeline.compare.arms import MEASURED, arm_of
from pipeline.job.naming import words_typed
from pipeline.job.study import Named, run_request
from pipeline.settings.job import Job
from pipeline.systems.psrnn.comparison import FORECASTS, FROM
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.load import first_scored
from pipeline.tracking.run_request import RunRequest


def request_of(
    settings: PsrnnConfig, job: Job, dataset: Dataset, device: torch.device, *, psrnn: bool, trained: bool
) -> RunRequest:
    """Returns what a run is asked for and called. Runs of one table are kept together, under the name of the file; jobs
    of a multirun under that of their parent.

    A run by itself is also named after the settings that were typed, so that runs which differ have different names. Of
    a model that is no `psrnn` the section `features` changes nothing, of one that is not `trained` by gradient the
    section `refine`.
    """
    choices = {name: str(value).rpartition("/")[2] for name, value in job.choices.items() if value}
    arm = arm_of(settings.compare.arm, job.choices, asdict(settings), FORECASTS)
    kernel, sampler = (choices.get(name, "") if psrnn else "" for name in ("kernel", "sampler"))
    data = dataset.name if choices.get("data") == "table" else choices.get("data")
    typed = [] if job.multirun else words_typed(job.overrides)
    named = Named(
        experiment=choices.get("experiment") or dataset.name,
        group=choices.get("experiment") or data or "",
        words=[arm, kernel, f"m{settings.features.count}" if psrnn else "", *typed],
        tags={
            "model": choices.get("model", ""),
            "arm": arm,
            "sampler": sampler,
            "kernel": kernel,
            "readout": choices.get("readout", ""),
            MEASURED: f"{FROM} {first_scored(settings)}",
        },
        passed_over=tuple(name for name, read in (("features", psrnn), ("refine", trained)) if not read),
    )
    return run_request(settings, job, dataset, device, named)
