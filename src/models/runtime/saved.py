"""Folders of saved models that were cut off or changed since: said in one line, whichever part of them it is."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST = 160  # of the reason in a message
BROKEN = (
    json.JSONDecodeError, UnicodeDecodeError, KeyError, IndexError, TypeError, AttributeError, RuntimeError, EOFError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Raises ValueError, in one line, where what the block reads from a folder of a saved model is not as it was
    saved: archives and texts that are cut off, or entries that are missing or of another kind."""
    for archive in sorted(folder.glob("*.npz")):
        if not zipfile.is_zipfile(archive):
            raise ValueError(f"{archive} is cut off or no archive of arrays; save the model again")
    try:
        yield
    except BROKEN as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
        raise ValueError(f"{folder} holds no saved model that can be read ({reason}); save it again") from error
