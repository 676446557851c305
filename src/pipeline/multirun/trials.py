"""The trials of a search as a table: those that finished and those that were pruned, with the seconds they took."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
from mlflow.entities import Run as MlflowRun

from pipeline.compare.comparison import Comparison, stored_error
from pipeline.compare.summary import without_tracking
from pipeline.tracking.session import PRUNED


def error_of_trial(child: MlflowRun, comparison: Comparison) -> float:
    """The validation error of the model that is kept; of a pruned trial that of its last epoch, NaN where none was."""
    name = comparison.chosen_by
    if PRUNED not in child.data.tags:
        return stored_error(float(child.data.tags[name]))
    return next((stored_error(v) for k, v in child.data.metrics.items() if k.rpartition("/")[2] == name), math.nan)


def seconds_of(child: MlflowRun) -> float:
    """Of all stages; of a pruned trial, whose last stage has no end, from the begin of the run to its end."""
    stages = [value for name, value in child.data.metrics.items() if name.endswith("/seconds")]
    if PRUNED not in child.data.tags:
        return sum(stages)
    ended = child.info.end_time or child.info.start_time
    return (ended - child.info.start_time) / 1000


def trial_row(child: MlflowRun, comparison: Comparison) -> dict[str, object]:
    tags = child.data.tags
    told = comparison.columns(child) if PRUNED not in tags else {}
    return {
        "data": tags["data"],
        "arm": tags.get("arm", ""),
        "trial": int(tags["job"]),
        "state": f"pruned at {tags[PRUNED]}" if PRUNED in tags else "finished",
        "overrides": without_tracking(tags["hydra.overrides"]),
        **{name: told.get(name, math.nan) for name in (*comparison.sizes, "stable")},
        comparison.chosen_by: error_of_trial(child, comparison),
        "seconds": round(seconds_of(child), 1),
    }


def trial_table(children: Sequence[MlflowRun], comparison: Comparison) -> pd.DataFrame:
    """One row per trial, of each data set and arm the best first, pruned ones last; without test errors."""
    table = pd.DataFrame([trial_row(child, comparison) for child in children])
    ranked = table.assign(
        pruned=table["state"] != "finished", rank=table[comparison.chosen_by].map(comparison.rank)
    ).sort_values(["data", "arm", "pruned", "rank"], ignore_index=True)
    return ranked.drop(columns=["pruned", "rank"])
