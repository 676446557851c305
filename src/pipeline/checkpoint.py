"""Results of stages on disk: arrays and plain values in one NPZ, written whole or not at all; no pickle."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pipeline.atomic import written_whole
from pipeline.errors import PipelineError

VALUES, OWNER = "__values__", "__owner__"


class Saved(NamedTuple):
    tensors: dict[str, Tensor]
    values: dict[str, Any]


def save(path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Write `tensors` and JSON `values`; the final name appears only when every byte is on disk.

    The file notes the name of its folder, that of its run: copied to another run it is refused. Raises PipelineError
    when it cannot be written; the file before it stays whole.
    """
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


def load(path: Path) -> Saved:
    """Raises PipelineError for a file that is cut short, was not written by `save`, or is another run's."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        values = json.loads(str(arrays.pop(VALUES)))
        owner = str(arrays.pop(OWNER))
    except (ValueError, KeyError, EOFError, OSError, MemoryError, zipfile.BadZipFile) as error:
        raise PipelineError(
            f"{path} is not a complete checkpoint of this project ({error}); delete it and start anew"
        ) from error
    if owner != path.parent.name:
        raise PipelineError(f"{path} is a checkpoint of the run {owner}; delete it and start anew")
    return Saved({name: torch.from_numpy(array) for name, array in arrays.items()}, values)


@contextmanager
def fitting(path: Path) -> Iterator[None]:
    """What is read from a checkpoint is put in place. Raises PipelineError where it does not fit the model."""
    try:
        yield
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise PipelineError(f"{path} is a checkpoint of another model ({reason}); delete it and start anew") from error
