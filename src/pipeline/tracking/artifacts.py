"""Artifacts of runs that may have logged them or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from data.files.exact_numbers import EXACT
from pipeline.tracking.run import scratch_folder

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

Read = TypeVar("Read")


def fetched(client: MlflowClient, run: str, path: str, folder: Path) -> Path | None:
    """Returns a run's artifact of that path as a file below `folder`; None where the run logged none."""
    within = PurePosixPath(path).parent
    listed = client.list_artifacts(run, str(within) if within.name else None)
    if all(item.path != path for item in listed):
        return None
    return Path(client.download_artifacts(run, path, str(folder)))


def read_by_run(
    client: MlflowClient, runs: Iterable[Any], path: str, read: Callable[[Path], Read]
) -> Iterator[tuple[str, Read]]:
    """Yields each run that logged an artifact of that path, with what `read` makes of the file. A file is fetched when
    its run's turn comes, so that who needs the first few alone asks for no more."""
    with scratch_folder() as scratch:
        for run in map(str, runs):
            file = fetched(client, run, path, scratch)
            if file is not None:
                yield run, read(file)


def tables_by_run(
    client: MlflowClient, runs: Iterable[Any], path: str, **read: Any
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yields what `read_by_run` does of an artifact that is a table with exact numbers. read: as `pandas.read_csv`
    takes it."""
    return read_by_run(client, runs, path, lambda file: pd.read_csv(file, **EXACT, **read))
