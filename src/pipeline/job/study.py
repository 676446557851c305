"""What recipes share: how a run is named and tagged; and, of all but the PSRNN's, a run opened for its data, closed
with the right status, and looked up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import torch

from models.runtime.collectives import world
from pipeline.compare.arms import GIVEN, given
from pipeline.host.devices import gpu_missing, pick_device, set_threads
from pipeline.host.errors import FinishedBefore
from pipeline.host.process import command_line
from pipeline.job.clock import Clock
from pipeline.job.naming import short_name, words_varied
from pipeline.job.shared import one_at_a_time, shared_stage
from pipeline.settings.job import Job
from pipeline.settings.schema import CommonConfig
from pipeline.tracking.run import LOWERED, Run, where_to_look
from pipeline.tracking.run_request import RunRequest
from pipeline.tracking.session import finished_before, open_run

STAND_IN = "STAND-IN-"  # in front of the name of a run on data that is not real


class Data(Protocol):
    """Holds what a run says of the data it was made from."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def stand_in(self) -> bool: ...
    @property
    def checksum(self) -> Any: ...  # str, but type checkers take no cached property for that


class Study(NamedTuple):
    """Is an open run.

    folder: for checkpoints, kept until the run ends. title: names the run and says whether the data is real. full:
    whether figures and tables are logged beside the metrics.
    """

    run: Run
    folder: Path
    clock: Clock
    title: str
    full: bool = True

    def close(self, words: str, short: str) -> None:
        """Says what came out: `words` in the description and, with all details, on the screen, else `short` there."""
        self.run.describe(f"{self.title}\n\n{words}\n")
        print(f"\n{self.title}\n\n{words}" if self.full else f"{self.title}: {short}")

    def place_of(self, name: str, mark: str, *, version: int) -> AbstractContextManager[Path]:
        """Returns the folder of a stage's result, as `shared_stage` gives it to all runs; a run that is not kept has
        one of its own."""
        if self.run.tracked:
            return shared_stage(name, mark, version=version)
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return nullcontext(folder)


def set_up(settings: CommonConfig, job: Job) -> torch.device:
    """Sets the number of threads and returns the device of the job."""
    set_threads(settings.threads)
    return pick_device(settings.device, job=job.number)


def title_of(name: str, data: Data) -> str:
    """Returns the start of the title of every figure; all figures on stand-in data say so, once. name: of the run."""
    if not data.stand_in:
        return name
    return f"{name} (data not real)" if name.startswith(STAND_IN) else f"{name} · STAND-IN DATA (not real)"


class Named(NamedTuple):
    """Holds what a recipe says of a run: words that its name has between data and seed, and tags beside those of all
    recipes.

    experiment: what the name begins with; "" stands for the choice of +experiment=, without one for the recipe.
    group: of the runs in the store, where `tracking.experiment` does not say it and it is not the experiment.
    passed_over, content: as `RunRequest` has them.
    """

    experiment: str = ""
    group: str = ""
    words: Sequence[str] = ()
    tags: Mapping[str, str] = MappingProxyType({})
    passed_over: tuple[str, ...] = ()
    content: str = ""


def run_request(settings: CommonConfig, job: Job, data: Data, device: torch.device, named: Named) -> RunRequest:
    """Returns what the run of a job is opened with. The run's name is experiment, data, words, seed and the job's
    label; in a multirun it has what the multirun varies too."""
    experiment, group, words, tags, passed_over, content = named
    experiment = experiment or str(job.choices.get("experiment") or settings.recipe)
    own = None if job.multirun else settings.run_name  # in a multirun, run_name is the parent's
    varied = words_varied(job.overrides, settings.tracking.varied, words)
    parts = [
        experiment,
        "" if data.name == experiment else data.name,
        *words,
        *varied,
        f"seed{settings.seed}",
        job.label,
    ]
    name = own or short_name("-".join(part for part in parts if part))
    lowered = job.lowered_but(passed_over)
    common = {
        "experiment": experiment,
        "recipe": settings.recipe,
        "data": data.name,
        "data.source": data.source,
        "data.stand_in": str(data.stand_in).lower(),
        "device": str(device),
        "device.gpu_missing": str(gpu_missing(settings.device)).lower(),
        "processes": str(world()),
        "hydra.overrides": " ".join(job.overrides),
        GIVEN: json.dumps(given(job.overrides)),
        "job": str(job.number),
        **({LOWERED: json.dumps(lowered, ensure_ascii=False)} if lowered else {}),
    }
    name = f"{STAND_IN}{name}" if data.stand_in else name
    where = settings.tracking.experiment or group or experiment
    return RunRequest(asdict(settings), where, name, data.checksum, common | dict(tags), passed_over, content)


@contextmanager
def opened(settings: CommonConfig, job: Job, data: Data, request: RunRequest, clock: Clock) -> Iterator[Study]:
    """Opens the run of the request and logs the seconds of the stages before it. Raises as `open_run` does."""
    with open_run(settings.tracking, request, resume=settings.resume, requeued=job.requeued) as (run, folder):
        title = title_of(run.name, data)
        clock.begin(run, title)
        yield Study(run, folder, clock, title, full=settings.tracking.detail == "full")


@contextmanager
def study(
    settings: CommonConfig, job: Job, data: Data, device: torch.device, clock: Clock, named: Named | None = None
) -> Iterator[Study]:
    """Opens the run of one study. With all details, its end prints what the run was called and where to look.

    Raises FinishedBefore in a multirun where this job has finished, or another that comes to the same, and as
    `open_run` does.
    """
    request = run_request(settings, job, data, device, named or Named())
    parent = settings.tracking.parent
    with one_at_a_time(f"{parent[:8]}{request.mark}") if parent and request.passed_over else nullcontext():
        before = finished_before(settings.tracking, request, resume=settings.resume, requeued=job.requeued)
        if before is not None:
            raise FinishedBefore(said_before(request, str(before.info.run_name)))
        with opened(settings, job, data, request, clock) as begun:
            if not job.multirun:  # as the parent of a multirun has them: what `pipeline.export` makes a page of
                begun.run.tags({"command": command_line(), "jobs": "1", "jobs.failed": "0"})
            yield begun
    if begun.full:
        lowered = job.lowered_but(request.passed_over)
        print(where_to_look(begun.run, begun.title, limited=settings.size.limits, lowered=lowered))


def said_before(request: RunRequest, name: str) -> str:
    """Returns what is printed of a job that need not run."""
    if name == request.name:
        return f"{name} has finished before"
    return f"{request.name} comes to the same as {name}, which has finished; not run again"


def log_metrics(run: Run, metrics: Mapping[str, float]) -> None:
    for name, value in metrics.items():
        run.metric(name, value)
