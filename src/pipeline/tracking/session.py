"""From settings to a run that is open, and closed with the right status whatever happens in between."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

from models.runtime.collectives import text_of_first_rank, world
from pipeline.compare.arms import MEASURED
from pipeline.compare.comparison import RESUMED
from pipeline.host.errors import GOES_ON, FinishedBefore, PipelineError, Pruned
from pipeline.host.locks import holder_of, opened_locked, sign
from pipeline.host.passwords import masked
from pipeline.host.paths import store_folder
from pipeline.host.signals import by_signal
from pipeline.host.torchrun import first_failure
from pipeline.tracking.failures import forget_failure
from pipeline.tracking.off import Untracked
from pipeline.tracking.origin import git_commit, origin_tags
from pipeline.tracking.registry import DATA, refuse_other_data
from pipeline.tracking.run import Run, create_run
from pipeline.tracking.run_request import RunRequest
from pipeline.tracking.server import say
from pipeline.tracking.store import experiment_id, newest_run, open_store, runs_newest_first

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

PRUNED = "pruned"
PARENT = "mlflow.parentRunId"  # the tag of a job of a multirun
LOCK = "lock"  # in the checkpoints of a run, held as long as it goes on


def checkpoints_of(run_id: str) -> Path:
    """Returns the folder of a run's checkpoints, which is there until the run has finished."""
    return store_folder() / "checkpoints" / run_id


def _terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise SystemExit(128 + number)


def how_it_ended(end: BaseException) -> tuple[str, dict[str, str]]:
    """Returns the status and the tags of a run that this has ended: FAILED where this rank or another one has failed,
    else KILLED."""
    if isinstance(end, Pruned):
        return "KILLED", {PRUNED: str(end)}
    failure = first_failure()
    if failure is None and not isinstance(end, Exception):
        return "KILLED", {}
    return "FAILED", {"error": (failure or str(end))[:5000]}


def close_after_error(run: Run, end: BaseException) -> None:
    """Closes the run; a store that is away becomes a warning, so that it does not hide the error itself.

    A signal that comes meanwhile is left aside: when one of several ranks has failed, torchrun stops the others. A
    signal inside a statement of the store leaves its cursor in the frames of `end`, and with it the store locked, for
    this process, too; they are cleared first.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if by_signal(end):
        traceback.clear_frames(end.__traceback__)
    try:
        status, tags = how_it_ended(end)
        run.finish(status, **tags)
    except (PipelineError, OSError) as lesser:
        say(f"warning: {lesser}")


@contextmanager
def closed_with_status(run: Run) -> Iterator[None]:
    """Closes the run as FINISHED at the end, FAILED after an error, KILLED when pruned and after an interrupt or
    SIGTERM.

    When another rank of the run has failed it is FAILED by that error, however this one came to its end.
    Under submitit SIGTERM is left alone: Slurm gives notice by it before it takes a node away, and requeues only a job
    that has not ended by itself.
    """
    before = signal.getsignal(signal.SIGTERM)
    if "SUBMITIT_EXECUTOR" not in os.environ:
        signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    except BaseException as end:
        close_after_error(run, end)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
    run.finish("FINISHED")


def require_parent(client: MlflowClient, parent: str) -> None:
    """Raises PipelineError when the multirun that a job belongs to is not in the store that the job would write to."""
    from mlflow.exceptions import MlflowException

    try:
        client.get_run(parent)
    except MlflowException as error:
        raise PipelineError(
            f"the multirun {parent} is not in this job's store, {masked(str(client.tracking_uri))}; give the "
            "launcher's workers the same PIPELINE_MLRUNS or MLFLOW_TRACKING_URI"
        ) from error


def begin(client: MlflowClient, tracking: Any, request: RunRequest) -> Run:
    """Begins a new run, under its parent if it has one."""
    tags = {"fingerprint": request.mark, DATA: request.checksum, **origin_tags(), **request.tags}
    if tracking.parent:
        require_parent(client, tracking.parent)
        tags[PARENT] = tracking.parent
    return create_run(client, experiment_id(client, request.experiment), request.name, tags)


def newest_matching_run(client: MlflowClient, tracking: Any, request: RunRequest, status: str) -> MlflowRun | None:
    """Returns the newest run with the fingerprint of `request`, under its parent if it has one, else of no multirun;
    None where there is none. `status` is "=" or "!=" FINISHED."""
    where = experiment_id(client, request.experiment)
    condition = f"tags.fingerprint = '{request.mark}' and attributes.status {status} 'FINISHED'"
    if tracking.parent:
        return newest_run(client, where, f"{condition} and tags.`{PARENT}` = '{tracking.parent}'")
    single = (run for run in runs_newest_first(client, [where], condition) if PARENT not in run.data.tags)
    return next(single, None)


def finished_before(
    tracking: Any, request: RunRequest, *, resume: bool | str, requeued: bool = False
) -> MlflowRun | None:
    """Returns, in a multirun that goes on, the run of a job that has finished already; None when it is to run. Of jobs
    that come to the same (`RunRequest.passed_over`) it is the run of the first.

    Raises FinishedBefore, with the sentence to print, where resume=true asks for a run that has finished.
    """
    if tracking.parent is None:
        if resume is True and not requeued:
            stop_if_finished(tracking, request)
        return None
    if not ((resume or requeued or request.passed_over) and tracking.enabled):
        return None
    return newest_matching_run(open_store(tracking.uri, wait=tracking.wait), tracking, request, "=")


def stop_if_finished(tracking: Any, request: RunRequest) -> None:
    """Raises FinishedBefore, in all ranks, where no unfinished run matches and one that has finished does."""
    found = None
    if tracking.enabled:
        client = open_store(tracking.uri, wait=tracking.wait)
        if newest_matching_run(client, tracking, request, "!=") is None:
            found = newest_matching_run(client, tracking, request, "=")
    said = text_of_first_rank("" if found is None else nothing_left("run", found))
    if said:
        raise FinishedBefore(said)


def nothing_left(what: str, run: MlflowRun) -> str:
    """Returns the sentence for a person who asks to go on with what has finished."""
    return (
        f"resume=true: the {what} {run.info.run_name} ({run.info.run_id}) has finished already, and nothing is left to "
        "do; leave resume out to make it anew"
    )


def begins_anew(what: str, finished: MlflowRun | None) -> str:
    """Returns the sentence of resume=auto where nothing is unfinished. finished: the newest like it, or None."""
    if finished is None:
        return f"resume=auto: no {what} of these settings is there to go on with; a new one begins"
    return (
        f"resume=auto: the {what} {finished.info.run_name} ({finished.info.run_id}) has finished already; a new one "
        "begins (resume=true would leave it at that)"
    )


def unfinished_run(client: MlflowClient, tracking: Any, request: RunRequest) -> Run | None:
    found = newest_matching_run(client, tracking, request, "!=")
    return None if found is None else Run(client, found.info.run_id)


def first_begin(client: MlflowClient, tracking: Any, request: RunRequest) -> Run:
    """Begins the run of a job that was to go on and has none; what `record_failure` left of it goes."""
    if tracking.parent:
        forget_failure(client, experiment_id(client, request.experiment), tracking.parent, request.tags["job"])
    return begin(client, tracking, request)


def lock_in(folder: Path) -> TextIO:
    """Returns the open, locked file of a folder, which is made if need be, and made again where another process that
    ends takes it away. Raises BlockingIOError where another process has the lock."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return opened_locked(folder / LOCK, wait=False)


@contextmanager
def held(what: str, run_id: str) -> Iterator[Path]:
    """Keeps other processes away from the run of that id, and yields its folder of checkpoints, which is made if need
    be. Raises PipelineError when one of them has it, and names that process. what: "run" or "multirun"."""
    folder = checkpoints_of(run_id)
    try:
        lock = lock_in(folder)
    except BlockingIOError:
        raise PipelineError(f"{what} {run_id} still goes on in {holder_of(folder / LOCK)}; wait or stop it") from None
    with lock:
        sign(lock)
        yield folder


@contextmanager
def unkept_when_done(folder: Path) -> Iterator[None]:
    """Deletes the checkpoints of a run that finished, was pruned, or had finished before; any other goes on from
    them."""
    try:
        yield
    except (Pruned, FinishedBefore):
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)


def refuse_if_finished(client: MlflowClient, run: Run) -> None:
    """Raises FinishedBefore for a run that another process has finished since it was looked up. Of several ranks, which
    would wait for this one, it is a PipelineError, which ends all."""
    info = client.get_run(run.id).info
    if info.status == "FINISHED":
        said = f"the run {info.run_name} ({run.id}) has finished in another process meanwhile; nothing is left to do"
        raise FinishedBefore(said) if world() == 1 else PipelineError(said)


def reopen(client: MlflowClient, run: Run, tags: Mapping[str, str] = MappingProxyType({})) -> None:
    """Sets a run that was stopped going again. Its tags say so, and from which commit: it may be another one than that
    which the run began with. tags: those that it lacks where older code began it."""
    client.update_run(run.id, status="RUNNING")
    if "error" in client.get_run(run.id).data.tags:
        client.delete_tag(run.id, "error")
    run.tags({RESUMED: "true", "resumed.git.commit": git_commit(), "pid": str(os.getpid()), **tags})


@contextmanager
def to_be_resumed() -> Iterator[None]:
    """Has Ctrl-C and SIGTERM say that resume=true goes on from here: they leave something to go on with."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        if by_signal(end):
            end.add_note(GOES_ON)
        raise


@contextmanager
def open_run(
    tracking: Any, request: RunRequest, *, resume: bool | str, requeued: bool = False
) -> Iterator[tuple[Run, Path]]:
    """Opens the run and its folder of checkpoints, which is deleted when the run has finished.

    With `resume` it is the unfinished run of the same fingerprint; where there is none it is a new one in a multirun,
    with resume=auto and when Slurm has `requeued` the job. Raises PipelineError for resume=true alone, when there is
    none, when that run is still going on in another process, and when the name to register the model under belongs to
    other data or errors of another kind; FinishedBefore when another process has finished it meanwhile.
    """
    if not tracking.enabled:
        with tempfile.TemporaryDirectory() as folder:
            yield Untracked(request.name), Path(folder)
        return
    client = open_store(tracking.uri, wait=tracking.wait)
    if tracking.register:
        refuse_other_data(client, tracking.register, {DATA: request.checksum, **request.tags})
    run = former = unfinished_run(client, tracking, request) if resume or requeued else None
    if run is None:
        if resume is True and not (tracking.parent or requeued):
            raise PipelineError(
                "resume=true: no unfinished run has these settings and this data; start without resume, or with "
                "resume=auto"
            )
        if resume == "auto" and not (tracking.parent or requeued):
            print(begins_anew("run", newest_matching_run(client, tracking, request, "=")), flush=True)
        run = (first_begin if resume or requeued else begin)(client, tracking, request)
    with to_be_resumed(), held("run", run.id) as folder, unkept_when_done(folder):
        if former is not None:
            refuse_if_finished(client, run)
            reopen(client, run, {key: told for key, told in request.tags.items() if key == MEASURED})
        with closed_with_status(run):
            run.parameters(request.settings)
            yield run, folder
