"""Hydra's callback: the parent of a multirun is opened before the first job and closed after the last.

Hydra makes one in every process, for a single run too, so MLflow and pandas wait until there is a multirun.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, open_dict

from pipeline.host.errors import GOES_ON, FinishedBefore
from pipeline.host.passwords import masked
from pipeline.host.process import TRACEBACK
from pipeline.host.signals import by_signal, first_left_aside
from pipeline.host.torchrun import refuse_several
from pipeline.settings.messages import expected_errors, one_line
from pipeline.systems.registry import prepare_composition, system

if TYPE_CHECKING:
    from pipeline.tracking.run import Run

OPEN_PARENTS: list[ParentRun] = []
CLOSING = "what the jobs found is being written, and then the multirun ends; a second signal ends it at once"


@contextmanager
def parents_closed() -> Iterator[None]:
    """Closes the parents that are still open when the process ends: Hydra skips `on_multirun_end` when a job failed.

    A multirun that was stopped, by Ctrl-C or by a signal such as SIGTERM, is closed as KILLED, as its job is. Any other
    is closed as FAILED.
    """
    status = "FAILED"
    try:
        yield
    except BaseException as end:
        if by_signal(end):
            status = "KILLED"
            if OPEN_PARENTS:
                end.add_note(GOES_ON)
        raise
    finally:
        while OPEN_PARENTS:
            OPEN_PARENTS.pop().close(status)


def arrived() -> ParentRun:
    """Returns the callback in a worker process: sets up what every process needs; the worker has no parent to close."""
    prepare_composition()
    return ParentRun()


def not_begun(error: Exception) -> str:
    """Says in one line what kept a multirun from its first job; prints the traceback before, where
    HYDRA_FULL_ERROR=1."""
    if os.environ.get(TRACEBACK) == "1":
        traceback.print_exception(error)
    if isinstance(error, expected_errors()):
        return one_line(error)
    where = "HYDRA_FULL_ERROR=1 shows where"
    return f"the multirun has not begun: {type(error).__name__} ({one_line(error)}); {where}"


class ParentRun(Callback):
    """Is the Hydra callback that opens and closes the parent of a multirun. The parent's id travels as an override,
    which every launcher passes on.

    Launchers send the callbacks to their workers, pickled, before a job's configuration is composed there: hence
    `__reduce__`, which sets up the worker.
    """

    def __init__(self) -> None:
        self.run: Run | None = None
        self.compare: Any = None
        self.register: str | None = None
        self.jobs_here = False
        self.lock = ExitStack()  # keeps other processes from going on with the parent until it is closed

    def __reduce__(self) -> tuple[Callable[[], ParentRun], tuple[()]]:
        return arrived, ()

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:  # noqa: ARG002
        # Hydra turns exceptions of callbacks into warnings and goes on; here there must be no jobs then
        try:
            refuse_several("a multirun")
            self.open(config)
        except FinishedBefore as end:
            print(end)
            raise SystemExit(0) from end
        except Exception as error:
            raise SystemExit(f"error: {not_begun(error)}") from error

    def open(self, config: DictConfig) -> None:
        """Makes the parent where jobs are tracked, and does nothing where they are not. Raises PipelineError for a
        multirun that could not be compared or registered at its end, FinishedBefore for a resumed one that has
        finished."""
        tracking = config.get("tracking")
        if tracking is None or not tracking.enabled or not system(config.recipe).tracked:
            return
        from pipeline.multirun.checks import check_sweep, jobs_are_here, planned_jobs, shrunk_sweep, varied_keys
        from pipeline.multirun.parent import experiment_name, parent_run
        from pipeline.tracking.run import LOWERED

        self.compare, self.register = config.compare, config.tracking.register
        self.jobs_here = jobs_are_here(config)
        check_sweep(config)
        varied = ",".join(f"'{key}'" for key in varied_keys(config))
        jobs, shrunk = planned_jobs(config), shrunk_sweep(config)
        self.run = parent_run(config, self.lock)
        self.run.tags({"jobs.planned": str(jobs)} if jobs else {})
        self.run.tags({LOWERED: json.dumps(shrunk, ensure_ascii=False)} if shrunk else {})
        with open_dict(config):
            config.hydra.overrides.task.append(f"tracking.parent={self.run.id}")
            quoted = experiment_name(config).replace("'", r"\'")
            config.hydra.overrides.task.append(f"tracking.experiment='{quoted}'")
            config.hydra.overrides.task.append(f"tracking.varied=[{varied}]")
        OPEN_PARENTS.append(self)
        several = f" {jobs} jobs;" if jobs else ""
        print(f"multirun: {self.run.id};{several} what they are made of is composed before the first one starts")

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:  # noqa: ARG002
        """Masks the passwords in the overrides of a job, since Hydra prints the overrides of a job that failed."""
        job_return.overrides = [masked(override) for override in job_return.overrides or []]

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:  # noqa: ARG002
        self.close("FINISHED")

    def close(self, status: str) -> None:
        """Closes the parent with the tables and figures of the jobs that finished. A second call does nothing.

        It takes seconds, so a signal that comes meanwhile is left aside; a second one closes the parent as it is.
        """
        if self.run is None:
            return
        from pipeline.multirun.parent import finish
        from pipeline.tracking.session import to_be_resumed

        run, self.run = self.run, None
        with first_left_aside(CLOSING), self.lock, to_be_resumed():
            finish(run, self.compare, self.register, status, jobs_here=self.jobs_here)
