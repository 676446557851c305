"""Arrays that take long to make, kept on disk under the hash of all that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from data.download import data_root


def cache_folders(name: str, root: str | None) -> list[Path]:
    """Where a cache may lie: below the data root, and, where that cannot be written, below the user's own cache."""
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orthogonal-psrnn" / "data"
    return [data_root(root) / name, own / name]


def key_of(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(parts), sort_keys=True, default=str).encode()).hexdigest()[:16]


def cached_array(
    make: Callable[[], np.ndarray], *, name: str, key: Mapping[str, Any], root: str | None = None
) -> np.ndarray:
    """The array of `key` from disk, else `make()`, which is then kept. A damaged file is named and made again."""
    file = f"{name}-{key_of(key)}.npy"
    folders = cache_folders(name, root)
    for folder in folders:
        found = read_array(folder / file)
        if found is not None:
            return found
    made = make()
    if not any(write_array(folder / file, made) for folder in folders):
        warnings.warn(f"{name}: no folder to keep the data in can be written; it is made again next time", stacklevel=2)
    return made


def read_array(path: Path) -> np.ndarray | None:
    if not path.exists():
        return None
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        warnings.warn(f"{path}: damaged ({error}); made again", stacklevel=3)
        return None


def write_array(path: Path, array: np.ndarray) -> bool:
    """Through a temporary name beside it; False where nothing can be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        return False
    return True
