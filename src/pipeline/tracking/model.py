"""The logged model: written for MLflow, found again by its URI."""

from __future__ import annotations

import importlib
import math
import re
import shlex
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities import LoggedModel, LoggedModelStatus
from mlflow.exceptions import MlflowException
from mlflow.models import Model
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.tracking import MlflowClient

from pipeline.compare.arms import data_of
from pipeline.compare.comparison import Comparison
from pipeline.host.errors import PipelineError
from pipeline.host.locks import file_lock
from pipeline.host.paths import store_folder
from pipeline.tracking.registry import register
from pipeline.tracking.run import Run, keeps_models, scratch_folder
from pipeline.tracking.servable import Servable, TrainedModel

MARK = {"project": "orthogonal-psrnn"}
MODEL = "model"  # the name of each logged model
ORIGIN = ("mlflow.user", "mlflow.source.")  # tags of a run that its logged model has too: columns of the UI
PARAMETERS = "parameters"  # folder of a run, and artifact of a logged model
NOT_KEPT = "not_kept"  # tag of a run whose model cannot be kept: why
BEST_SO_FAR = "best_so_far"  # tag of the job of a multirun whose parameters are kept: its validation error


def model_parts(servable: Servable, folder: Path) -> dict[str, Any]:
    """Returns what MLflow makes a model of: the saved parameters, the code that serves them, and the packages that it
    needs, which are copied to `folder`."""
    for name in servable.packages:
        origin = Path(str(importlib.import_module(name).__file__)).parent
        shutil.copytree(origin, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return {
        "python_model": str(servable.code),
        "artifacts": {PARAMETERS: str(servable.parameters)},
        "code_paths": [str(folder / name) for name in servable.packages],
        "signature": servable.signature,
        "input_example": servable.example,
        "pip_requirements": list(servable.requirements),
        "metadata": {**MARK, **servable.metadata},
        "model_config": dict(servable.model_config),
    }


def log_model(run: Run, servable: Servable, comparison: Comparison, *, name: str | None = None) -> str:
    """Logs the model and registers it under `name` if there is one; returns its URI.

    It carries the packages of this project that it needs with it. The status of the run stays what it is:
    `mlflow.start_run` would reopen a run that has finished, and leave it unfinished where the process ends meanwhile.
    """
    known = run.client.get_run(run.id).data
    origin = {key: value for key, value in known.tags.items() if key.startswith(ORIGIN)}
    begun = run.client.create_logged_model(run.experiment_id, MODEL, run.id, origin, known.params)
    with scratch_folder() as folder, warnings.catch_warnings():
        for kind in servable.silent:
            warnings.simplefilter("ignore", kind)
        parts = model_parts(servable, folder)
        logged = Model.log(None, mlflow.pyfunc, run_id=run.id, model_id=begun.model_id, **parts)
    if name is None:
        return f"runs:/{run.id}/{MODEL}"
    run.flush()  # the version shows the run's errors
    return register(run.client, run.id, logged, name, comparison)


def logged_model_of(client: MlflowClient, run_id: str) -> LoggedModel | None:
    """Returns the model that was logged from a run; None where there is none that is whole."""
    outputs = client.get_run(run_id).outputs
    models = [client.get_logged_model(output.model_id) for output in outputs.model_outputs] if outputs else []
    return next((model for model in models if model.status == LoggedModelStatus.READY), None)


def changed(found: Model, uri: str, settings: dict[str, Any]) -> dict[str, Any] | None:
    """Returns those of the settings that the model was logged with; None for none of them. Raises PipelineError for
    another one that is not null."""
    known = found.flavors["python_function"].get("config") or {}
    lacking = [name for name, value in settings.items() if value is not None and name not in known]
    if lacking:
        raise PipelineError(f"model={uri} has no setting {lacking[0]}; leave it out")
    return {name: value for name, value in settings.items() if name in known} or None


def refuse_run(uri: str) -> None:
    """Raises PipelineError for a URI that names a run, of 32 hexadecimal digits, and no model of it."""
    named = re.fullmatch(r"(?:runs:/+)?([0-9a-f]{32})/?", uri)
    if named:
        raise PipelineError(f"model={uri} names a run and not its model; give model=runs:/{named[1]}/{MODEL}")


def load_model(uri: str, **settings: Any) -> Any:
    """Returns the logged model at an MLflow URI, with `settings` in place of those that it was logged with
    (`Servable.model_config`).

    Raises PipelineError when there is none, when it is not one of this project, without a package that it needs, for a
    setting that it does not have, unless that is None, and for a URI of a run.
    """
    refuse_run(uri)
    try:
        found = Model.load(uri)  # also of a folder from another store, where MLflow's get_model_info looks it up
        if (found.metadata or {}).get("project") != MARK["project"]:
            raise PipelineError(f"model={uri} is not a model of this project; give the URI that a training run printed")
        return mlflow.pyfunc.load_model(uri, model_config=changed(found, uri, settings))
    except (MlflowException, OSError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise PipelineError(f"model={uri} cannot be loaded: {reason}") from error


def keep_model(run: Run, model: TrainedModel, tracking: Any, comparison: Comparison) -> str | None:
    """Logs parameters and model as `tracking.log_model` says; returns the model's URI if there is one.

    true: both. best, in a multirun: the parameters if no sibling on the same data has a better `model.error` so
    far, in place of that sibling's; the parent logs the model of the best at its end. false: neither. A single run
    registers its model under `tracking.register`; of a multirun the parent registers the best.
    """
    if not keeps_models(tracking):
        return None
    mode = str(tracking.log_model if tracking.log_model is not None else ("best" if tracking.parent else True)).lower()
    if mode == "best" and tracking.parent:
        with file_lock(store_folder() / ".best.lock"):  # parallel jobs look at the same siblings
            keep_if_best(run, model, tracking.parent, comparison)
        return None
    with scratch_folder() as folder:
        log_parameters(run, model, folder)
        return log_model(run, model.servable(folder), comparison, name=None if tracking.parent else tracking.register)


def kept_in_words(
    run: Run, model: TrainedModel, tracking: Any, comparison: Comparison, reading: Sequence[str] = (), *,
    path: str = "new.csv",
) -> str:  # fmt: skip
    """Keeps a model as `keep_model` does; returns, behind an empty line, how to predict with it, "" without a URI.

    reading, path: as of `how_to_predict`.
    """
    uri = keep_model(run, model, tracking, comparison)
    return "" if uri is None else f"\n\n{how_to_predict(uri, reading, path=path)}"


def how_to_predict(uri: str, reading: Sequence[str] = (), *, path: str = "new.csv") -> str:
    """Returns the command that predicts a new file. reading: the settings by which a file is read as this run's. path:
    what the file is called."""
    asked = shlex.join(["recipe=predict", f"model={uri}", f"data.path={path}", *reading])
    return f"predict: python -m pipeline {asked}"


def read_as(overrides: Sequence[str]) -> list[str]:
    """Returns what was typed to say how columns and numbers of a text file are written."""
    return [typed for typed in overrides if typed.startswith(("data.delimiter=", "data.decimal="))]


def log_parameters(run: Run, model: TrainedModel, folder: Path) -> None:
    """Logs the trained parameters and some rows of data, as plain files, which are written to `folder`."""
    model.write(folder)
    run.client.log_artifacts(run.id, str(folder), PARAMETERS)


def keep_if_best(run: Run, model: TrainedModel, parent: str, comparison: Comparison) -> None:
    """Keeps the parameters of a job where they are the best so far of its parent's jobs on the same data, in place of
    those of the best before. A job that ran before its file was changed is none of these, and neither is one that was
    measured otherwise (`data_of`)."""
    found = run.client.search_runs(
        [run.experiment_id], filter_string=f"tags.`mlflow.parentRunId` = '{parent}' and tags.{BEST_SO_FAR} != ''"
    )
    data, *others = data_of([own.data.tags for own in (run.client.get_run(run.id), *found)])
    siblings = [sibling for sibling, other in zip(found, others, strict=True) if other == data]
    ranks = [comparison.rank(float(sibling.data.tags[BEST_SO_FAR])) for sibling in siblings]
    if not math.isfinite(model.error) or any(other <= comparison.rank(model.error) for other in ranks):
        return
    with scratch_folder() as folder:
        log_parameters(run, model, folder)
    run.tags({BEST_SO_FAR: repr(model.error)})
    for sibling in siblings:
        run.client.delete_tag(sibling.info.run_id, BEST_SO_FAR)
        get_artifact_repository(str(sibling.info.artifact_uri)).delete_artifacts(PARAMETERS)
