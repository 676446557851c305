"""What becomes of the parent of a multirun when the process ends before its jobs."""

from __future__ import annotations

import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.models import Model
from omegaconf import OmegaConf

from pipeline.host.errors import GOES_ON, PipelineError
from pipeline.host.locks import file_lock
from pipeline.host.process import TRACEBACK
from pipeline.host.signals import ENDING
from pipeline.multirun import callback, parent
from pipeline.multirun.callback import OPEN_PARENTS, parents_closed
from pipeline.multirun.checks import jobs_are_here
from pipeline.tracking import session
from pipeline.tracking.model import logged_model_of
from pipeline.tracking.run import create_run
from pipeline.tracking.session import LOCK, PARENT, checkpoints_of


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
    with pytest.raises(type(end), match=f"{end}.*") as raised, parents_closed():
        raise end
    assert parent.closed == [status]
    assert getattr(raised.value, "__notes__", []) == [GOES_ON] * (status == "KILLED")
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


QUICK = (
    "-m", "data=table", "data.path=waves.csv", "seed=0", "refine=none", "features.count=2", "evaluate.horizons=[1]",
    "evaluate.orders=[]", "tracking.detail=summary",
)  # fmt: skip


def all_runs(client: MlflowClient) -> tuple[Run, dict[str, Run]]:
    """The parent, and its jobs by their id."""
    found = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    (parent,) = [run for run in found if PARENT not in run.data.tags]
    return parent, {run.info.run_id: run for run in found if run is not parent}


@pytest.fixture
def waves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = np.arange(300)
    noise = np.random.default_rng(0).normal(size=300)
    pd.DataFrame({"x": np.sin(0.1 * steps) + 0.1 * noise}).to_csv(tmp_path / "waves.csv", index=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("waves")
def test_the_best_job_has_finished_whatever_ends_the_logging_of_its_model(
    run_pipeline, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoints are gone, so a job that is not FINISHED begins anew. A model that was half logged is none."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Model, "get_serving_input", interrupted)
        assert run_pipeline(*QUICK).status == 130
    _, jobs = all_runs(client)
    assert [job.info.status for job in jobs.values()] == ["FINISHED"]
    assert run_pipeline(*QUICK, "resume=true").status == 0
    parent, after = all_runs(client)
    best = parent.data.tags["best.run"]
    assert {name: job.info.end_time for name, job in after.items()} == {n: j.info.end_time for n, j in jobs.items()}
    model = logged_model_of(client, best)
    assert model is not None
    assert (model.source_run_id, model.tags["mlflow.source.name"]) == (best, "python -m pipeline")
    assert mlflow.pyfunc.load_model(f"runs:/{best}/model").metadata.model_id == model.model_id


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("number", "ending"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_the_first_signal_while_a_multirun_is_closed_lets_it_be_closed(
    number: int, ending: type[BaseException], times: int, client: MlflowClient, monkeypatch, capfd
) -> None:
    """A second one ends it at once, as what was stopped, and not as an error, which Hydra would only warn of."""

    def signalled(*_: Any) -> list[Any]:
        for _each in range(times):
            signal.raise_signal(number)
        return []

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    monkeypatch.setattr(parent, "children_of", signalled)
    monkeypatch.setattr(session, "first_failure", lambda: None)
    opened = callback.ParentRun()
    opened.run = run = create_run(client, client.create_experiment("stopped"), "parent", {})
    opened.compare = SimpleNamespace(figure=None)
    handlers = [signal.getsignal(each) for each in ENDING]
    try:
        with nullcontext() if times == 1 else pytest.raises(ending) as stopped:
            opened.close("FINISHED")
        assert [signal.getsignal(each) for each in ENDING] == handlers
    finally:
        signal.signal(signal.SIGTERM, before)
    assert client.get_run(run.id).info.status == ("FINISHED" if times == 1 else "KILLED")
    assert stopped is None or stopped.value.__notes__ == [GOES_ON]
    assert capfd.readouterr().err == f"{callback.CLOSING}\n"


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
