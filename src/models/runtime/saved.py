"""Folders of saved models that were cut off or changed since: said in one line, whichever part of them it is."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

LONGEST = 160  # of the reason in a message
BROKEN = (
    json.JSONDecodeError, UnicodeDecodeError, KeyError, IndexError, TypeError, AttributeError, RuntimeError, EOFError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def refuse_missing(folder: Path, names: Iterable[str], *, what: str = "model") -> None:
    """Raises ValueError for a folder that holds no saved model, as one of these files is not there."""
    for name in names:
        if not (folder / name).is_file():
            raise ValueError(f"{folder} holds no saved {what}: {name} is not there; name the folder given to save")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Returns the arrays of an NPZ file as tensors. Nothing is unpickled."""
    with np.load(path, allow_pickle=False) as file:
        return {name: torch.from_numpy(file[name]) for name in file.files}


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
