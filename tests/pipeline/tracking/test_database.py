"""The store's SQLite file: whole or not there at all, whatever is killed; what an older version left is told apart."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from click.testing import CliRunner
from mlflow.db import upgrade
from mlflow.store.db import utils
from mlflow.store.tracking.dbmodels.initial_models import Base as InitialBase
from mlflow.tracking import MlflowClient
from sqlalchemy import create_engine, event

from pipeline.host.errors import PipelineError
from pipeline.tracking import database
from pipeline.tracking.store import open_store

EARLIER = "400f98739977"  # the revision of a store that an earlier MLflow made whole
Statement = Callable[..., None]


class Killed(BaseException):
    """The process is gone at this statement."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the store is to be made; nothing is there."""
    monkeypatch.setenv("PIPELINE_MLRUNS", str(tmp_path / "mlruns"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlruns").mkdir()
    return tmp_path / "mlruns"


def parts(statement: str) -> str:
    """A statement's parts between commas, sorted: MLflow takes the order of constraints from a set. Without quotes and
    white space, of which versions of SQLite keep more or less."""
    return str(sorted(re.sub(r'["\s]', "", statement).split(",")))


def tables(path: Path) -> list[tuple[str, ...]]:
    """All that a file holds: statements, columns in their order, rows."""
    with closing(sqlite3.connect(path)) as opened:
        schema = [tuple(map(str, row)) for row in opened.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")]
        names = [name for kind, name, _, _ in schema if kind == "table"]
        columns = [(name, str(row)) for name in names for row in opened.execute(f'PRAGMA table_info("{name}")')]
        rows = [(name, str(row)) for name in names for row in opened.execute(f'SELECT * FROM "{name}"')]  # noqa: S608
    return sorted((*row[:3], parts(row[3])) for row in schema) + sorted(columns) + sorted(rows)


def stopped_at(number: int) -> Statement:
    """Raises at that statement of an engine, before it is run."""
    left = [number]

    def count(*_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    return count


def left_by_an_older_version(path: Path, statements: int) -> None:
    """MLflow makes its tables under the final name, and is killed."""
    engine = create_engine(f"sqlite:///{path}")
    event.listen(engine, "before_cursor_execute", stopped_at(statements))
    with pytest.raises(Killed):
        utils._initialize_tables(engine)
    engine.dispose()


def whole_and_usable(path: Path) -> None:
    """MLflow takes the store: it writes a run, and finds nothing to upgrade."""
    client = open_store(None)
    run = client.create_run(client.create_experiment("walks"))
    client.log_metric(run.info.run_id, "x", 1.5)
    assert client.get_run(run.info.run_id).data.metrics == {"x": 1.5}
    before = tables(path)
    done = CliRunner().invoke(upgrade, [f"sqlite:///{path}"])
    assert done.exit_code == 0, done.output
    assert tables(path) == before


def refused(*_: object) -> None:
    raise AssertionError("MLflow's migrations are not needed")


def test_the_tables_that_are_shipped_are_those_that_mlflow_makes(tmp_path: Path) -> None:
    newest = database.migrations().get_current_head()
    said = "python -m pipeline.tracking.database makes schema.sql anew for this MLflow"
    assert database.revision_of(database.SCHEMA.read_text(encoding="utf-8")) == newest, said
    engine = create_engine(f"sqlite:///{tmp_path / 'theirs.db'}")
    utils._initialize_tables(engine)
    engine.dispose()
    database.fill(tmp_path / "ours.db", newest)
    database.migrate(tmp_path / "migrated.db")
    assert tables(tmp_path / "ours.db") == tables(tmp_path / "theirs.db") == tables(tmp_path / "migrated.db"), said
    assert len(tables(tmp_path / "ours.db")) > 100


def test_a_new_store_needs_no_migrations(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "_initialize_tables", refused)
    whole_and_usable(folder / "mlflow.db")
    assert sorted(path.name for path in folder.glob("*.partial*")) == []
    with closing(sqlite3.connect(folder / "mlflow.db")) as opened:
        assert opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_another_mlflow_makes_its_own_store_beside_the_place(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    older = database.SCHEMA.read_text(encoding="utf-8").replace(str(database.migrations().get_current_head()), EARLIER)
    (tmp_path / "schema.sql").write_text(older, encoding="utf-8")
    monkeypatch.setattr(database, "SCHEMA", tmp_path / "schema.sql")
    make, seen = utils._initialize_tables, []

    def watched(engine: Any) -> None:
        event.listen(engine, "before_cursor_execute", lambda *_: seen.append((folder / "mlflow.db").exists()))
        make(engine)

    monkeypatch.setattr(utils, "_initialize_tables", watched)
    open_store(None)
    assert len(seen) > 1000
    assert not any(seen)
    assert "making the tracking store with MLflow" in capsys.readouterr().err
    whole_and_usable(folder / "mlflow.db")


@pytest.mark.parametrize("statements", [1, 4, 20, 1600])
def test_a_half_made_store_is_moved_aside_with_a_sentence(
    statements: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(database, "moment", lambda: "2026-11-22-101500")
    path, name = folder / "mlflow.db", "mlflow.db.half-made-2026-11-22-101500"
    (folder / name).write_text("of the same second")
    left_by_an_older_version(path, statements)
    if statements == 1:
        path.touch()
    left = path.read_bytes()
    whole_and_usable(path)
    told = f"the tracking store {path} was left half-made by a process that was stopped; moved to {folder / name}-2, "
    assert capsys.readouterr().err.count(told) == 1
    assert ((folder / name).read_text(), (folder / f"{name}-2").read_bytes()) == ("of the same second", left)


def made_by_an_earlier_mlflow(path: Path) -> None:
    """A whole store, with a run in it."""
    engine = create_engine(f"sqlite:///{path}")
    InitialBase.metadata.create_all(engine)
    command.upgrade(utils._get_alembic_config(f"sqlite:///{path}"), EARLIER)
    with engine.begin() as connection:
        for statement in (
            "INSERT INTO experiments (experiment_id, name, artifact_location, lifecycle_stage) "
            "VALUES (0, 'Default', 'file:///old', 'active')",
            "INSERT INTO runs (run_uuid, name, status, user_id, start_time, end_time, lifecycle_stage, experiment_id, "
            "artifact_uri) "
            "VALUES ('0123456789abcdef0123456789abcdef', 'kept', 'FINISHED', 'ada', 1, 2, 'active', 0, 'file:///old')",
        ):
            connection.exec_driver_sql(statement)
    engine.dispose()


def test_a_store_of_an_earlier_mlflow_is_upgraded_also_when_that_is_cut_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_by_an_earlier_mlflow(folder / "mlflow.db")
    make, statements = utils._initialize_tables, iter([12, 150, 10**6])

    def killed(engine: Any) -> None:
        event.listen(engine, "before_cursor_execute", stopped_at(next(statements)))
        make(engine)

    monkeypatch.setattr(utils, "_initialize_tables", killed)
    for _ in range(2):
        with pytest.raises(Killed):
            open_store(None)
    client = open_store(None)
    assert capsys.readouterr().err.count(f"upgrading the tracking store {folder / 'mlflow.db'} to MLflow") == 3
    assert [run.info.run_name for run in client.search_runs(["0"])] == ["kept"]
    assert list(folder.glob("*half-made*")) == []
    whole_and_usable(folder / "mlflow.db")


def test_files_of_a_store_that_was_deleted_are_not_taken_for_the_new_ones(folder: Path) -> None:
    path = folder / "mlflow.db"
    open_store(None).create_experiment("former")
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("CREATE TABLE junk (x)")
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        opened.execute("DROP TABLE experiments")
        opened.commit()
        journal = path.with_name("mlflow.db-wal").read_bytes()
    path.unlink()
    path.with_name("mlflow.db-wal").write_bytes(journal)
    database.prepare_database(path)
    found = database.read_contents(path).tables
    assert "experiments" in found
    assert "junk" not in found


def test_a_full_disk_leaves_nothing_half_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *_: object) -> None:
        path.write_bytes(b"the beginning")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(database, "fill", full)
        with pytest.raises(PipelineError, match=r"cannot be used: .*No space left on device"):
            open_store(None)
    assert [path.name for path in folder.iterdir() if "mlflow" in path.name] == []


def test_what_killed_processes_left_beside_the_place_goes(folder: Path) -> None:
    for ending in ("", "-journal"):
        (folder / f".mlflow.db.12.0123abcd.partial{ending}").write_bytes(b"the beginning")
    (folder / ".mlflow.dbx.12.0123abcd.partial").write_bytes(b"another's")
    open_store(None)
    assert [path.name for path in folder.iterdir() if "partial" in path.name] == [".mlflow.dbx.12.0123abcd.partial"]


def test_a_database_of_something_else_is_never_moved(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("CREATE TABLE orders (x)")
    assert not database.half_made(database.read_contents(path), "any")


def test_a_store_elsewhere_is_made_as_whole(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "_initialize_tables", refused)
    client = open_store(f"sqlite:///{tmp_path / 'new' / 'runs.db'}")
    assert isinstance(client, MlflowClient)
    assert (tmp_path / "new" / "runs.db").is_file()
    assert not (folder / "mlflow.db").exists()
