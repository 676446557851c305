"""The jobs of a multirun as tables, read from the tracking store."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
from mlflow.entities import Run as MlflowRun

from pipeline.compare.arms import GIVEN, varied
from pipeline.compare.comparison import Comparison, stored_error

NEUTRAL: dict[str, object] = {"arm": "", "count": 0, "stable": True}  # where a system does not say it of its jobs
BEFORE = ("run", "run_id", "data", "stand_in", "arm")
AFTER = ("overrides", "stable", "varied")


def is_compared(child: MlflowRun, comparison: Comparison | None) -> bool:
    """Returns true when the job ended with the metric that it is compared by; others are studies."""
    return comparison is not None and comparison.metric in child.data.metrics


def compared_columns(child: MlflowRun, comparison: Comparison) -> dict[str, object]:
    chosen_by, metric = child.data.tags[comparison.chosen_by], child.data.metrics[comparison.metric]
    errors = {comparison.chosen_by: stored_error(float(chosen_by)), comparison.column: stored_error(metric)}
    return NEUTRAL | errors | comparison.columns(child)


def job_row(child: MlflowRun, comparison: Comparison | None) -> dict[str, object]:
    tags = child.data.tags
    row = {
        "run": child.info.run_name,
        "run_id": child.info.run_id,
        "data": tags["data"],
        "stand_in": tags["data.stand_in"] == "true",
        "seed": int(child.data.params["seed"]),
        "overrides": tags["hydra.overrides"],
    }
    if comparison is None or not is_compared(child, comparison):
        return row
    return row | compared_columns(child, comparison)


def job_columns(rows: list[dict[str, object]], comparison: Comparison | None) -> list[str]:
    """Returns the columns of a table of jobs, in their order; studies alone have few."""
    found = {name for row in rows for name in row}
    if comparison is None:
        order = (*BEFORE, "seed", *AFTER)
    else:
        errors = (comparison.chosen_by, comparison.column)
        order = (
            *(*BEFORE, *comparison.words, "count", "seed", *comparison.sizes),
            *(*errors, *AFTER, *comparison.at_end),
        )
    ordered = [name for name in order if name in found]
    return [*ordered, *sorted(found - set(ordered))]


def job_table(children: list[MlflowRun], compare: Any, comparison: Comparison | None) -> pd.DataFrame:
    """Returns one row per finished job: what it was, its validation and test error, whether the draw was stable,
    and what else was varied; of a study most of it is empty."""
    given, data = zip(*[(json.loads(c.data.tags.get(GIVEN, "{}")), c.data.tags["data"]) for c in children], strict=True)
    others = varied(given, data, compare.arm, compare.figure, comparison)
    rows = [job_row(child, comparison) | {"varied": other} for child, other in zip(children, others, strict=True)]
    jobs = pd.DataFrame(rows).reindex(columns=job_columns(rows, comparison))
    keys = ["data", "seed"] if comparison is None else comparison.keys
    return jobs.sort_values([key for key in (*keys, "varied") if key in jobs], ignore_index=True)


def compared_jobs(jobs: pd.DataFrame, comparison: Comparison | None) -> pd.DataFrame:
    """Returns the rows of jobs that are no studies, with the types that a table without studies has; files that
    older versions exported lack the first step that was scored."""
    if comparison is None or comparison.column not in jobs:
        return jobs.head(0)
    whole = {name: int for name in ("count", *comparison.sizes, *comparison.at_end) if name in jobs}
    return jobs.dropna(subset=comparison.column).astype({**whole, "stable": bool}).copy()  # a block a type again


def metric_table(children: list[MlflowRun]) -> pd.DataFrame:
    """Returns one row per job and metric with its last value, but for the seconds of stages: what studies have to
    compare."""
    rows = [
        {"run": child.info.run_name, "overrides": child.data.tags["hydra.overrides"], "metric": name, "value": value}
        for child in children for name, value in sorted(child.data.metrics.items()) if not name.endswith("/seconds")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["run", "overrides", "metric", "value"])


def seed_table(jobs: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Returns mean and standard deviation of the stable jobs' test error for each of the comparison's keys but the
    seed, over seeds and what else varied."""
    error, keys = comparison.column, comparison.keys[:-1]
    grouped = jobs.assign(kept=jobs[error].where(jobs["stable"])).groupby(keys, as_index=False)
    columns: Any = {
        "jobs": (error, "size"),
        "unstable_jobs": ("stable", lambda stable: int((~stable).sum())),
        **{size: (size, "max") for size in comparison.sizes},
        "mean": ("kept", "mean"),
        "sd": ("kept", "std"),
    }
    table: Any = grouped.agg(**columns)
    return table
