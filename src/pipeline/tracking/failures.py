"""Jobs of a multirun that fail before they have a run: bad settings, data that cannot be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.settings.job import Job
from pipeline.settings.messages import one_line
from pipeline.tracking.run import Run, create_run
from pipeline.tracking.store import experiment_id, newest_run, open_store

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

NOT_BEGUN = "not_begun"


def run_of_job(client: MlflowClient, experiment: str, parent: str, job: str) -> MlflowRun | None:
    """Returns the newest run of the job with this number."""
    return newest_run(client, experiment, f"tags.`mlflow.parentRunId` = '{parent}' and tags.job = '{job}'")


def record_failure(config: Any, job: Job, error: Exception) -> None:
    """Records a failed run under the parent for a job that ended before its own began; nothing where it had begun."""
    tracking = config.tracking
    if not (tracking.enabled and tracking.parent):
        return
    client = open_store(tracking.uri, wait=tracking.wait)
    where = experiment_id(client, tracking.experiment)
    known = run_of_job(client, where, tracking.parent, str(job.number))
    if known is not None and NOT_BEGUN not in known.data.tags:
        return
    tags = {"mlflow.parentRunId": tracking.parent, "job": str(job.number), "hydra.overrides": " ".join(job.overrides)}
    run = Run(client, known.info.run_id) if known else create_run(client, where, f"job-{job.number}", tags)
    run.tags({NOT_BEGUN: "true", "error": one_line(error)[:5000]})
    run.finish("FAILED")


def forget_failure(client: MlflowClient, experiment: str, parent: str, job: str) -> None:
    """Deletes what `record_failure` left of a job that is tried again: its own run takes the place."""
    known = run_of_job(client, experiment, parent, job)
    if known is not None and NOT_BEGUN in known.data.tags:
        client.delete_run(known.info.run_id)
