"""Folders that appear under their final name only when they are whole."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def beside(path: Path) -> Path:
    """Returns a temporary name that no other writer has, in whatever container it runs."""
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.partial")


@contextmanager
def folder_written_whole(path: Path) -> Iterator[Path]:
    """Gives a new folder beside `path` to fill; it takes the final name when the block ends without an error, else it
    goes.

    At `path` there may be an empty folder, whose place it takes. Raises FileExistsError at once for anything else.
    """
    path = path.absolute()
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(f"{path} is there already; name another folder, or remove it")
    temporary = beside(path)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
