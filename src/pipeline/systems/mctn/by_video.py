"""Accuracy and mean absolute error with intervals over videos: utterances of one video are not independent, so that
whole videos are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.statistics import CONFIDENCE, UNKNOWN, Interval

DRAWS, SEED = 5000, 0
FEWEST = 8  # groups, below which nothing is said: draws of so few are all alike
SCORES = {"accuracy": "correct", "mae": "absolute"}  # what each is the mean of
COLUMNS = {
    "accuracy": ("accuracy", "low", "high"), "mae": ("mae", "mae_low", "mae_high"),
    "accuracy difference": ("difference", "difference_low", "difference_high"),
    "mae difference": ("mae_difference", "mae_difference_low", "mae_difference_high"),
}  # fmt: skip


def sums_by_group(predictions: pd.DataFrame, positive_from: str) -> pd.DataFrame:
    """Returns a row per group, from a job's predictions.csv: the number of samples, of correct ones, and the sum of
    absolute errors, NaN of classes. A sample without a prediction counts for nothing. labels: the sum of all labels, by
    which it is seen whether jobs were tested on the same samples.

    positive_from: scores from here on are positive; "" where labels are numbers of classes.
    """
    label, found = (predictions[name].to_numpy(dtype=np.float64) for name in ("label", "prediction"))
    known = np.isfinite(found)
    same = (label >= float(positive_from)) == (found >= float(positive_from)) if positive_from else label == found
    counted = {
        "group": predictions["group"].astype(str), "samples": known.astype(float), "correct": 1.0 * (known & same),
        "absolute": np.where(known, np.abs(label - found), 0) if positive_from else np.nan, "labels": label,
    }  # fmt: skip
    groups: Any = pd.DataFrame(counted).groupby("group", as_index=False)
    return groups.sum(min_count=1)


def are_of_one_draw(tables: list[pd.DataFrame]) -> bool:
    """Returns whether jobs that were tested on a group had the same labels there. The labels differ where the data are
    drawn anew for each seed: then a group of one job has other samples than the group of the same name of the next
    job."""
    labels: Any = pd.concat(tables).groupby("group")["labels"]
    return bool((labels.nunique() == 1).all())


def mean_over_jobs(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Returns the sums of each group, mean over the jobs that were tested on it, of groups with a prediction."""
    groups: Any = pd.concat(tables).groupby("group")
    means = groups[["samples", *SCORES.values()]].mean()
    return means[means["samples"] > 0]


def drawn(groups: int) -> np.ndarray:
    """Returns how often each group is in a draw of as many groups with replacement, (draw, group)."""
    return np.random.default_rng(SEED).multinomial(groups, np.full(groups, 1 / groups), DRAWS)


def mean_of(table: pd.DataFrame, name: str, weights: np.ndarray) -> np.ndarray:
    """Returns Σ w sum / Σ w samples over groups, of each draw: weights (draw, group)."""
    total, samples = (table[column].to_numpy(dtype=np.float64) for column in (SCORES[name], "samples"))
    return (weights @ total) / (weights @ samples)


def interval_of(draws: np.ndarray, groups: int) -> Interval:
    """Returns the 95 % interval of percentiles over draws of groups (cluster bootstrap). Unknown below `FEWEST`."""
    if groups < FEWEST or not np.isfinite(draws).all():
        return UNKNOWN
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def row_of(table: pd.DataFrame, control: pd.DataFrame | None, *, one_draw: bool) -> dict[str, Any]:
    """Returns accuracy and mean absolute error with their intervals; with a control also the differences to it, over
    the groups that both have and on the same draws of them.

    one_draw: whether groups of one name are the same samples in all jobs. Where they are not there is no interval.
    """
    row: dict[str, Any] = {"groups": len(table), "samples": round(table["samples"].sum()), "drawn_anew": not one_draw}
    for name in SCORES:
        row |= measured(name, [table], one_draw=one_draw)
    if control is not None:
        shared = table.index.intersection(control.index)
        for name in SCORES:
            row |= measured(name, [table.loc[shared], control.loc[shared]], one_draw=one_draw)
    return row


def measured(name: str, tables: list[pd.DataFrame], *, one_draw: bool) -> dict[str, float]:
    """Returns a score of one table, or the difference of that of two with the same groups, with its interval."""
    count = len(tables[0])
    if not count:
        return {}

    def value(weights: np.ndarray) -> np.ndarray:
        first, *others = (mean_of(table, name, weights) for table in tables)
        return first - others[0] if others else first

    columns = COLUMNS[name if len(tables) == 1 else f"{name} difference"]
    interval = interval_of(value(drawn(count)), count) if one_draw else UNKNOWN
    return dict(zip(columns, (float(value(np.ones((1, count)))[0]), *interval), strict=True))
