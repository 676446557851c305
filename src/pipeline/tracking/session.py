"""From settings to a run that is open, and closed with the right status whatever happens in between."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from mlflow.tracking import MlflowClient

from pipeline.errors import PipelineError
from pipeline.paths import checkout, store_folder
from pipeline.tracking.off import Untracked
from pipeline.tracking.run import Run, create_run, unfinished_run
from pipeline.tracking.store import experiment_id, file_lock, open_store

NOT_IN_FINGERPRINT = ("resume", "run_name", "tracking", "compare")


@dataclass(frozen=True)
class RunRequest:
    """What a run is opened with. settings: the resolved configuration; tags: beside those that every run has."""

    settings: Mapping[str, Any]
    experiment: str
    name: str
    checksum: str
    tags: Mapping[str, str]


def fingerprint(settings: Mapping[str, Any], checksum: str) -> str:
    """SHA-256 of configuration (but resume, run name, tracking) and data: equal means equal results."""
    kept = {key: value for key, value in settings.items() if key not in NOT_IN_FINGERPRINT}
    return hashlib.sha256(json.dumps([kept, checksum], sort_keys=True, default=str).encode()).hexdigest()


def git_commit() -> str:
    """The checkout's commit, with "-dirty" when files differ from it; "unknown" without git.

    Without a checkout it is what PIPELINE_COMMIT says, as in a container.
    """
    root = checkout()
    if root is None:
        return os.environ.get("PIPELINE_COMMIT") or "unknown"
    if shutil.which("git") is None:
        return "unknown"

    def git(*arguments: str) -> str:
        result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
        return result.stdout.strip()

    commit = git("rev-parse", "HEAD") or "unknown"
    return f"{commit}-dirty" if git("status", "--porcelain", "--untracked-files=no") else commit


def user_name() -> str:
    """The login name; in a container a user id may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def origin_tags() -> dict[str, str]:
    """Who started the run from which code: the columns "created by" and "source" of the UI."""
    commit = git_commit()
    return {
        "git.commit": commit,
        "mlflow.user": user_name(),
        "mlflow.source.name": "python -m pipeline",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": commit,
    }


def _terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise SystemExit(128 + number)


@contextmanager
def closed_with_status(run: Run) -> Iterator[None]:
    """FINISHED at the end, FAILED after an error, KILLED after an interrupt or SIGTERM."""
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    except Exception as error:
        run.tags({"error": str(error)[:5000]})
        run.finish("FAILED")
        raise
    except BaseException:
        run.finish("KILLED")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
    run.finish("FINISHED")


def begin(client: MlflowClient, tracking: Any, request: RunRequest) -> Run:
    """A new run, under its parent if it has one."""
    mark = fingerprint(request.settings, request.checksum)
    tags = {"fingerprint": mark, "data.checksum": request.checksum, **origin_tags(), **request.tags}
    if tracking.parent:
        tags["mlflow.parentRunId"] = tracking.parent
    return create_run(client, experiment_id(client, request.experiment), request.name, tags)


def matching_runs(client: MlflowClient, request: RunRequest, parent: str, status: str) -> list[Any]:
    """Jobs of a multirun with the fingerprint of `request`, the newest first; `status` is "=" or "!=" FINISHED."""
    mark = fingerprint(request.settings, request.checksum)
    return client.search_runs(
        [experiment_id(client, request.experiment)],
        filter_string=f"tags.fingerprint = '{mark}' and tags.`mlflow.parentRunId` = '{parent}' "
        f"and attributes.status {status} 'FINISHED'",
        order_by=["attributes.start_time DESC"],
        max_results=1,
    )


def finished_before(tracking: Any, request: RunRequest, *, resume: bool) -> float | None:
    """In a multirun that goes on: the validation error of a job that has finished already; None when it is to run."""
    if not (resume and tracking.enabled and tracking.parent):
        return None
    found = matching_runs(open_store(tracking.uri), request, tracking.parent, "=")
    return float(found[0].data.tags["validation_mse"]) if found else None


def continued_or_new(client: MlflowClient, tracking: Any, request: RunRequest) -> Run:
    """With `resume`: the unfinished run; in a multirun a job that was never begun begins now."""
    if not tracking.parent:
        return find_unfinished(client, request)
    found = matching_runs(client, request, tracking.parent, "!=")
    return Run(client, found[0].info.run_id) if found else begin(client, tracking, request)


def find_unfinished(client: MlflowClient, request: RunRequest) -> Run:
    """The unfinished run of the same fingerprint. Raises PipelineError when there is none."""
    mark = fingerprint(request.settings, request.checksum)
    return Run(client, unfinished_run(client, experiment_id(client, request.experiment), mark))


@contextmanager
def held(run: Run, folder: Path) -> Iterator[None]:
    """Keep other processes away from the run. Raises PipelineError when one of them has it."""
    try:
        with file_lock(folder / "lock", wait=False):
            yield
    except BlockingIOError as error:
        raise PipelineError(f"resume=true: run {run.id} still goes on in another process; wait or stop it") from error


@contextmanager
def open_run(tracking: Any, request: RunRequest, *, resume: bool) -> Iterator[tuple[Run, Path]]:
    """The run and its folder of checkpoints, which is deleted when the run has finished.

    With `resume` it is the unfinished run of the same fingerprint (in a multirun: or a new one). Raises PipelineError
    when there is none, and when that run is still going on in another process.
    """
    if not tracking.enabled:
        with tempfile.TemporaryDirectory() as folder:
            yield Untracked(), Path(folder)
        return
    client = open_store(tracking.uri)
    run = continued_or_new(client, tracking, request) if resume else begin(client, tracking, request)
    folder = store_folder() / "checkpoints" / run.id
    folder.mkdir(parents=True, exist_ok=True)
    with held(run, folder):
        if resume:
            client.update_run(run.id, status="RUNNING")
            run.tags({"resumed": "true", "pid": str(os.getpid())})
        with closed_with_status(run):
            run.parameters(request.settings)
            yield run, folder
    shutil.rmtree(folder)
