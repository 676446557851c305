"""The logged model: written for MLflow, found again by its URI."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import Model, ModelSignature
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

import models
from models.forecasting.extensions import TRAVELS, top
from models.forecasting.forecaster import Forecaster, read_description, save_forecaster
from pipeline.compare.comparison import Comparison
from pipeline.host.errors import PipelineError
from pipeline.host.paths import store_folder
from pipeline.tracking.registry import register
from pipeline.tracking.run import Run, keeps_models, scratch_folder
from pipeline.tracking.store import file_lock

MARK = {"project": "orthogonal-psrnn"}
SERVED = Path(__file__).with_name("served.py")
REQUIREMENTS = ("mlflow", "torch", "numpy", "pandas")
PARAMETERS, EXAMPLE = "parameters", "example.csv"
EXAMPLE_ROWS = 10
MOST_ROWS = 10_000  # horizon × sequences that a served model forecasts in one answer, unless it is told otherwise
BEST_SO_FAR = "best_so_far"  # tag of the job of a multirun whose parameters are kept: its validation error


def requirements(own: Sequence[str] = ()) -> list[str]:
    """Returns what the model needs, pinned, and what a class of one's `own` needs beside it. The build suffix of
    torch ("+cpu") is left off, as an index need not have it."""
    ours = [f"{name}=={version(name).split('+')[0]}" for name in REQUIREMENTS]
    return [*ours, *(line for line in own if line not in ours)]


def signature(feature_names: Sequence[str]) -> ModelSignature:
    """Returns the signature: output columns, the forecast horizon and the coverage of intervals.

    There is no input schema: MLflow would turn an array into a frame without names and drop all of its columns. The
    model checks its input itself; its columns stand in the output schema, the input example and the metadata.
    """
    outputs = Schema(
        [*(ColSpec(DataType.double, name) for name in feature_names), ColSpec(DataType.string, "sequence")]
    )
    params = [ParamSpec("horizon", DataType.long, 0), ParamSpec("interval", DataType.double, 0.0)]
    return ModelSignature(outputs=outputs, params=ParamSchema(params))


def log_parameters(run: Run, forecaster: Forecaster, example: np.ndarray) -> None:
    """Logs the trained parameters and some rows of data as plain files under `parameters/`."""
    with scratch_folder() as folder:
        save_forecaster(forecaster, folder)
        example_frame(example[:EXAMPLE_ROWS], forecaster.feature_names).to_csv(folder / EXAMPLE, index=False)
        run.client.log_artifacts(run.id, str(folder), PARAMETERS)


def model_parts(parameters: Path, example: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """Returns what MLflow makes a model of: the files in `parameters`, the code that serves them, and the package
    `models`, which is copied to `folder`. A class of one's own is among the files."""
    description = read_description(parameters)
    names, home = description["feature_names"], top(description["class"])
    code = folder / "models"
    shutil.copytree(Path(models.__file__).parent, code, ignore=shutil.ignore_patterns("__pycache__"))
    return {
        "python_model": str(SERVED),
        "artifacts": {"parameters": str(parameters)},
        "code_paths": [str(code)],
        "signature": signature(names),
        "input_example": (example, {"horizon": 0}),
        "pip_requirements": requirements(description.get("requirements", ())),
        "metadata": {**MARK, "columns": names, "history": description.get("history", 0)},
        "model_config": {"most_rows": MOST_ROWS, "own_module": None if home == TRAVELS else home},
    }


def log_model(
    run: Run, parameters: Path, example: pd.DataFrame, comparison: Comparison, *, name: str | None = None
) -> str:
    """Logs the model whose files lie in `parameters`, and registers it under `name` if there is one; returns its URI.

    It carries the package `models` with it.
    """
    logged: Any = None
    with scratch_folder() as folder:
        parts = model_parts(parameters, example, folder)
        with mlflow.start_run(run_id=run.id, log_system_metrics=False):
            logged = mlflow.pyfunc.log_model(name="model", **parts)
    if name is None:
        return f"runs:/{run.id}/model"
    run.flush()  # the version shows the run's errors
    return register(run.client, run.id, logged, name, comparison)


def load_model(uri: str, *, most_rows: int | None = MOST_ROWS) -> Any:
    """Returns the logged model at an MLflow URI; it forecasts at most `most_rows` rows at once, None: any number.

    Raises PipelineError when there is none, or it is not one of this project.
    """
    try:
        found = Model.load(uri)  # also of a folder from another store, where MLflow's get_model_info looks it up
        if (found.metadata or {}).get("project") != MARK["project"]:
            raise PipelineError(f"model={uri} is not a model of this project; give the URI that a training run printed")
        bounded = "most_rows" in (found.flavors["python_function"].get("config") or {})  # logged before there was one
        return mlflow.pyfunc.load_model(uri, model_config={"most_rows": most_rows} if bounded else None)
    except (MlflowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise PipelineError(f"model={uri} cannot be loaded: {reason}") from error


def model_columns(model: Any) -> list[str]:
    return list(model.metadata.metadata["columns"])


def model_history(model: Any) -> int:
    """Returns `Forecaster.history` of a logged model; 0 for a model that was logged before it was noted."""
    return int(model.metadata.metadata.get("history", 0))


def example_frame(values: np.ndarray, feature_names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(values, columns=list(feature_names)).assign(sequence="a")


def keep_model(
    run: Run, forecaster: Forecaster, tracking: Any, comparison: Comparison, *, example: np.ndarray, error: float
) -> str | None:
    """Logs parameters and model as `tracking.log_model` says; returns the model's URI if there is one.

    true: both. best, in a multirun: the parameters if no sibling has a smaller validation `error` so far, in place of
    that sibling's; the parent logs the model of the best at its end. false: neither. A single run registers its model
    under `tracking.register`; of a multirun the parent registers the best.
    """
    if not keeps_models(tracking):
        return None
    mode = str(tracking.log_model if tracking.log_model is not None else ("best" if tracking.parent else True)).lower()
    if mode == "best" and tracking.parent:
        with file_lock(store_folder() / ".best.lock"):  # parallel jobs look at the same siblings
            keep_if_best(run, forecaster, tracking.parent, comparison, example=example, error=error)
        return None
    log_parameters(run, forecaster, example)
    with scratch_folder() as folder:
        save_forecaster(forecaster, folder)
        rows = example_frame(example[:EXAMPLE_ROWS], forecaster.feature_names)
        return log_model(run, folder, rows, comparison, name=None if tracking.parent else tracking.register)


def keep_if_best(
    run: Run, forecaster: Forecaster, parent: str, comparison: Comparison, *, example: np.ndarray, error: float
) -> None:
    siblings = run.client.search_runs(
        [run.experiment_id], filter_string=f"tags.`mlflow.parentRunId` = '{parent}' and tags.{BEST_SO_FAR} != ''"
    )
    ranks = [comparison.rank(float(sibling.data.tags[BEST_SO_FAR])) for sibling in siblings]
    if not math.isfinite(error) or any(other <= comparison.rank(error) for other in ranks):
        return
    log_parameters(run, forecaster, example)
    run.tags({BEST_SO_FAR: repr(error)})
    for sibling in siblings:
        run.client.delete_tag(sibling.info.run_id, BEST_SO_FAR)
        get_artifact_repository(str(sibling.info.artifact_uri)).delete_artifacts(PARAMETERS)
