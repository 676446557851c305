"""What becomes of the parent of a multirun when the process ends before its jobs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from mlflow import MlflowClient
from omegaconf import OmegaConf

from pipeline.host.errors import PipelineError
from pipeline.host.locks import file_lock
from pipeline.host.process import TRACEBACK
from pipeline.multirun import callback
from pipeline.multirun.callback import OPEN_PARENTS, parents_closed
from pipeline.multirun.checks import jobs_are_here
from pipeline.tracking.run import create_run
from pipeline.tracking.session import LOCK, checkpoints_of


class Parent:
    """Notes what it is closed with."""

    def __init__(self) -> None:
        self.closed: list[str] = []

    def close(self, status: str) -> None:
        self.closed.append(status)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (KeyboardInterrupt(), "KILLED"),
        (SystemExit(143), "KILLED"),  # of SIGTERM
        (SystemExit(1), "FAILED"),  # of a job that failed
        (SystemExit("error: a line"), "FAILED"),
        (RuntimeError("a fault"), "FAILED"),
    ],
)
def test_a_multirun_that_was_stopped_did_not_fail(end: BaseException, status: str) -> None:
    parent: Any = Parent()
    OPEN_PARENTS.append(parent)
    with pytest.raises(type(end), match=f"{end}.*"), parents_closed():
        raise end
    assert parent.closed == [status]
    assert OPEN_PARENTS == []


@pytest.mark.parametrize("status", ["KILLED", "FAILED"])
@pytest.mark.parametrize("jobs_here", [True, False])
def test_jobs_that_could_not_close_themselves_are_closed_where_they_end_with_the_multirun(
    status: str, jobs_here: bool, store: Path, client: MlflowClient
) -> None:
    """One that still goes on holds its lock; one of another machine has no checkpoints in this store's folder."""
    where = client.create_experiment("stopped")
    run = create_run(client, where, "parent", {})
    names = ("ended", "goes on", "elsewhere", "failed")
    jobs = [create_run(client, where, name, {"mlflow.parentRunId": run.id}) for name in names]
    for job in jobs[:2]:
        checkpoints_of(job.id).mkdir(parents=True)
    jobs[3].finish("FAILED")
    parent = callback.ParentRun()
    parent.run, parent.jobs_here = run, jobs_here
    parent.compare = SimpleNamespace(figure=None)
    with file_lock(checkpoints_of(jobs[1].id) / LOCK):
        parent.close(status)
    ended = "KILLED" if jobs_here else "RUNNING"
    found = [client.get_run(job.id).info.status for job in (run, *jobs)]
    assert found == [status, ended, "RUNNING", "RUNNING", "FAILED"]
    assert client.get_run(run.id).data.tags["jobs.stopped"] == str(int(jobs_here))
    assert store in checkpoints_of(jobs[0].id).parents


@pytest.mark.parametrize(("launcher", "here"), [("basic", True), ("joblib", True), ("submitit_local", False)])
def test_where_jobs_run_is_read_from_the_launcher(launcher: str, here: bool) -> None:
    Plugins.instance()  # which register what they are composed of
    chosen = ConfigStore.instance().load(f"hydra/launcher/{launcher}.yaml").node
    assert jobs_are_here(OmegaConf.create({"hydra": {"launcher": chosen}})) is here


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("the store\nis odd"), "RuntimeError (the store: is odd)"),
        (KeyError("gone"), "KeyError ('gone')"),
        (ZeroDivisionError(), "ZeroDivisionError (ZeroDivisionError)"),
    ],
)
def test_no_job_runs_without_the_parent_that_could_not_be_opened(
    error: Exception, said: str, run_pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(parent: Any, config: Any) -> None:  # noqa: ARG001
        raise error

    monkeypatch.setattr(callback.ParentRun, "open", refuse)
    monkeypatch.delenv(TRACEBACK, raising=False)
    result = run_pipeline("-m", "data=swimmer", "size=tiny", "seed=0,1")
    assert (result.status, result.out) == (1, "")
    assert result.error == f"error: the multirun has not begun: {said}; HYDRA_FULL_ERROR=1 shows where"


def test_the_traceback_is_shown_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TRACEBACK, "1")
    assert callback.not_begun(PipelineError("a line")) == "a line"
    assert capsys.readouterr().err.endswith("PipelineError: a line\n")
