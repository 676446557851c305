"""How the jobs of a multirun learned: nats of the validation part by epoch, arm and task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.compare.comparison import stored_error
from pipeline.compare.statistics import mean_interval
from pipeline.systems.experts.arm_figures import nats_by_epoch
from pipeline.systems.experts.labels import asked_pairs, of_most_pairs

CURVES = "curves.csv"
MEAN = "mean over tasks"
TOTAL, OF_TASK = "fit/validation", "fit/nll_"


def curves_of(client: MlflowClient, jobs: Any) -> pd.DataFrame:
    """Returns the table of `means_by_epoch` of what the jobs logged; an empty one where none logged a curve."""
    rows = [row for job in jobs.to_dict("records") for row in points_of(client, job)]
    return means_by_epoch(pd.DataFrame(rows)) if rows else pd.DataFrame()


def points_of(client: MlflowClient, job: dict[Any, Any]) -> list[dict[str, Any]]:
    """Returns a row per task and epoch of a job: nats for each validation token. Of several tasks the mean stands
    first."""
    run, front = str(job["run_id"]), {name: job[name] for name in ("run_id", "data", "arm")}
    logged = client.get_run(run).data.metrics
    tasks = {task: f"{OF_TASK}{task}" for task in str(job["tasks"]).split() if f"{OF_TASK}{task}" in logged}
    names = {MEAN: TOTAL, **tasks} if len(tasks) > 1 else tasks
    return [
        {**front, "asked": asked_pairs(job), "task": task, "epoch": point.step, "nll": stored_error(point.value)}
        for task, name in names.items() for point in client.get_metric_history(run, name)
    ]  # fmt: skip


def means_by_epoch(points: Any) -> pd.DataFrame:
    """Returns a row per data set, arm, task and epoch: the mean over jobs of nats for each validation token, its 95 %
    t-interval from three jobs on, of how many jobs these are, and how many jobs still trained. A job that ended early
    stays where it ended, up to the last epoch of its data set. A job whose nats are infinite in an epoch is not among
    those of that epoch; without any other the mean is NaN.

    points: columns run_id, data, arm, asked, task, epoch, nll.
    """
    keys, tables = ["data", "arm", "asked", "task"], []
    for _, own in points.groupby("data", sort=False):
        wide = own.pivot_table(index=[*keys, "run_id"], columns="epoch", values="nll", sort=False).sort_index(axis=1)
        tables += [of_task(dict(zip(keys, key, strict=True)), rows) for key, rows in wide.groupby(keys, sort=False)]
    return pd.concat(tables, ignore_index=True)


def of_task(front: dict[str, Any], rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of one arm and task. rows: a job each, a column an epoch."""
    finite = [values[np.isfinite(values)] for values in rows.ffill(axis=1).to_numpy(np.float64).T]
    means = [values.mean() if len(values) else np.nan for values in finite]
    ends = np.array([mean_interval(values) for values in finite])
    trained = rows.notna().sum().to_numpy()
    columns = {"epoch": rows.columns, "jobs": list(map(len, finite)), "training": trained, "nll": means}
    return pd.DataFrame({**front, **columns, "nll_low": ends[:, 0], "nll_high": ends[:, 1]})


def curve_figures(curves: Any, title: str) -> dict[str, Any]:
    """Returns the figure of the curves. Where new tasks were learned from several numbers of pairs, it has the lines of
    the most. curves: as `means_by_epoch` gives them."""
    if not len(curves):
        return {}
    return {"figures/curves": nats_by_epoch(of_most_pairs(curves), title=f"{title}: nats of the validation part")}
