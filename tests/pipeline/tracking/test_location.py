"""A store whose folder moved opens where it is, and never while a run still writes to it under its other name."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from command_lines import Result
from pipeline.host.errors import PipelineError
from pipeline.relocate import main
from pipeline.tracking import location
from pipeline.tracking.run import create_run
from pipeline.tracking.store import experiment_id, open_store
from warm_processes import code, ended

HOLD = "import time; from pipeline.tracking.store import open_store; open_store(None); print('held'); time.sleep(120)"


@pytest.fixture(autouse=True)
def let_go_before() -> None:
    let_go()


def let_go() -> None:
    """As if this process had opened no store before."""
    while location.HELD:
        os.close(location.HELD.popitem()[1])


def a_run(name: str, text: str) -> str:
    client = open_store(None)
    run = create_run(client, experiment_id(client, name), "job", {})
    run.text(text, "note.txt")
    run.finish("FINISHED")
    return run.id


def now_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is at `folder`; MLflow puts the address that it was told last into the environment."""
    monkeypatch.setenv("PIPELINE_MLRUNS", str(folder))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def move(store: Path, monkeypatch: pytest.MonkeyPatch, name: str = "elsewhere") -> Path:
    """The store under another name, which PIPELINE_MLRUNS then gives."""
    target = store.parent / name
    shutil.copytree(store, target)
    shutil.rmtree(store)
    now_at(target, monkeypatch)
    return target


def copy_database(store: Path, target: Path) -> None:
    with closing(sqlite3.connect(store / "mlflow.db")) as database, closing(sqlite3.connect(target)) as copy:
        database.backup(copy)


def places(store: Path) -> list[str]:
    with closing(sqlite3.connect(store / "mlflow.db")) as database:
        found = [database.execute(f"SELECT {c} FROM {t} WHERE {c} IS NOT NULL").fetchall() for t, c in location.PLACES]  # noqa: S608
    return [value for rows in found for (value,) in rows]


def note(run_id: str) -> str:
    """The artifact as a new process finds it; MLflow keeps the places that it has seen."""
    text = "import sys; from pipeline.tracking.store import open_store; from pathlib import Path\n"
    text += "print(Path(open_store(None).download_artifacts(sys.argv[1], 'note.txt')).read_text())"
    done = ended(code, text, run_id, folder=Path.cwd())
    assert done.status == 0, done.err
    return done.out.strip()


@pytest.mark.parametrize("name", ["mocap", "with space", "team/mocap", "größe_100%", "artifacts"])
def test_artifacts_open_after_a_move(store: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    run_id = a_run(name, "one")
    target = move(store, monkeypatch, "new place")
    with pytest.warns(
        UserWarning, match=r"the store was moved from \S+/mlruns to .*/new place: places of its artifacts"
    ):
        client = open_store(None)
    assert client.get_run(run_id).info.artifact_uri == f"{(target / 'artifacts' / name).as_uri()}/{run_id}/artifacts"
    assert note(run_id) == "one"
    again = a_run(name, "two")
    assert (target / "artifacts" / name / again / "artifacts" / "note.txt").read_text() == "two"
    assert not store.exists()


def test_experiments_whose_names_begin_alike_stay_apart(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = a_run("mocap", "one"), a_run("mocap2", "two")
    target = move(store, monkeypatch)
    with pytest.warns(UserWarning, match="the store was moved"):
        client = open_store(None)
    for run_id, name in ((first, "mocap"), (second, "mocap2")):
        uri = client.get_run(run_id).info.artifact_uri
        assert uri == f"{(target / 'artifacts' / name).as_uri()}/{run_id}/artifacts"


@pytest.mark.slow
def test_models_and_versions_load_after_a_move(
    store: Path, run_pipeline: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run_pipeline("+experiment=mocap", "size=tiny", "data.source=stand_in").status == 0
    client = open_store(None)
    (run,) = client.search_runs([experiment_id(client, "mocap")])
    model = client.search_logged_models([run.info.experiment_id])[0]
    client.create_registered_model("walker")
    client.create_model_version("walker", model.artifact_location, run_id=run.info.run_id)
    rows = pd.read_csv(next((store / "artifacts").rglob("parameters/example.csv"))).drop(columns="sequence")
    rows.to_csv(tmp_path / "new.csv", index=False)
    before = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model").predict(rows)
    move(store, monkeypatch)
    with pytest.warns(UserWarning, match="the store was moved"):
        open_store(None)
    assert not [place for place in places(store.parent / "elsewhere") if "mlruns/artifacts" in place]
    for uri in (f"runs:/{run.info.run_id}/model", "models:/walker/1"):
        after = mlflow.pyfunc.load_model(uri).predict(rows)
        pd.testing.assert_frame_equal(after, before)


def test_a_store_that_stays_is_left_alone(store: Path) -> None:
    a_run("mocap", "one")
    before = places(store)
    open_store(None)
    assert places(store) == before
    assert location.moved_experiments(store) == []


def test_both_names_of_one_folder_are_right(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a container sees the folder under its old name too."""
    run_id = a_run("mocap", "one")
    target = store.parent / "elsewhere"
    store.rename(target)
    store.symlink_to(target)
    now_at(target, monkeypatch)
    before = places(target)
    open_store(None)
    assert places(target) == before
    assert note(run_id) == "one"


def test_a_database_copied_without_its_artifacts_still_finds_them(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = a_run("mocap", "one")
    target = store.parent / "copy"
    target.mkdir()
    copy_database(store, target / "mlflow.db")
    now_at(target, monkeypatch)
    assert note(run_id) == "one"


def test_a_copy_uses_its_own_artifacts(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = a_run("mocap", "one")
    before = places(store)
    shutil.copytree(store, store.parent / "copy")
    (store / "artifacts" / "mocap" / run_id / "artifacts" / "note.txt").write_text("changed")
    now_at(store.parent / "copy", monkeypatch)
    with pytest.warns(UserWarning, match="the store was moved"):
        open_store(None)
    assert note(run_id) == "one"
    assert places(store) == before


def test_an_experiment_with_a_place_of_its_own_is_left_alone(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = open_store(None)
    own = ["s3://bucket/artifacts/own", f"file://{store}/other/own2"]
    numbers = [client.create_experiment(f"own{i}", artifact_location=place) for i, place in enumerate(own)]
    move(store, monkeypatch)
    client = open_store(None)
    assert [client.get_experiment(number).artifact_location for number in numbers] == own


def test_a_store_in_use_under_its_other_name_is_left_as_it_is(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run("mocap", "one")
    let_go()
    holder = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        target = store.parent / "elsewhere"
        store.rename(target)  # the same files, as a container sees them
        now_at(target, monkeypatch)
        before = places(target)
        with pytest.raises(PipelineError, match=r"is in use under its other name \S+/mlruns by another process; wait"):
            open_store(None)
        with pytest.warns(UserWarning, match="until then artifacts do not open here"):
            main()
        assert capsys.readouterr().out == f"sqlite:///{target}/mlflow.db\n"
        assert places(target) == before
    finally:
        holder.kill()
        holder.communicate()
    with pytest.warns(UserWarning, match="the store was moved"):
        main()
    assert capsys.readouterr().out == f"sqlite:///{target}/mlflow.db\n"
    assert places(target) != before


def test_a_server_or_a_database_elsewhere_is_not_touched(store: Path, tmp_path: Path) -> None:
    a_run("mocap", "one")
    copy_database(store, tmp_path / "other.db")
    shutil.rmtree(store / "artifacts")
    open_store(f"sqlite:///{tmp_path / 'other.db'}")
    client = MlflowClient(f"sqlite:///{tmp_path / 'other.db'}")
    experiment = client.get_experiment_by_name("mocap")
    assert experiment is not None
    assert experiment.artifact_location == (store / "artifacts" / "mocap").as_uri()


def test_a_store_that_cannot_be_opened_ends_in_one_line(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (store / "mlflow.db").write_bytes(b"not a database, but long enough to be looked at" * 40)
    monkeypatch.setattr(sys, "argv", ["relocate"])
    with pytest.raises(SystemExit, match=r"^error: the tracking store sqlite:///\S+ cannot be used: "):
        main()
