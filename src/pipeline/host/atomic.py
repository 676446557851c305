"""Files and folders that appear under their final name only when they are whole."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def beside(path: Path) -> Path:
    """Returns a temporary name that no other writer has, in whatever container it runs."""
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.partial")


def remove_leftovers(path: Path) -> None:
    """Deletes what killed writers of `path` left under temporary names; it is to be called where nobody else writes
    it."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.partial*"):
        leftover.unlink(missing_ok=True)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Gives a temporary name beside `path` to write to; it takes the final name when the block ends without an
    error."""
    temporary = beside(path)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def folder_written_whole(path: Path) -> Iterator[Path]:
    """Gives a new folder beside `path` to fill; it takes the final name when the block ends without an error, else it
    goes.

    Raises FileExistsError at once when there is something at `path` already.
    """
    if path.exists():
        raise FileExistsError(f"{path} is there already; name another folder, or remove it")
    temporary = beside(path)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
