"""What becomes of the parent of a multirun when the process ends before its jobs."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.host.errors import PipelineError
from pipeline.host.process import TRACEBACK
from pipeline.multirun import callback
from pipeline.multirun.callback import OPEN_PARENTS, parents_closed


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
