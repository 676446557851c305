"""What every recipe but the PSRNN's shares: a run opened for its data, closed with the right status, and looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple, Protocol

import torch

from pipeline.build import pick_device, set_threads
from pipeline.clock import Clock
from pipeline.config import CommonConfig
from pipeline.job import Job
from pipeline.tracking.model import where_to_look
from pipeline.tracking.run import Run
from pipeline.tracking.session import RunRequest, open_run


class Data(Protocol):
    """What a run says of the data it was made from."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def stand_in(self) -> bool: ...
    @property
    def checksum(self) -> str: ...


class Study(NamedTuple):
    """An open run: title names it and says whether the data is real; folder is for checkpoints, kept until it ends."""

    run: Run
    folder: Path
    clock: Clock
    title: str


def prepare(settings: CommonConfig, job: Job) -> torch.device:
    """Threads set; the device."""
    set_threads(settings.threads)
    return pick_device(settings.device, job=job.number)


def run_request(settings: CommonConfig, job: Job, data: Data, device: torch.device) -> RunRequest:
    experiment = str(job.choices.get("experiment") or settings.recipe)
    own = None if job.multirun else settings.run_name  # in a multirun, run_name is the parent's
    words = [experiment, "" if data.name == experiment else data.name, f"seed{settings.seed}", job.label]
    name = own or "-".join(word for word in words if word)
    tags = {
        "experiment": experiment,
        "recipe": settings.recipe,
        "data": data.name,
        "data.source": data.source,
        "data.stand_in": str(data.stand_in).lower(),
        "device": str(device),
        "hydra.overrides": " ".join(job.overrides),
        "job": str(job.number),
    }
    name = f"STAND-IN-{name}" if data.stand_in else name
    return RunRequest(asdict(settings), settings.tracking.experiment or experiment, name, data.checksum, tags)


@contextmanager
def study(settings: CommonConfig, job: Job, data: Data, device: torch.device, clock: Clock) -> Iterator[Study]:
    """The run of one study; what it was called and where to look is printed at its end. Raises as `open_run`."""
    request = run_request(settings, job, data, device)
    title = f"{request.name} · STAND-IN DATA (not real)" if data.stand_in else request.name
    with open_run(settings.tracking, request, resume=settings.resume, requeued=job.requeued) as (run, folder):
        clock.begin(run, title)
        yield Study(run, folder, clock, title)
    print(where_to_look(run, title, None))


def log_metrics(run: Run, metrics: Mapping[str, float]) -> None:
    for name, value in metrics.items():
        run.metric(name, value)
