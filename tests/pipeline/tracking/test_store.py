"""The store: made once, however many processes ask for it first."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pandas as pd
import pytest
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from pipeline.host import locks
from pipeline.tracking import outbox
from pipeline.tracking.outbox import send_unsent, unsent_folder
from pipeline.tracking.run import create_run
from pipeline.tracking.store import experiment_id
from warm_processes import Warm, code

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
    jobs = [Warm(code, CODE, folder=tmp_path, PIPELINE_MLRUNS=str(tmp_path / "mlruns")) for _ in range(3)]
    ended = [job.result() for job in jobs]
    assert [each.status for each in ended] == [0, 0, 0], ended
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
    frame = pd.DataFrame({"x": [1.0], "label": [1], "name": ["a"]})  # of whole numbers MLflow would warn
    run.dataset(frame, name="walks", source="here", digest="d" * 64, context="training")
    (found,) = client.get_run(run.id).inputs.dataset_inputs
    assert (found.dataset.name, len(calls)) == ("walks", 2)
    types = [column["type"] for column in json.loads(found.dataset.schema)["mlflow_colspec"]]
    assert types == ["double", "double", "string"]
    assert frame["label"].dtype == "int64"


def test_unsent_lines_that_were_cut_off_are_said_and_the_others_are_sent(client: MlflowClient, capsys) -> None:
    run = create_run(client, experiment_id(client, "cut"), "one", {})
    path = unsent_folder() / f"{run.id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    metric = '{"key": "x", "value": 1.0, "timestamp": 1, "step": %d}\n'
    path.write_text(f'{{"uri": "local", "run": "{run.id}"}}\n{metric % 0}{{"key": "x", "va{metric % 1}{metric % 2}')
    send_unsent(client)
    assert f"{path}, line 3 was cut off and is left out" in capsys.readouterr().err
    assert sorted(m.step for m in client.get_metric_history(run.id, "x")) == [0, 2]
    assert not path.exists()


def test_unsent_lines_of_an_unknown_store_are_left(client: MlflowClient, capsys) -> None:
    path = unsent_folder() / "unknown.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"uri": "lo{"key": "x", "value": 1.0, "timestamp": 1, "step": 0}\n{"tag": "a", "value": "b"}\n')
    send_unsent(client)
    assert f"{path} does not say which store its lines are for" in capsys.readouterr().err
    assert path.exists()


def test_unsent_lines_are_sent_from_a_network_file_system(client: MlflowClient, monkeypatch, capsys) -> None:
    """NFS locks a file for one process alone only where it is open to write."""
    run = create_run(client, experiment_id(client, "remote"), "one", {})
    path = unsent_folder() / f"{run.id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    metric = '{"key": "x", "value": 1.0, "timestamp": 1, "step": 0}\n'
    path.write_text(f'{{"uri": "local", "run": "{run.id}"}}\n{metric}')
    flock = locks.fcntl.flock

    def of_a_network(file, operation) -> None:
        if not file.writable():
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(file, operation)

    with monkeypatch.context() as patch:
        patch.setattr(locks.fcntl, "flock", without_locks)
        send_unsent(client)
    assert f"warning: {path} could not be sent ([Errno {errno.ENOLCK}] No locks available)" in capsys.readouterr().err
    monkeypatch.setattr(locks.fcntl, "flock", of_a_network)
    send_unsent(client)
    assert [m.value for m in client.get_metric_history(run.id, "x")] == [1.0]
    assert not path.exists()


def without_locks(*_: object) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_a_journal_that_is_deleted_while_it_is_opened_is_opened_again(
    client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create_run(client, experiment_id(client, "raced"), "one", {})
    path = unsent_folder() / f"{run.id}.jsonl"
    flock, calls = locks.fcntl.flock, []

    def deleted_before(file, operation) -> None:
        calls.append(operation)
        if len(calls) == 1:  # another process, sending the still empty file, was faster
            path.unlink()
        flock(file, operation)

    monkeypatch.setattr(locks.fcntl, "flock", deleted_before)
    monkeypatch.setattr(outbox, "SECONDS", 60.0)
    run.metric("x", 1.0)
    assert '"key": "x"' in path.read_text()
    run.finish("FINISHED")
    assert len(calls) == 2
    assert not path.exists()
