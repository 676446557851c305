"""Files that hold tables, read into one frame; what cannot be read ends in one line that names the file."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from data.base import DataError
from data.npz import MOST_UNPACKED, read_arrays

SEQUENCE = "sequence"
CHUNK = 1 << 20


def check_gzip(path: Path) -> None:
    """Raises ValueError for a file that unpacks to more than `MOST_UNPACKED` bytes; takes no memory to tell."""
    size = 0
    with gzip.open(path) as stream:
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            if size > MOST_UNPACKED:
                raise ValueError(f"it unpacks to more than {MOST_UNPACKED} bytes; if you trust it, unpack it yourself")


def read_packed_csv(path: Path) -> tuple[pd.DataFrame, str | None]:
    check_gzip(path)
    return read_csv(path)


def read_csv(path: Path) -> tuple[pd.DataFrame, str | None]:
    separator = "\t" if ".tsv" in path.suffixes else ","
    header = pd.read_csv(path, sep=separator, skipinitialspace=True, header=None, nrows=1, dtype=str).iloc[0]
    repeated = header[header.duplicated() & header.notna()]
    if len(repeated):
        raise ValueError(f"the column {repeated.iloc[0]!r} stands twice; rename one")
    return pd.read_csv(path, sep=separator, skipinitialspace=True, low_memory=False), None


def read_parquet(path: Path) -> tuple[pd.DataFrame, str | None]:
    return pd.read_parquet(path), None


def read_npz(path: Path) -> tuple[pd.DataFrame, str | None]:
    """`values`, or the only array, ([sequence,] time, feature); names from `feature_names`, else x0, x1, …"""
    arrays = read_arrays(path)
    names = arrays.pop("feature_names", None)
    values = arrays.get("values", next(iter(arrays.values()))) if len(arrays) == 1 or "values" in arrays else None
    if values is None:
        raise ValueError(f"it holds {', '.join(arrays) or 'no array'}; name the one to use 'values'")
    if values.ndim not in (2, 3):
        raise ValueError(f"values have shape {values.shape}; (time, feature) or (sequence, time, feature) is needed")
    columns = [f"x{i}" for i in range(values.shape[-1])] if names is None else [str(name) for name in names]
    if len(columns) != values.shape[-1]:
        raise ValueError(f"{len(columns)} feature_names for {values.shape[-1]} features")
    frame = pd.DataFrame(values.reshape(-1, values.shape[-1]).astype(np.float64), columns=columns)
    if values.ndim == 2:
        return frame, None
    return frame.assign(**{SEQUENCE: np.repeat(np.arange(len(values)), values.shape[1])}), SEQUENCE


READERS: dict[str, Callable[[Path], tuple[pd.DataFrame, str | None]]] = {
    ".csv": read_csv,
    ".csv.gz": read_packed_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".npz": read_npz,
}


def read_frame(path: Path) -> tuple[pd.DataFrame, str | None]:
    """The table, and the name of its group column where the file itself tells sequences apart (3-D NPZ).

    Raises DataError for an unknown ending, a file that cannot be read, and one without rows.
    """
    reader = next((read for ending, read in READERS.items() if path.name.lower().endswith(ending)), None)
    if reader is None:
        raise DataError(f"{path}: unknown kind of file; readable are {', '.join(READERS)}")
    try:
        frame, group = reader(path)
    except (ValueError, OSError, EOFError, KeyError, MemoryError, zlib.error, zipfile.BadZipFile) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(f"{path}: cannot be read: {reason}") from error
    if frame.empty:
        raise DataError(f"{path}: there are no rows")
    return frame.rename(columns=str), group
