"""What becomes of the parent of a multirun when the process ends before its jobs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mlflow import MlflowClient

from pipeline.host.errors import PipelineError
from pipeline.host.process import TRACEBACK
from pipeline.multirun import callback
from pipeline.multirun.callback import OPEN_PARENTS, parents_closed
from pipeline.tracking.run import create_run


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


@pytest.mark.parametrize(
    ("status", "on_this_machine", "left"),
    [("KILLED", True, "KILLED"), ("KILLED", False, "RUNNING"), ("FAILED", True, "RUNNING")],
)
def test_jobs_that_could_not_close_themselves_are_closed_where_they_end_with_the_multirun(
    status: str, on_this_machine: bool, left: str, client: MlflowClient
) -> None:
    where = client.create_experiment("stopped")
    run = create_run(client, where, "parent", {})
    jobs = [create_run(client, where, name, {"mlflow.parentRunId": run.id}) for name in ("open", "failed")]
    jobs[1].finish("FAILED")
    parent = callback.ParentRun()
    parent.run, parent.on_this_machine = run, on_this_machine
    parent.compare = SimpleNamespace(figure=None)
    parent.close(status)
    assert [client.get_run(job.id).info.status for job in (run, *jobs)] == [status, left, "FAILED"]
    assert client.get_run(run.id).data.tags["jobs.stopped"] == str(int(left == "KILLED"))


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
