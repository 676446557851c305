"""Runs that have ended, found by name: parents of multiruns and studies, and single runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pipeline.host.errors import PipelineError
from pipeline.host.passwords import masked
from pipeline.settings.nearest import did_you_mean
from pipeline.tracking.store import runs_newest_first

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

EARLY = ("KILLED", "FAILED")  # stopped, or a job failed


def ended_parents(client: MlflowClient) -> list[MlflowRun]:
    """Returns parents and studies (both say their command) that finished, the newest first; then those that were
    stopped or of which a job failed, where they have something to show."""
    ended = [run for status in EARLY for run in parents_with(client, status)]
    shown = [run for run in ended if {"mlflow.note.content", "jobs"} <= run.data.tags.keys()]
    newest_first = sorted(shown, key=lambda run: run.info.start_time, reverse=True)
    return [*parents_with(client, "FINISHED"), *newest_first]


def parents_with(client: MlflowClient, status: str) -> list[MlflowRun]:
    """Returns those of a status, the newest first."""
    where = [experiment.experiment_id for experiment in client.search_experiments()]
    return list(runs_newest_first(client, where, f"tags.command LIKE '%' and attributes.status = '{status}'"))


def alphabetical(names: Iterable[str]) -> str:
    """Returns each name once, in the order of the alphabet."""
    return ", ".join(sorted(set(names))) or "none yet"


def ended_parent(client: MlflowClient, name: str) -> MlflowRun:
    """Returns the newest parent or study of that name that finished, else that was stopped or failed in part.

    Raises PipelineError, with the names there are, where there is none.
    """
    known = ended_parents(client)
    for run in known:
        if run.info.run_name == name:
            return run
    names = [str(run.info.run_name) for run in known]
    raise PipelineError(
        f"no finished multirun or study is named {name!r} in {masked(str(client.tracking_uri))}; there are: "
        f"{alphabetical(names)}{did_you_mean(name, set(names))}"
    )


def finished_run(client: MlflowClient, name: str) -> MlflowRun:
    """Returns the newest finished run of that name. Raises PipelineError where there is none."""
    where = [experiment.experiment_id for experiment in client.search_experiments()]
    wanted = f"attributes.run_name = '{name}' and attributes.status = 'FINISHED'"
    found = [] if "'" in name else client.search_runs(
        where, wanted, order_by=["attributes.start_time DESC"], max_results=1
    )  # fmt: skip
    if not found:
        raise PipelineError(
            f"no finished run is named {name!r} in {masked(str(client.tracking_uri))}, and no folder; give a run's "
            "name, or the folder of a saved model"
        )
    return found[0]
