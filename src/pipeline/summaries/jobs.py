"""The jobs of a multirun as tables, read from the tracking store."""

from __future__ import annotations

import math

import pandas as pd
from mlflow.entities import Run as MlflowRun
from mlflow.tracking import MlflowClient

ERROR = "evaluate/test_mse"
LARGEST = 1e300
KEYS = ["data", "arm", "kernel", "count", "seed"]


def stored_error(value: float) -> float:
    """Infinite for what the store keeps as the largest double (it has no infinity) and for NaN."""
    return value if abs(value) < LARGEST else math.inf


def job_row(child: MlflowRun) -> dict[str, object]:
    tags, parameters, metrics = child.data.tags, child.data.params, child.data.metrics
    psrnn = tags["model"] in ("psrnn", "psrnn_cp")
    return {
        "run": child.info.run_name,
        "run_id": child.info.run_id,
        "data": tags["data"],
        "stand_in": tags["data.stand_in"] == "true",
        "arm": tags["arm"],
        "model": tags["model"],
        "sampler": tags["sampler"],
        "kernel": tags["kernel"],
        "count": int(parameters["features.count"]) if psrnn else 0,
        "seed": int(parameters["seed"]),
        "parameters": int(metrics["model/parameters"]),
        "validation_mse": stored_error(float(tags["validation_mse"])),
        "test_mse": stored_error(metrics[ERROR]),
        "overrides": tags["hydra.overrides"],
        "stable": tags["stability"] == "stable",
    }


def job_table(children: list[MlflowRun]) -> pd.DataFrame:
    """One row per finished job: what it was, its validation and test error, and whether the draw was stable."""
    return pd.DataFrame([job_row(child) for child in children]).sort_values(KEYS, ignore_index=True)


def seed_table(jobs: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of the stable jobs' test error per data set, arm, kernel and count, over seeds and
    what else varied."""
    grouped = jobs.assign(kept=jobs["test_mse"].where(jobs["stable"])).groupby(KEYS[:-1], as_index=False)
    return grouped.agg(
        jobs=("test_mse", "size"),
        unstable=("stable", lambda stable: int((~stable).sum())),
        parameters=("parameters", "max"),
        mean=("kept", "mean"),
        sd=("kept", "std"),
    )


def curve_table(client: MlflowClient, jobs: pd.DataFrame) -> pd.DataFrame:
    """One row per job and epoch: data, arm, count, seed, epoch, the three errors (`bptt/…_mse`), and whether the epoch
    was accepted."""
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
