"""Faults: a run ends with the numbers of an undisturbed one, or with a line that says what to do."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

import killing

TINY = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "threads=1", "tracking.detail=summary")
BARE = (*TINY, "tracking.log_model=false")
RECIPE = "pipeline.recipes.psrnn"
# stage → function that the signal comes in, and at which of its calls
PLACES = {
    "features": (f"{RECIPE}:draw_features", 1),
    "two_stage": ("pipeline.stages.two_stage:two_stage_regression", 1),
    "bptt": ("pipeline.fit:Fit._epoch", 2),
    "checkpoint": ("os:fsync", 2),
    "evaluate": ("pipeline.stages.evaluate:horizon_errors", 2),
    "model": ("mlflow.pyfunc:log_model", 1),
}


def all_runs(client: MlflowClient) -> list[Run]:
    return list(client.search_runs([e.experiment_id for e in client.search_experiments()]))


def only_run(client: MlflowClient) -> Run:
    (run,) = all_runs(client)
    return run


def numbers(client: MlflowClient, run: Run) -> dict[str, Any]:
    """Every metric with all its steps, but for the times."""
    return {
        key: sorted((m.step, m.value) for m in client.get_metric_history(run.info.run_id, key))
        for key in run.data.metrics
        if not key.endswith("/seconds")
    }


def surroundings(store: Path) -> dict[str, str]:
    return {"PIPELINE_MLRUNS": str(store), "PIPELINE_DATA_ROOT": str(store.parent / "no-data"), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def undisturbed(template_store: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The numbers of a run in peace."""
    folder = tmp_path_factory.mktemp("undisturbed")
    store = shutil.copytree(template_store, folder / "mlruns")
    assert killing.end_of(BARE, surroundings(store), folder / "log") == 0, (folder / "log").read_text()
    client = MlflowClient(f"sqlite:///{store / 'mlflow.db'}")
    return numbers(client, only_run(client))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("stage", PLACES)
def test_stopped_in_any_stage_and_resumed(
    stage: str, number: signal.Signals, run_pipeline, client, store: Path, undisturbed: dict[str, Any]
) -> None:
    place, calls = PLACES[stage]
    arguments, log = TINY if stage == "model" else BARE, store.parent / "log"
    ended = killing.end_of(arguments, surroundings(store), log, place, number, calls)
    assert ended == (-signal.SIGKILL if number == signal.SIGKILL else 128 + signal.SIGTERM), log.read_text()
    stopped = only_run(client)
    assert stopped.info.status == ("RUNNING" if number == signal.SIGKILL else "KILLED")
    result = run_pipeline(*arguments, "resume=true")
    assert result.status == 0, result.err
    resumed = only_run(client)
    assert (resumed.info.run_id, resumed.info.status) == (stopped.info.run_id, "FINISHED")
    assert numbers(client, resumed) == undisturbed
    assert not (store / "checkpoints" / resumed.info.run_id).exists()
    if stage == "model":
        assert len(mlflow.pyfunc.load_model(f"runs:/{resumed.info.run_id}/model").predict(np.zeros((3, 22)))) == 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_stopped_while_loading_there_is_nothing_to_resume(
    number: signal.Signals, run_pipeline, client, store: Path
) -> None:
    ended = killing.end_of(TINY, surroundings(store), store.parent / "log", f"{RECIPE}:load_stage", number)
    assert ended == (-signal.SIGKILL if number == signal.SIGKILL else 128 + signal.SIGTERM)
    assert all_runs(client) == []
    assert (
        "no unfinished run has these settings and this data; start without" in run_pipeline(*TINY, "resume=true").error
    )
