"""Errors by epoch of refinement, and along the test part, read from the tracking store."""

from __future__ import annotations

from typing import Any

import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.compare.comparison import stored_error
from pipeline.systems.psrnn.comparison import ALONG, COUNTS


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


def window_table(client: MlflowClient, jobs: Any) -> pd.DataFrame:
    """Returns a row per job and place along its test part: data, window, arm, day, place, windows and window_mse."""
    rows = []
    for job in jobs.to_dict("records"):
        counts, errors = (
            {m.step: m.value for m in client.get_metric_history(str(job["run_id"]), name)} for name in (COUNTS, ALONG)
        )
        known = {key: job[key] for key in ("data", "window", "arm", "day")}
        rows += [
            known | {"place": place, "windows": int(counts[place]), "window_mse": stored_error(errors[place])}
            for place in sorted(errors)
        ]
    return pd.DataFrame(rows)
