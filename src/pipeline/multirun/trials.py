"""The trials of a search as a table: those that finished, were pruned or failed, with the seconds they took."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

import pandas as pd
from mlflow.entities import Run as MlflowRun

from pipeline.compare.arms import GIVEN
from pipeline.compare.comparison import Comparison, stored_error, training_seconds
from pipeline.compare.summary import without_tracking
from pipeline.tracking.session import PRUNED

FINISHED = "finished"
ENDS = (FINISHED, "pruned", "failed")  # the first word of a state, in the order of the table


def state_of(child: MlflowRun) -> str:
    """Says how a trial ended, with the reason where it did not finish."""
    tags = child.data.tags
    if PRUNED in tags:
        return f"pruned at {tags[PRUNED]}"
    if child.info.status == "FAILED":
        return f"failed: {' '.join(tags.get('error', 'for no reason that is known').split())}"
    return FINISHED


def error_of_trial(child: MlflowRun, comparison: Comparison) -> float:
    """Returns the validation error of the model that is kept.

    For a pruned trial it is the error of its last epoch, NaN where it had none. For a trial that failed it is NaN.
    """
    name, state = comparison.chosen_by, state_of(child)
    if state == FINISHED:
        return stored_error(float(child.data.tags[name]))
    if PRUNED not in child.data.tags:
        return math.nan
    return next((stored_error(v) for k, v in child.data.metrics.items() if k.rpartition("/")[2] == name), math.nan)


def seconds_of(child: MlflowRun) -> float:
    """Returns the seconds of all stages of a trial that finished. For any other trial, whose last stage has no end, it
    returns the seconds from the begin of the run to its end. They are NaN for a trial that was stopped and gone on
    with, as of `training_seconds`."""
    stages = [name.removesuffix("/seconds") for name in child.data.metrics if name.endswith("/seconds")]
    known = training_seconds(child, stages)
    if state_of(child) == FINISHED or math.isnan(known):
        return known
    ended = child.info.end_time or child.info.start_time
    return (ended - child.info.start_time) / 1000


def trial_row(child: MlflowRun, comparison: Comparison) -> dict[str, object]:
    tags, state = child.data.tags, state_of(child)
    told = comparison.columns(child) if state == FINISHED else {}
    return {
        "data": tags.get("data", ""),
        "arm": tags.get("arm", ""),
        "trial": int(json.loads(tags.get(GIVEN, "{}")).get("tune.trial", tags["job"])),
        "state": state,
        "overrides": without_tracking(tags["hydra.overrides"]),
        **{name: told.get(name, math.nan) for name in (*comparison.sizes, "stable")},
        comparison.chosen_by: error_of_trial(child, comparison),
        "seconds": round(seconds_of(child), 1),
    }


def trial_table(children: Sequence[MlflowRun], comparison: Comparison) -> pd.DataFrame:
    """Returns one row per trial, without test errors. Of each data set and arm the best trial stands first, pruned
    trials after the finished ones, and then those that failed.

    A trial that failed before its own run began has no data set and stands first.
    """
    table = pd.DataFrame([trial_row(child, comparison) for child in children])
    ends = [ENDS.index(re.split("[ :]", str(state))[0]) for state in table["state"]]
    ranked = table.assign(end=ends, rank=table[comparison.chosen_by].map(comparison.rank)).sort_values(
        ["data", "arm", "end", "rank"], ignore_index=True
    )
    return ranked.drop(columns=["end", "rank"])
