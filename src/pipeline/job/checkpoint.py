"""Results of stages on disk: arrays and plain values in one NPZ, written whole or not at all; no pickle."""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.runtime.collectives import bytes_of_first_rank, rank, world
from pipeline.host.atomic import written_whole
from pipeline.host.errors import PipelineError
from pipeline.host.out_of_memory import is_out_of_memory

VALUES, OWNER = "__values__", "__owner__"
OF_THE_SYSTEM = (errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE, errno.ENOMEM)  # say nothing about the file itself


class Saved(NamedTuple):
    tensors: dict[str, Tensor]
    values: dict[str, Any]


def save(path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Writes `tensors` and JSON `values`; the final name appears only when every byte is on disk.

    The file notes the name of its folder, which is that of its run: a file that was copied to another run is refused.
    Of several ranks rank 0 alone writes. Raises PipelineError when the file cannot be written; the file before it stays
    whole.
    """
    if rank() > 0:
        return
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    arrays |= {VALUES: np.array(json.dumps(dict(values))), OWNER: np.array(path.parent.name)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise PipelineError(
            f"{path} cannot be written ({error.strerror}); make room there, then resume=true goes on from the last "
            "whole checkpoint"
        ) from error


def find(path: Path) -> Saved | None:
    """Returns what `load` gives, None where there is no file. Of several ranks rank 0 alone looks, and tells the
    others."""
    if world() == 1:
        return load(path) if path.exists() else None
    if rank() == 0 and path.exists():
        load(path)  # refused by rank 0, where its run is known
        content = bytes_of_first_rank(path.read_bytes())
    else:
        content = bytes_of_first_rank(b"")
    return read(io.BytesIO(content))[0] if content else None


def read(file: IO[bytes]) -> tuple[Saved, str]:
    """Returns what is in a checkpoint, and the name of the run that it belongs to."""
    with np.load(file, allow_pickle=False) as opened:
        arrays = {name: opened[name] for name in opened.files}
    values = json.loads(str(arrays.pop(VALUES)))
    owner = str(arrays.pop(OWNER))
    return Saved({name: torch.from_numpy(array) for name, array in arrays.items()}, values), owner


def unread(path: Path, error: Exception) -> str:
    """Says in one line why a checkpoint could not be read, and what to do. A damaged file may ask for more memory than
    there is, so that lack of memory does not tell whether the file is whole."""
    if isinstance(error, OSError) and error.errno in OF_THE_SYSTEM:
        return f"{path} cannot be read ({error.strerror}); keep it: once it can be, resume=true goes on from it"
    if isinstance(error, MemoryError):
        return f"{path} cannot be read for lack of memory; free some, and if that does not help delete it"
    return f"{path} is not a complete checkpoint of this project ({error}); delete it and start anew"


def load(path: Path) -> Saved:
    """Returns what is in a checkpoint. Raises PipelineError for a file that is cut short, was not written by `save`, or
    belongs to another run, and for one that cannot be read now, which is to be kept."""
    try:
        with path.open("rb") as opened:
            saved, owner = read(opened)
    except (ValueError, KeyError, EOFError, OSError, MemoryError, zipfile.BadZipFile) as error:
        raise PipelineError(unread(path, error)) from error
    if owner != path.parent.name:
        raise PipelineError(f"{path} is a checkpoint of the run {owner}; delete it and start anew")
    return saved


@contextmanager
def fitting(path: Path) -> Iterator[None]:
    """Guards the block in which what was read from a checkpoint is put in place. Raises PipelineError where the
    checkpoint does not fit the model. Lack of memory is let through, as it says nothing about the checkpoint."""
    try:
        yield
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        reason = str(error).splitlines()[0]
        raise PipelineError(f"{path} is a checkpoint of another model ({reason}); delete it and start anew") from error
