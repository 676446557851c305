"""The SQLite file of a store: it appears whole or not at all, and what was left half-made is moved aside.

MLflow makes its tables by a long row of migrations, each with transactions of its own, and refuses a file in which a
killed process has left some of them. `schema.sql` holds the tables and rows that these migrations end with, so that a
new store costs milliseconds; it is used where MLflow's newest revision is the file's own, and MLflow makes the store
elsewhere. `python -m pipeline.tracking.database` makes `schema.sql` again, with the MLflow that is installed.
"""

from __future__ import annotations

import functools
import re
import sqlite3
import tempfile
import time
from contextlib import closing
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import mlflow

from pipeline.host.atomic import remove_leftovers, written_whole
from pipeline.tracking.server import say

SCHEMA = Path(__file__).with_name("schema.sql")
SIDECARS = ("-wal", "-shm", "-journal")  # SQLite's own, beside the file
FIRST_TABLES = {"experiments", "runs"}  # at any time one of them is there: a migration replaces one table at once
WITH_EXPERIMENTS = {"experiments", "_alembic_tmp_experiments"}  # while a migration replaces the table: under this name


class Contents(NamedTuple):
    """Says what a store's file holds. tables: their names; revision: of the last migration, None before the first;
    used: an experiment is there."""

    tables: set[str]
    revision: str | None
    used: bool


def read_contents(path: Path) -> Contents:
    """Returns what is in a SQLite file. Raises sqlite3.DatabaseError when it is none."""
    with closing(sqlite3.connect(path, timeout=60)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        revisions = database.execute("SELECT version_num FROM alembic_version") if "alembic_version" in tables else ()
        revision = next((number for (number,) in revisions), None)
        used = any(
            database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()  # noqa: S608 - one of two names
            for table in WITH_EXPERIMENTS & tables
        )
    return Contents(tables, revision, used)


@functools.cache
def migrations() -> Any:
    """Returns Alembic's directory of MLflow's migrations, which keeps the files that it has read."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(Path(mlflow.__file__).parent / "store" / "db_migrations"))


def half_made(found: Contents, newest: str | None) -> bool:
    """Returns true when a killed process left the file so: MLflow's tables, or none, and neither the last migration
    nor an experiment.

    A whole store has an experiment, "Default", from the first time that MLflow opens it.
    """
    begun = not found.tables or bool(FIRST_TABLES & found.tables)
    return begun and not found.used and found.revision != newest


def moment() -> str:
    return time.strftime("%Y-%m-%d-%H%M%S")


def move_aside(path: Path) -> Path:
    """Renames the file and SQLite's own beside it; the new name tells the time and is nobody else's."""
    name = f"{path.name}.half-made-{moment()}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    aside = next(free for free in map(path.with_name, names) if not free.exists())
    for ending in SIDECARS:
        if path.with_name(path.name + ending).exists():
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
    return path.rename(aside)


def migrate(path: Path) -> None:
    """Applies MLflow's migrations, each in one transaction: a process killed meanwhile leaves a store that the next
    goes on with."""
    from mlflow.store.db.utils import _initialize_tables
    from sqlalchemy import URL, NullPool, create_engine, event

    engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def leave_transactions_alone(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # Python's sqlite3 would begin none before it makes a table

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    _initialize_tables(engine)


def fill(path: Path, newest: str | None) -> None:
    """Makes the tables of an empty store, from `schema.sql` where it is MLflow's newest."""
    shipped = SCHEMA.read_text(encoding="utf-8")
    if revision_of(shipped) != newest:
        say(f"making the tracking store with MLflow {mlflow.__version__}, once; it takes some seconds")
        migrate(path)
        return
    with closing(sqlite3.connect(path)) as database:
        database.executescript(shipped)


def revision_of(shipped: str) -> str | None:
    """Returns the migration that a dump ends with."""
    insertion = re.search(r'^INSERT INTO "alembic_version" VALUES\(\'(\w+)\'\);$', shipped, re.MULTILINE)
    return insertion[1] if insertion else None


def make(path: Path, newest: str | None) -> None:
    """Makes an empty store beside its place and renames it when it is whole; what killed processes left there goes."""
    remove_leftovers(path)
    for ending in SIDECARS:  # of a file that was deleted: SQLite would take their pages for the new one's
        path.with_name(path.name + ending).unlink(missing_ok=True)
    with written_whole(path) as partial:
        fill(partial, newest)


def prepare_database(path: Path) -> None:
    """Makes the store's file where there is none, or one that was left half-made; upgrades one of an earlier MLflow.

    To be called under the store's lock. Raises OSError and sqlite3.Error where it cannot be written.
    """
    script = migrations()
    newest = script.get_current_head()
    if path.exists() and half_made(read_contents(path), newest):
        aside = move_aside(path)
        say(f"the tracking store {path} was left half-made by a process that was stopped; moved to {aside}, made anew")
    if not path.exists():
        make(path, newest)
    revision = read_contents(path).revision
    if revision != newest and revision in {migration.revision for migration in script.walk_revisions()}:
        say(f"upgrading the tracking store {path} to MLflow {mlflow.__version__}, once; it takes some seconds")
        migrate(path)
    with closing(sqlite3.connect(path, timeout=60)) as database:
        database.execute("PRAGMA journal_mode=WAL")


def dump() -> str:
    """Returns `schema.sql` for the MLflow that is installed, made by its migrations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mlflow.db"
        migrate(path)
        with closing(sqlite3.connect(path)) as database:
            lines = [line.rstrip() for statement in database.iterdump() for line in statement.splitlines()]
    how = "python -m pipeline.tracking.database"
    return "\n".join([f"-- The tables of an empty store of MLflow {mlflow.__version__}, made by: {how}", *lines]) + "\n"


if __name__ == "__main__":
    with written_whole(SCHEMA) as partial:
        partial.write_text(dump(), encoding="utf-8")
