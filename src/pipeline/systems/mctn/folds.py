"""What is an independent unit of a comparison: a seed, or a fold of a cross-validation with all its seeds.

Jobs of one fold have their training and test samples in common whatever their seeds, so that they are not independent.
Their errors are averaged first. Each fold is a pair, of one partition of the samples or of several. Folds are not
independent either, as any two learn from samples that both have, so that intervals are widened for what they share
(`statistics.mean_interval`). Seeds are those of `labels.labelled`, which hold the fold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.compare import statistics
from pipeline.compare.draws import is_usable
from pipeline.compare.statistics import Interval
from pipeline.systems.mctn.labels import FOLDS, PARTITIONS


class Unit(NamedTuple):
    """Says what pairs are made by. shared: samples tested on by samples trained on, where units are folds of the same
    samples, else 0."""

    words: str
    shared: float = 0.0


SHARED = 1 / 3  # of five folds one is for test, three to learn from
SEED, FOLD = Unit("seed"), Unit("fold, mean over seeds", SHARED)
REPEATED = Unit("fold of each partition, mean over seeds", SHARED)


def unit_of(jobs: Any) -> Unit:
    """Returns what pairs are made by: `SEED`, `FOLD` where jobs are of several folds, `REPEATED` where these are of
    several partitions."""
    folds = jobs["seed"] // FOLDS
    if (folds // PARTITIONS).nunique() > 1:
        return REPEATED
    return FOLD if folds.nunique() > 1 else SEED


def decisive(interval: Interval, pairs: int, unit: str) -> Interval:
    """Returns the interval by which a verdict is given: the interval itself, or an unknown one where pairs are folds
    and fewer than `statistics.FEWEST_FOR_WILCOXON`, which is too few for a verdict. unit: the words of the pairs'
    unit."""
    few = unit != SEED.words and pairs < statistics.FEWEST_FOR_WILCOXON
    return statistics.UNKNOWN if few else interval


def averaged(values: Any, jobs: Any, unit: Unit) -> np.ndarray:
    """Returns the values of jobs as they are, or the mean of each fold."""
    if unit != SEED:
        values = values.groupby(jobs["seed"] // FOLDS).mean()
    return values.to_numpy(dtype=np.float64)


def pooled(errors: pd.DataFrame, *, geometric: bool) -> pd.DataFrame:
    """Returns a row per arm and fold, its number as the seed: the mean of the errors of its seeds. A fold is stable
    where all its draws are usable."""
    usable, own = is_usable(errors), errors["error"].to_numpy(dtype=np.float64)
    values = np.log(own, where=usable, out=np.zeros_like(own)) if geometric else own
    table: Any = errors.assign(error=values, stable=usable, seed=errors["seed"] // FOLDS)
    others = dict.fromkeys(errors.columns.drop(["arm", "seed", "error", "stable"]), "first")
    rows = table.groupby(["arm", "seed"], sort=False, as_index=False).agg(others | {"error": "mean", "stable": "all"})
    return rows.assign(error=np.exp(rows["error"])) if geometric else rows


def paired(errors: pd.DataFrame, *, baseline: str, challenger: str, unit: Unit) -> dict[str, Any]:
    """Returns the row of `statistics.paired` of the jobs of one data set. By fold, ratio and p are of geometric means
    over the seeds of a fold, and differences are of arithmetic means."""

    def row(table: pd.DataFrame) -> dict[str, Any]:
        made = statistics.paired(table, baseline=baseline, challenger=challenger, shared=unit.shared)
        (found,) = made.to_dict("records")
        return {str(name): value for name, value in found.items()}

    if unit == SEED:
        return row(errors)
    plain = row(pooled(errors, geometric=False))
    return row(pooled(errors, geometric=True)) | {name: own for name, own in plain.items() if "difference" in name}
