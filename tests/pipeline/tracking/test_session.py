"""How a run is closed by what ends it."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from logged import only_run
from pipeline.host.errors import FinishedBefore, PipelineError, Pruned
from pipeline.tracking import session
from pipeline.tracking.run import Run, create_run
from pipeline.tracking.run_request import RunRequest
from pipeline.tracking.store import experiment_id

PEER = "another process of this run has ended"


@pytest.mark.parametrize(
    ("end", "of_others", "status", "tags"),
    [
        (ValueError("broken"), None, "FAILED", {"error": "broken"}),
        (ValueError("connection closed"), PEER, "FAILED", {"error": PEER}),
        (SystemExit(143), None, "KILLED", {}),
        (SystemExit(143), PEER, "FAILED", {"error": PEER}),
        (KeyboardInterrupt(), None, "KILLED", {}),
        (Pruned("worse than half of the others"), None, "KILLED", {"pruned": "worse than half of the others"}),
    ],
)
def test_sigterm_while_a_run_is_closed_leaves_its_status(end, of_others, status, tags, client, monkeypatch) -> None:
    """torchrun sends it to the other ranks when one has failed, at any time after that."""

    def asked() -> str | None:
        signal.raise_signal(signal.SIGTERM)
        return of_others

    monkeypatch.setattr(session, "first_failure", asked)
    with pytest.raises(type(end)) as raised, session.closed_with_status(create_run(client, "0", "closed", {})):
        raise end
    assert raised.value is end
    run = only_run(client)
    assert run.info.status == status
    assert {key: run.data.tags[key] for key in ("error", "pruned") if key in run.data.tags} == tags


def stopped_within_a_statement(path: Path, end: BaseException) -> None:
    """Ends as SQLAlchemy does then: the connection is closed, and a cursor of it stays in a frame of the traceback."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    cursor = connection.execute("SELECT name FROM sqlite_master")
    connection.close()
    raise end if cursor else AssertionError


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(143)])
def test_a_run_that_is_stopped_while_it_writes_is_closed_in_a_store_that_is_free(end, client, store: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(type(end)), session.closed_with_status(create_run(client, "0", "stopped", {})):
        stopped_within_a_statement(store / "mlflow.db", end)
    assert only_run(client).info.status == "KILLED"
    assert time.monotonic() - begun < 15  # for 20 seconds MLflow waits for a locked store


def test_a_new_run_is_not_asked_for_and_one_that_goes_on_is_asked_for_once(client: MlflowClient, monkeypatch) -> None:
    """Over a server each question is a message."""
    get, asked = MlflowClient.get_run, list[str]()
    monkeypatch.setattr(MlflowClient, "get_run", lambda own, run_id: (asked.append(run_id), get(own, run_id))[1])
    monkeypatch.setattr(Run, "text", lambda *_: None)  # MLflow asks where a text goes
    frame = pd.DataFrame({"walk": [1, 2]})
    created = create_run(client, experiment_id(client, "walks"), "walks-seed1", {})
    for times in (0, 1):
        run = Run(client, created.id) if times else created
        run.parameters({"seed": 1})
        run.dataset(frame, name="walks", source="made up", digest="c", context="training")
        assert client.get_experiment(run.experiment_id).name == "walks"
        assert asked == [created.id] * times
    kept = get(client, created.id)
    assert (kept.data.params, len(kept.inputs.dataset_inputs)) == ({"seed": "1"}, 1)


def test_arrays_are_kept_by_name_in_the_folder_that_the_path_says(client: MlflowClient, tmp_path: Path) -> None:
    run = create_run(client, "0", "arrays", {})
    run.arrays({"steps": np.arange(3), "names": np.array(["a", "b"])}, "encodings.npz")
    run.arrays({"steps": np.zeros(2)}, "maps/first.npz")
    for path, names in (("encodings.npz", ["steps", "names"]), ("maps/first.npz", ["steps"])):
        with np.load(client.download_artifacts(run.id, path, str(tmp_path)), allow_pickle=False) as kept:
            assert kept.files == names


def test_a_single_run_goes_on_with_no_job_of_a_multirun(client: MlflowClient) -> None:
    """A job belongs to its parent, which may have ended, and has what a multirun keeps: no model, perhaps."""
    request = RunRequest({"seed": 1}, "walks", "walks-seed1", "c", {})
    parent = create_run(client, experiment_id(client, "walks"), "multirun-walks", {}).id
    alone, job = SimpleNamespace(parent=None), SimpleNamespace(parent=parent)

    def begun(tracking: SimpleNamespace, status: str) -> str:
        run = session.begin(client, tracking, request)
        client.set_terminated(run.id, status)
        return run.id

    def newest(tracking: SimpleNamespace, status: str) -> str | None:
        run = session.newest_matching_run(client, tracking, request, status)
        return None if run is None else run.info.run_id

    for status, ended in (("!=", "KILLED"), ("=", "FINISHED")):
        first_job = begun(job, ended)
        assert (newest(alone, status), newest(job, status)) == (None, first_job)
        single = begun(alone, ended)
        assert newest(job, status) == first_job
        last_job = begun(job, ended)
        assert (newest(alone, status), newest(job, status)) == (single, last_job)


def test_a_run_that_goes_on_names_the_commit_that_went_on_with_it(client: MlflowClient, monkeypatch) -> None:
    run = create_run(client, "0", "stopped", {"git.commit": "a" * 40})
    client.set_terminated(run.id, "KILLED")
    monkeypatch.setattr(session, "git_commit", lambda: "b" * 40)
    session.reopen(client, run, {"measured": "from step 4"})
    after = client.get_run(run.id)
    commits = after.data.tags["git.commit"], after.data.tags["resumed.git.commit"]
    assert (after.info.status, commits) == ("RUNNING", ("a" * 40, "b" * 40))
    assert after.data.tags["measured"] == "from step 4"


def test_a_run_that_another_process_finishes_meanwhile_is_not_trained_anew(client, store: Path, monkeypatch) -> None:
    """It ends between the look at the store and the lock, and takes its checkpoints away."""
    request = RunRequest({"seed": 1}, "walks", "walks-seed1", "c", {})
    tracking = SimpleNamespace(parent=None, enabled=True, uri=None, wait=0, register=None)
    run = session.begin(client, tracking, request)
    client.set_terminated(run.id, "KILLED")
    lock_in = session.lock_in

    def ended_before(folder: Path) -> TextIO:
        client.set_terminated(run.id, "FINISHED")
        return lock_in(folder)

    monkeypatch.setattr(session, "lock_in", ended_before)
    said = rf"^the run walks-seed1 \({run.id}\) has finished in another process meanwhile"
    with pytest.raises(FinishedBefore, match=said), session.open_run(tracking, request, resume=True):
        raise AssertionError("the run was opened")
    assert client.get_run(run.id).info.status == "FINISHED"
    assert not (store / "checkpoints" / run.id).exists()


def test_the_checkpoints_of_a_run_are_deleted_while_its_lock_is_held(client, store: Path, monkeypatch) -> None:
    """Another process that comes in between would lose the folder that it works in."""
    request = RunRequest({"seed": 1}, "walks", "walks-seed1", "c", {})
    tracking = SimpleNamespace(parent=None, enabled=True, uri=None, wait=0, register=None)
    deleted = list[Path]()

    def refused(folder: Path) -> None:
        with pytest.raises(BlockingIOError):
            session.lock_in(folder)
        deleted.append(folder)

    monkeypatch.setattr(session, "shutil", SimpleNamespace(rmtree=refused))
    with session.open_run(tracking, request, resume=False) as (run, _):
        pass
    assert client.get_run(run.id).info.status == "FINISHED"
    assert deleted == [store / "checkpoints" / run.id]


def test_a_lock_whose_folder_another_process_takes_away_is_made_again(tmp_path: Path, monkeypatch) -> None:
    folder, calls, really = tmp_path / "run", list[Path](), session.opened_locked

    def opened(path: Path, *, wait: bool) -> TextIO:
        calls.append(path)
        if len(calls) == 1:
            folder.rmdir()
        return really(path, wait=wait)

    monkeypatch.setattr(session, "opened_locked", opened)
    with session.lock_in(folder):
        assert len(calls) == 2
        with pytest.raises(BlockingIOError):
            session.lock_in(folder)


def test_who_is_refused_a_run_is_told_which_process_has_it(store: Path) -> None:
    said = rf"^multirun 0a still goes on in process {os.getpid()} on {socket.gethostname()}; wait or stop it$"
    with session.held("multirun", "0a") as folder:
        assert folder == store / "checkpoints" / "0a"
        with pytest.raises(PipelineError, match=said), session.held("multirun", "0a"):
            pass
