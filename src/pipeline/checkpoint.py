"""Results of stages on disk: arrays and plain values in one NPZ, written whole or not at all; no pickle."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pipeline.atomic import written_whole
from pipeline.errors import PipelineError

VALUES = "__values__"


class Saved(NamedTuple):
    tensors: dict[str, Tensor]
    values: dict[str, Any]


def save(path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Write `tensors` and JSON `values`; the final name appears only when every byte is on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    arrays[VALUES] = np.array(json.dumps(dict(values)))
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())


def load(path: Path) -> Saved:
    """Raises PipelineError for a file that is cut short or was not written by `save`."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        values = json.loads(str(arrays.pop(VALUES)))
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise PipelineError(
            f"{path} is not a complete checkpoint of this project ({error}); delete it and start anew"
        ) from error
    return Saved({name: torch.from_numpy(array) for name, array in arrays.items()}, values)
