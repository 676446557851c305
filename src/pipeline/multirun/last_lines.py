"""What the last lines of a multirun say of its jobs: how many there were, and what `size` lowered in them."""

from __future__ import annotations

import json
import re

from mlflow.entities import Run as MlflowRun

from pipeline.tracking.run import LOWERED
from pipeline.tracking.session import PRUNED

ONE_NUMBER = re.compile(r"(?P<key>\S+) (?P<value>\d+) → (?P<limit>\d+)")  # that `size` lowered, as a job says it


def stopped_before_end(children: list[MlflowRun]) -> list[MlflowRun]:
    """Returns the jobs that were stopped. Pruned jobs have ended and are not among them."""
    return [child for child in children if child.info.status == "KILLED" and PRUNED not in child.data.tags]


def failed_among(children: list[MlflowRun]) -> list[MlflowRun]:
    """Returns the jobs that failed or were stopped. Pruned jobs are not among them."""
    return [child for child in children if child.info.status != "FINISHED" and PRUNED not in child.data.tags]


def counts_in_words(children: list[MlflowRun], planned: int, status: str) -> str:
    """Returns how many jobs there were and what became of them: "8 jobs, 0 failed".

    children: the jobs that have a run. planned: how many were to run; 0 where that was not known. status: of the
    multirun. Where it FINISHED, the other jobs were left out because they would repeat one that ran; where it FAILED,
    they were left out for that, or Hydra had begun none of them.
    """
    stopped, pruned = len(stopped_before_end(children)), sum(PRUNED in child.data.tags for child in children)
    ends = {"stopped": stopped, "pruned": pruned}
    said = "".join(f", {number} {what}" for what, number in ends.items() if number)
    failed, run = f"{len(failed_among(children)) - stopped} failed{said}", len(children)
    if run >= planned:
        return f"{run} job{'s' * (run != 1)}, {failed}"
    if status == "KILLED":
        return f"{run} of {planned} jobs, {failed}"
    why = " as they would repeat those" if status != "FAILED" else ": they would repeat those, or were not begun"
    return f"{planned} jobs: {run} run, {planned - run} not run{why}; {failed}"


def had_limits(children: list[MlflowRun]) -> bool:
    """Returns whether `size` had any limit in one of the jobs."""
    limits = [value for job in children for key, value in job.data.params.items() if key.startswith("size.")]
    return any(limit != "None" for limit in limits)


def lowered_in(runs: list[MlflowRun]) -> list[str]:
    """Returns what `size` lowered in a multirun, in words: in its sweep, by its parent, and in any of its jobs. What
    was drawn for jobs of a search is one entry a setting ("67–466 → 10").

    runs: the parent and its jobs. Entries come in the order of the jobs, those of the parent first.
    """
    in_order = sorted(runs, key=lambda run: int(run.data.tags.get("job", -1)))
    return joined([word for run in in_order for word in words_in(run.data.tags.get(LOWERED, "[]"))])


def words_in(text: str) -> list[str]:
    """Returns the words of a tag `LOWERED`, and for one that was cut off or changed that it cannot be read."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = None
    return list(map(str, found)) if isinstance(found, list) else [f"settings of a tag {LOWERED} that cannot be read"]


def joined(lowered: list[str]) -> list[str]:
    """Returns each entry once. Whole numbers of one setting that were lowered to the same are one entry: "count 12 →
    10" and "count 64 → 10" are "count 12–64 → 10"."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for entry in lowered:
        number = ONE_NUMBER.fullmatch(entry)
        own = groups.setdefault((number["key"], number["limit"]) if number else (entry,), [])
        own += [int(number["value"])] if number else []
    return [f"{key[0]} {in_a_range(own)} → {key[1]}" if own else key[0] for key, own in groups.items()]


def in_a_range(numbers: list[int]) -> str:
    """Returns the least and the greatest of the numbers: "12–64", or "12" where all are the same."""
    return "–".join(map(str, dict.fromkeys((min(numbers), max(numbers)))))
