"""The jobs of a multirun of `recipe=mctn` as its parent shows them: the thesis's tables, claims and goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from mlflow.tracking import MlflowClient

from pipeline.compare.words import Summary
from pipeline.systems.mctn.arm_figure import error_by_arm
from pipeline.systems.mctn.by_video import are_of_one_draw, mean_over_jobs, row_of, sums_by_group
from pipeline.systems.mctn.claims import beside, claims_of, paired_of
from pipeline.systems.mctn.goals import goals_of
from pipeline.systems.mctn.joined import joint_figures
from pipeline.systems.mctn.joint import separations_of
from pipeline.systems.mctn.labels import labelled, plan
from pipeline.systems.mctn.tables import means_of, thesis_of
from pipeline.systems.mctn.words import page
from pipeline.tracking.artifacts import tables_by_run

PREDICTIONS = "predictions.csv"


def summarise(client: MlflowClient, jobs: Any, title: str) -> Summary:
    """Returns what the parent shows of its jobs: tables, a figure, and words about them."""
    named = labelled(jobs)
    summary = summary_of(named, accuracy_of(named, predictions_of(client, named)), title)
    return summary._replace(figures={**summary.figures, **joint_figures(client, named, title=title)})


def summary_of(jobs: pd.DataFrame, accuracy: pd.DataFrame, title: str) -> Summary:
    """Returns tables, figure and words. jobs: as `labelled` gives them; accuracy: as `accuracy_of` does."""
    means = means_of(jobs, accuracy)
    thesis, paired = thesis_of(means), paired_of(jobs, means)
    claims, goals, separations = claims_of(paired), goals_of(jobs, paired, accuracy), separations_of(jobs)
    tables = {"means.csv": means, "accuracy.csv": accuracy, "thesis.csv": thesis, "paired.csv": paired}
    tables |= {"claims.csv": claims, "goals.csv": goals, "joint.csv": separations}
    figures = {"figures/arms": error_by_arm(jobs, means, title=f"{title}: arms side by side")}
    text = page(means, thesis, claims, goals, separations)
    return Summary({path: table for path, table in tables.items() if len(table)}, figures, text)


def predictions_of(client: MlflowClient, jobs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Returns the sums of each group by run, of the jobs that logged their predictions."""
    positive = dict(zip(jobs["run_id"], jobs["positive_from"], strict=True))
    tables = tables_by_run(client, jobs["run_id"], PREDICTIONS)
    return {run: sums_by_group(table, str(positive[run])) for run, table in tables}


def accuracy_of(jobs: Any, counted: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Returns a row per data set and arm: accuracy and mean absolute error with their intervals by groups, and the
    differences to the arm that reads the same and translates nothing, where both have predictions."""
    rows = []
    for data, own in jobs[jobs["run_id"].isin(counted)].groupby("data", sort=False):
        one_draw = are_of_one_draw([counted[run] for run in own["run_id"]])
        arms = own.groupby("arm", sort=False)["run_id"]
        groups = {arm: mean_over_jobs([counted[run] for run in runs]) for arm, runs in arms}
        for arm, table in groups.items():
            against = control_of(str(arm), [str(name) for name in groups]) or ""
            found = row_of(table, groups.get(against), one_draw=one_draw)
            rows.append({"data": data, "arm": arm, "against": against, **found})
    return pd.DataFrame(rows)


def control_of(arm: str, arms: Sequence[str]) -> str | None:
    """Returns the first arm without translation that reads the same; None for a baseline, for the control itself, and
    where none ran."""
    own = plan(arm)
    found = beside(arm, f"none-{own.read}", arms) if own is not None and own.targets else []
    return found[0] if found else None
