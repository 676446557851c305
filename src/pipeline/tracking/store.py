"""The tracking store: where it is, made once before anybody writes to it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.host.errors import PipelineError
from pipeline.host.locks import file_lock
from pipeline.host.passwords import masked
from pipeline.host.paths import ensure_writable, store_folder
from pipeline.tracking.location import database_of, settle_store
from pipeline.tracking.outbox import send_unsent
from pipeline.tracking.server import ask_patiently, wait_for_server

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

MODEL_TRAINING = {"mlflow.experimentKind": "custom_model_development"}  # the UI's view for training runs
UI_HINT = "mlflow ui --backend-store-uri"
WAIT_SECONDS = 60.0  # for a server, at the start


def tracking_uri(uri: str | None) -> str:
    """Returns `tracking.uri`, else MLFLOW_TRACKING_URI, else the SQLite file in mlruns/, always absolute."""
    return uri or os.environ.get("MLFLOW_TRACKING_URI") or local_uri()


def local_uri() -> str:
    return f"sqlite:///{database_of(store_folder())}"


def sqlite_file(uri: str) -> Path | None:
    """Returns the file of a SQLite store; None for a server's address."""
    from sqlalchemy.engine import make_url

    name = make_url(uri).database if uri.startswith("sqlite:///") else None
    return Path(name) if name not in (None, "", ":memory:") else None


def open_store(uri: str | None, *, wait: float = WAIT_SECONDS) -> MlflowClient:
    """Returns a client on the store. Its SQLite file is made, mended or upgraded under a lock, so that jobs that start
    together find it whole (`database.prepare_database`).

    A server is waited for up to `wait` seconds. What earlier processes could not send to this store is sent now. Where
    the folder of the local store was moved, the places of its artifacts are put right (`location.settle_store`). Raises
    PipelineError when the store cannot be written or reached.
    """
    import mlflow
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient
    from sqlalchemy.exc import SQLAlchemyError

    from pipeline.tracking.database import prepare_database

    resolved = tracking_uri(uri)
    ensure_writable(store_folder())
    if resolved.startswith("http"):
        wait_for_server(resolved, wait)
        ask_patiently()
    try:
        file = sqlite_file(resolved)
        folder = file.parent if file else store_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with file_lock(folder / ".store.lock"):
            if file:
                prepare_database(file)
            mlflow.set_tracking_uri(resolved)
            client = MlflowClient(tracking_uri=resolved)
            client.search_experiments(max_results=1)
            if resolved == local_uri():
                settle_store(store_folder())
    except (MlflowException, OSError, sqlite3.Error, SQLAlchemyError) as error:
        reason = str(error).splitlines()[0]
        told = f"the tracking store {resolved} cannot be used: {reason}; see tracking.uri"
        raise PipelineError(masked(told)) from error
    send_unsent(client)
    return client


def experiment_id(client: MlflowClient, name: str) -> str:
    """Returns the MLflow experiment of that name, made if need be; artifacts of the local store lie under
    mlruns/artifacts."""
    with file_lock(store_folder() / ".store.lock"):
        experiment = client.get_experiment_by_name(name)
        if experiment is not None:
            if experiment.lifecycle_stage != "active":
                raise PipelineError(
                    f"the MLflow experiment {name!r} was deleted; restore it or set tracking.experiment"
                )
            return experiment.experiment_id
        local = str(client.tracking_uri).startswith("sqlite:///")
        location = (store_folder() / "artifacts" / name).as_uri() if local else None
        return client.create_experiment(name, artifact_location=location, tags=MODEL_TRAINING)


def newest_run(client: MlflowClient, experiment: str, condition: str) -> MlflowRun | None:
    """Returns the newest run of an experiment that fulfils the condition, in MLflow's words; None where none does."""
    newest = client.search_runs(
        [experiment], filter_string=condition, order_by=["attributes.start_time DESC"], max_results=1
    )
    return newest[0] if newest else None


def runs_newest_first(client: MlflowClient, experiments: list[str], condition: str) -> Iterator[MlflowRun]:
    """Yields the runs that fulfil the condition, in MLflow's words; the store is asked for a page at a time."""
    token = None
    while True:
        page = client.search_runs(experiments, condition, order_by=["attributes.start_time DESC"], page_token=token)
        yield from page
        token = page.token
        if not token:
            return
