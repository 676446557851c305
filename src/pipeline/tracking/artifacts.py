"""Artifacts of runs that may have logged them or not."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


def fetched(client: MlflowClient, run: str, path: str, folder: Path) -> Path | None:
    """Returns a run's artifact of that path as a file below `folder`; None where the run logged none."""
    within = PurePosixPath(path).parent
    listed = client.list_artifacts(run, str(within) if within.name else None)
    if all(item.path != path for item in listed):
        return None
    return Path(client.download_artifacts(run, path, str(folder)))
