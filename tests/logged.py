"""What a run has left in MLflow, as tests read it."""

from __future__ import annotations

import io
from typing import Any

import mlflow
import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Run

from data.files.exact_numbers import EXACT


def only_run(client: MlflowClient) -> Run:
    (run,) = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    return run


def table(run: Any, path: str) -> pd.DataFrame:
    """A CSV among the artifacts of a run."""
    return pd.read_csv(io.StringIO(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/{path}")), **EXACT)


def artifacts(client: MlflowClient, run: Any, folder: str = "") -> set[str]:
    """The paths of files and folders directly in a folder of a run's artifacts."""
    return {item.path for item in client.list_artifacts(run.info.run_id, folder)}
