"""A local store that was moved: MLflow keeps absolute places of artifacts, which are put right when it is opened.

A folder has another name in a container, after a checkout was renamed, or in a copy of it. Whoever has a store open
holds a shared lock on it, so that the places never change under a run that still writes to them.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pipeline.host.errors import PipelineError

# all columns of MLflow's database that hold a place of artifacts
PLACES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)
IN_USE = ".in_use.lock"
HELD: dict[Path, int] = {}  # the open lock of the store that this process uses; one at a time, as in MLflow itself


class Move(NamedTuple):
    """Names the two places of an experiment's artifacts: the one in the database, and the one in the store's folder."""

    old: str
    new: str


class StoreInUse(PipelineError):
    """Says that the store was moved, and another process still writes to it under its other name."""


def database_of(folder: Path) -> Path:
    return folder / "mlflow.db"


def path_of(uri: str) -> Path:
    return Path(url2pathname(urlsplit(uri).path))


def same_folder(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def is_moved(move: Move) -> bool:
    """Returns true when the artifacts lie at the new place: it is there, or the old one is not, and they are not
    one folder."""
    old, new = path_of(move.old), path_of(move.new)
    return not same_folder(old, new) and (os.path.isdir(new) or not os.path.isdir(old))  # noqa: PTH112


def moved_experiments(folder: Path) -> list[Move]:
    """Returns the experiments whose artifacts were written when the store had another name; those with a place of
    their own are left alone."""
    with closing(sqlite3.connect(database_of(folder), timeout=60)) as database:
        rows = database.execute("SELECT name, artifact_location FROM experiments").fetchall()
    named = [(f"/artifacts/{name}", Move(old, (folder / "artifacts" / name).as_uri())) for name, old in rows]
    return [
        move
        for ending, move in named
        if move.old.startswith("file:") and str(path_of(move.old)).endswith(ending) and move.old != move.new
        if is_moved(move)
    ]  # fmt: skip


def relocate(folder: Path, moves: list[Move]) -> None:
    """Rewrites all places of those experiments, in one transaction."""
    with closing(sqlite3.connect(database_of(folder), timeout=60)) as database, database:
        for table, column in PLACES:
            for old, new in moves:
                here = f"{column} = ? OR substr({column}, 1, ?) = ?"
                statement = f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE {here}"  # noqa: S608 - PLACES
                database.execute(statement, (new, len(old) + 1, old, len(old) + 1, f"{old}/"))


def lock_of(folder: Path) -> int:
    """Returns this process's open lock file of the store; that of another store is let go."""
    if folder not in HELD:
        while HELD:
            os.close(HELD.popitem()[1])
        HELD[folder] = os.open(folder / IN_USE, os.O_RDWR | os.O_CREAT, 0o666)
    return HELD[folder]


def settle_store(folder: Path) -> None:
    """Puts the places of a moved store right, and holds the store until the process ends. Its folder is absolute.

    Raises StoreInUse when it was moved and another process has it open.
    """
    lock = lock_of(folder)
    moves = moved_experiments(folder)
    if moves:
        former = str(path_of(moves[0].old)).rpartition("/artifacts/")[0]
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreInUse(
                f"the store {folder} is in use under its other name {former} by another process; wait until it has "
                f"ended, or give the folder the same name in both places"
            ) from error
        relocate(folder, moves)
        warnings.warn(f"the store was moved from {former} to {folder}: places of its artifacts put right", stacklevel=2)
    fcntl.flock(lock, fcntl.LOCK_SH)
