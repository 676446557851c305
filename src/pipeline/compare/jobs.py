"""The jobs of a multirun as tables, read from the tracking store."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
from mlflow.entities import Run as MlflowRun
from mlflow.tracking import MlflowClient

from pipeline.compare.arms import GIVEN, varied

ERROR = "evaluate/test_mse"
LARGEST = 1e300
KEYS = ["data", "arm", "kernel", "count", "seed"]
COLUMNS = [
    "run", "run_id", "data", "stand_in", "arm", "model", "sampler", "kernel", "count", "seed", "parameters",
    "validation_mse", "test_mse", "overrides", "stable",
    "varied", "first_step",
]  # fmt: skip


def stored_error(value: float) -> float:
    """Returns infinity for what the store keeps as the largest double (it has no infinity) and for NaN."""
    return value if abs(value) < LARGEST else math.inf


def is_forecaster(child: MlflowRun) -> bool:
    """Returns true when the job ended with a test error, as those of recipe=psrnn and recipe=tune do; others are
    studies."""
    return ERROR in child.data.metrics


def forecaster_columns(child: MlflowRun) -> dict[str, object]:
    tags, parameters, metrics = child.data.tags, child.data.params, child.data.metrics
    psrnn = tags["model"] in ("psrnn", "psrnn_cp")
    return {
        **{name: tags[name] for name in ("arm", "model", "sampler", "kernel")},
        "count": int(parameters["features.count"]) if psrnn else 0,
        "parameters": int(metrics["model/parameters"]),
        "validation_mse": stored_error(float(tags["validation_mse"])),
        "test_mse": stored_error(metrics[ERROR]),
        "stable": tags["stability"] == "stable",
        "first_step": int(tags.get("scored.first_step") or parameters.get("evaluate.first_step", 0)),
    }


def job_row(child: MlflowRun) -> dict[str, object]:
    tags = child.data.tags
    row = {
        "run": child.info.run_name,
        "run_id": child.info.run_id,
        "data": tags["data"],
        "stand_in": tags["data.stand_in"] == "true",
        "seed": int(child.data.params["seed"]),
        "overrides": tags["hydra.overrides"],
    }
    return row | forecaster_columns(child) if is_forecaster(child) else row


def job_table(children: list[MlflowRun], compare: Any) -> pd.DataFrame:
    """Returns one row per finished job: what it was, its validation and test error, whether the draw was stable,
    and what else was varied; of a study most of it is empty."""
    given, data = zip(*[(json.loads(c.data.tags.get(GIVEN, "{}")), c.data.tags["data"]) for c in children], strict=True)
    others = varied(given, data, compare.arm, compare.figure)
    rows = [job_row(child) | {"varied": other} for child, other in zip(children, others, strict=True)]
    jobs = pd.DataFrame(rows).reindex(columns=COLUMNS)
    return jobs.sort_values([*KEYS, "varied"], ignore_index=True)


def forecasters(jobs: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of jobs that are no studies, with the types that a table without studies has; files that
    older versions exported lack the first step that was scored."""
    found = jobs.dropna(subset="test_mse").astype({"count": int, "parameters": int, "stable": bool})
    return found.astype({"first_step": int}) if "first_step" in found else found


def metric_table(children: list[MlflowRun]) -> pd.DataFrame:
    """Returns one row per job and metric with its last value, but for the seconds of stages: what studies have to
    compare."""
    rows = [
        {"run": child.info.run_name, "overrides": child.data.tags["hydra.overrides"], "metric": name, "value": value}
        for child in children for name, value in sorted(child.data.metrics.items()) if not name.endswith("/seconds")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["run", "overrides", "metric", "value"])


def seed_table(jobs: pd.DataFrame) -> pd.DataFrame:
    """Returns mean and standard deviation of the stable jobs' test error per data set, arm, kernel and count, over
    seeds and what else varied."""
    grouped = jobs.assign(kept=jobs["test_mse"].where(jobs["stable"])).groupby(KEYS[:-1], as_index=False)
    return grouped.agg(
        jobs=("test_mse", "size"),
        unstable_jobs=("stable", lambda stable: int((~stable).sum())),
        parameters=("parameters", "max"),
        mean=("kept", "mean"),
        sd=("kept", "std"),
    )


def curve_table(client: MlflowClient, jobs: pd.DataFrame) -> pd.DataFrame:
    """Returns one row per job and epoch: data, arm, count, seed, epoch, the three errors (`bptt/…_mse`), and
    whether the epoch was accepted."""
    rows = []
    for job in jobs.to_dict("records"):
        accepted = {m.step: bool(m.value) for m in client.get_metric_history(str(job["run_id"]), "bptt/accepted")}
        histories = {
            part: {
                m.step: stored_error(m.value) for m in client.get_metric_history(str(job["run_id"]), f"bptt/{part}_mse")
            }
            for part in ("train", "validation", "test")
        }
        for epoch in sorted(histories["test"]):
            errors = {f"{part}_mse": values[epoch] for part, values in histories.items()}
            rows.append(
                {key: job[key] for key in ("data", "arm", "count", "seed", "stable")}
                | {"epoch": epoch, "accepted": accepted[epoch]}
                | errors
            )
    return pd.DataFrame(rows)
