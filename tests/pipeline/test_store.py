"""The store: made once, however many processes ask for it first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from pipeline.tracking.run import create_run
from pipeline.tracking.store import experiment_id

CODE = """
from pipeline.tracking.run import create_run
from pipeline.tracking.store import experiment_id, open_store
client = open_store(None)
run = create_run(client, experiment_id(client, "shared"), "job", {})
for step in range(50):
    run.metric("x", step, step)
run.finish("FINISHED")
"""


def test_processes_that_start_together_on_a_new_store_lose_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "PIPELINE_MLRUNS": str(tmp_path / "mlruns")}
    environment.pop("MLFLOW_TRACKING_URI", None)
    jobs = [
        subprocess.Popen([sys.executable, "-c", CODE], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    ended = [(job.communicate(timeout=300)[1], job.returncode) for job in jobs]
    assert [code for _, code in ended] == [0, 0, 0], ended
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("shared")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert [run.info.status for run in runs] == ["FINISHED"] * 3
    for run in runs:
        assert sorted(m.step for m in client.get_metric_history(run.info.run_id, "x")) == list(range(50))


def test_a_data_set_that_another_job_writes_at_the_same_time(client: MlflowClient, monkeypatch) -> None:
    run = create_run(client, experiment_id(client, "counted"), "one", {})
    log_inputs, calls = run.client.log_inputs, []

    def collide(*arguments) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            raise MlflowException("UNIQUE constraint failed: datasets.experiment_id, datasets.name, datasets.digest")
        log_inputs(*arguments)

    monkeypatch.setattr(run.client, "log_inputs", collide)
    frame = pd.DataFrame({"x": [1.0]})
    run.dataset(frame, name="walks", source="here", digest="d" * 64, context="training")
    (found,) = client.get_run(run.id).inputs.dataset_inputs
    assert (found.dataset.name, len(calls)) == ("walks", 2)
