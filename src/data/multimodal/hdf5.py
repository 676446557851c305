"""Arrays of HDF5 files, by the extra `h5`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from data.base import DataError

INSTALL = "pip install -c constraints.txt -e '.[h5]'"


def readable() -> bool:
    """Returns true where h5py is installed."""
    return find_spec("h5py") is not None


def read_array(path: Path, key: str, *, axes: int) -> np.ndarray:
    """Returns an array of a file as float64. Raises DataError, naming the file, where h5py is not installed, and for a
    file without such an array of numbers, or with another number of axes."""
    if not readable():
        raise DataError(f"{path}: h5py is needed to read it; install it with: {INSTALL}")
    try:
        with import_module("h5py").File(path, "r") as file:
            values = np.asarray(file[key][()], dtype=np.float64)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); put the original file there") from error
    if values.ndim != axes:
        raise DataError(f"{path}: {key} has shape {values.shape}, not {axes} axes; put the original file there")
    return values
