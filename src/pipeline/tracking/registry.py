"""The model registry: a version for every model that is registered, the alias `best` on that of least error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.compare.arms import MEASURED, measured_of
from pipeline.compare.comparison import Comparison
from pipeline.host.errors import PipelineError

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

BEST, DATA = "best", "data.checksum"


def versions_of(client: MlflowClient, name: str) -> list[ModelVersion]:
    """Returns all versions of ours under the name, the oldest first."""
    versions: list[ModelVersion] = []
    token: str | None = None
    while True:
        page = client.search_model_versions(f"name = '{name}'", page_token=token)
        versions += page
        token = page.token
        if not token:
            return sorted((v for v in versions if DATA in v.tags), key=lambda version: int(version.version))


def unlike_in(version: Mapping[str, str], run: Mapping[str, str]) -> str:
    """Returns why the errors of a version and of a run, given by their tags, cannot be compared; "" where they can be.
    Where one of them is of older code, which does not say what errors are of, their data alone decide."""
    (data, known), (other, asked) = ((tags[DATA], measured_of(tags)) for tags in (version, run))
    if data != other:
        return f"was trained on other data (checksum {data[:12]}, now {other[:12]})"
    return f"is measured otherwise ({known}, now {asked})" if known and asked and known != asked else ""


def refuse_other_data(client: MlflowClient, name: str, tags: Mapping[str, str]) -> None:
    """Raises PipelineError when the versions were trained on other data or are measured otherwise: their errors cannot
    be compared. tags: of the run that is to be a version."""
    for version in versions_of(client, name):
        unlike = unlike_in(version.tags, tags)
        if unlike:
            raise PipelineError(
                f"tracking.register={name}: version {version.version} {unlike}, so errors cannot be compared; "
                "take another name"
            )


def best_version(versions: list[ModelVersion], comparison: Comparison) -> ModelVersion | None:
    """Returns the version that is best on the validation part, the oldest of equals; None when no error is finite."""
    chosen_by = comparison.chosen_by
    ranks = [(comparison.rank(float(v.tags[chosen_by])), v) for v in versions if chosen_by in v.tags]
    finite = [(rank, version) for rank, version in ranks if math.isfinite(rank)]
    return min(finite, key=lambda pair: pair[0], default=(None, None))[1]


def move_alias(client: MlflowClient, name: str, comparison: Comparison) -> None:
    """Sets the alias `best`, and again until no version that was registered meanwhile is better."""
    best = best_version(versions_of(client, name), comparison)
    while best is not None:
        client.set_registered_model_alias(name, BEST, best.version)
        again = best_version(versions_of(client, name), comparison)
        if again is None or again.version == best.version:
            return
        best = again


def link_metrics(client: MlflowClient, run_id: str, model_id: str, shown: Sequence[str]) -> dict[str, str]:
    """Makes the run's last errors metrics of its logged model too, with no new row in the run; returns them as text."""
    from mlflow.entities import Metric

    logged = client.get_run(run_id).data.metrics
    rows = [client.get_metric_history(run_id, key)[-1] for key in shown if key in logged]
    linked = [Metric(row.key, row.value, row.timestamp, row.step, model_id=model_id) for row in rows]
    client.log_batch(run_id, metrics=linked)
    return {row.key: repr(row.value) for row in rows}


def make_registered_model(client: MlflowClient, name: str) -> None:
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import RESOURCE_ALREADY_EXISTS, ErrorCode

    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != ErrorCode.Name(RESOURCE_ALREADY_EXISTS):
            raise


def register(client: MlflowClient, run_id: str, model: Any, name: str, comparison: Comparison) -> str:
    """Registers the logged model of a run with its errors and moves the alias; returns `models:/NAME@best` and the
    like.

    model: what MLflow knows of the logged model (`model_id`, `model_uri`). Raises PipelineError for a name whose
    versions were trained on other data or are measured otherwise.
    """
    tags = client.get_run(run_id).data.tags
    refuse_other_data(client, name, tags)
    metrics = link_metrics(client, run_id, model.model_id, comparison.shown)
    make_registered_model(client, name)
    chosen_by = comparison.chosen_by
    version_tags = {chosen_by: tags[chosen_by], DATA: tags[DATA], "data.source": tags["data.source"], **metrics}
    if measured_of(tags):
        version_tags[MEASURED] = measured_of(tags)
    version = client.create_model_version(
        name,
        model.model_uri,
        run_id,
        tags=version_tags,
        model_id=model.model_id,
        description=tags.get("mlflow.note.content"),
    )
    move_alias(client, name, comparison)
    return f"models:/{name}/{version.version}"
