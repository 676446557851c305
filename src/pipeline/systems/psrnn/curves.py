"""Errors by epoch of refinement, read from the tracking store."""

from __future__ import annotations

import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.compare.comparison import stored_error


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
