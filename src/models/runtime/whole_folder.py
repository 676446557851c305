"""Folders that appear under their final name only when they are whole."""

from __future__ import annotations

import os
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DAMAGE = (  # what readers of JSON, of archives and of parameters raise for files that are not as they were written
    ValueError, LookupError, TypeError, AttributeError, RuntimeError, ImportError, EOFError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


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


@contextmanager
def read_as_a_whole(folder: Path) -> Iterator[None]:
    """Raises ValueError, in one line with the folder's name, for whatever cannot be read inside: a file that is cut
    off or is no JSON, and entries that are missing or of another kind.

    Errors of the file system are passed on, as are those that name the folder already.
    """
    try:
        yield
    except DAMAGE as error:
        if isinstance(error, ValueError) and str(error).startswith(str(folder)):
            raise
        what = f"no entry {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise ValueError(f"{folder} is damaged or was not written by save ({what}); save the model anew") from error
