"""What the last lines of a multirun say of its jobs: how many there were, and what `size` lowered in them."""

from __future__ import annotations

import json

from mlflow.entities import Run as MlflowRun

from pipeline.tracking.run import LOWERED
from pipeline.tracking.session import PRUNED


def stopped_before_end(children: list[MlflowRun]) -> list[MlflowRun]:
    """Returns the jobs that were stopped. Pruned jobs have ended and are not among them."""
    return [child for child in children if child.info.status == "KILLED" and PRUNED not in child.data.tags]


def failed_among(children: list[MlflowRun]) -> list[MlflowRun]:
    """Returns the jobs that failed or were stopped. Pruned jobs are not among them."""
    return [child for child in children if child.info.status != "FINISHED" and PRUNED not in child.data.tags]


def counts_in_words(children: list[MlflowRun], planned: int, *, whole: bool) -> str:
    """Returns how many jobs there were and what became of them: "8 jobs, 0 failed".

    children: the jobs that have a run. planned: how many were to run; 0 where that was not known. whole: the multirun
    came to its end, so that the other jobs were left out because they would repeat one that ran.
    """
    stopped, pruned = len(stopped_before_end(children)), sum(PRUNED in child.data.tags for child in children)
    ends = {"stopped": stopped, "pruned": pruned}
    said = "".join(f", {number} {what}" for what, number in ends.items() if number)
    failed, run = f"{len(failed_among(children)) - stopped} failed{said}", len(children)
    if run >= planned:
        return f"{run} job{'s' * (run != 1)}, {failed}"
    if not whole:
        return f"{run} of {planned} jobs, {failed}"
    return f"{planned} jobs: {run} run, {planned - run} not run as they would repeat those; {failed}"


def had_limits(children: list[MlflowRun]) -> bool:
    """Returns whether `size` had any limit in one of the jobs."""
    limits = [value for job in children for key, value in job.data.params.items() if key.startswith("size.")]
    return any(limit != "None" for limit in limits)


def lowered_in(children: list[MlflowRun]) -> list[str]:
    """Returns what `size` lowered in any of the jobs, in words, each once, in the order of the jobs."""
    in_order = sorted(children, key=lambda child: int(child.data.tags.get("job", 0)))
    said = (word for child in in_order for word in json.loads(child.data.tags.get(LOWERED, "[]")))
    return list(dict.fromkeys(said))
