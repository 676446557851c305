"""Accuracy with an interval over videos: utterances of one video are not independent, so whole videos are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.statistics import CONFIDENCE, UNKNOWN, Interval

DRAWS, SEED = 5000, 0
FEWEST = 8  # groups, below which nothing is said: draws of so few are all alike


def correct_by_group(predictions: pd.DataFrame, positive_from: str) -> pd.DataFrame:
    """Returns the number of samples and of correct ones of each group, from a job's predictions.csv.

    positive_from: scores from here on are positive; "" where labels are numbers of classes. A sample without a
    prediction is not correct.
    """
    label, prediction = (predictions[name].to_numpy(dtype=np.float64) for name in ("label", "prediction"))
    if positive_from:
        label, found = label >= float(positive_from), prediction >= float(positive_from)
    else:
        found = prediction
    correct = (label == found) & np.isfinite(prediction)
    counted = {"group": predictions["group"].astype(str), "samples": 1.0, "correct": correct.astype(float)}
    groups: Any = pd.DataFrame(counted).groupby("group", as_index=False)
    return groups.sum()


def mean_over_jobs(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Returns samples and correct ones of each group, mean over jobs that were scored on it."""
    counted: Any = pd.concat(tables).groupby("group", as_index=False)
    return counted[["samples", "correct"]].mean()


def drawn(groups: int) -> np.ndarray:
    """Returns how often each group is in a draw of as many groups with replacement, (draw, group)."""
    return np.random.default_rng(SEED).multinomial(groups, np.full(groups, 1 / groups), DRAWS)


def share_interval(samples: np.ndarray, correct: np.ndarray) -> Interval:
    """Returns the 95 % interval of Σ correct / Σ samples over draws of groups, that of percentiles (cluster bootstrap).

    samples, correct (group,). Unknown below `FEWEST` groups. correct may be a difference of two arms.
    """
    if len(samples) < FEWEST:
        return UNKNOWN
    weights = drawn(len(samples))
    shares = (weights @ correct) / (weights @ samples)
    low, high = np.quantile(shares, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def accuracy_row(table: pd.DataFrame, control: pd.DataFrame | None) -> dict[str, Any]:
    """Returns accuracy with its interval; with a control also the difference to it, on the same draws of groups."""
    samples, correct = (table[name].to_numpy(dtype=np.float64) for name in ("samples", "correct"))
    low, high = share_interval(samples, correct)
    row = {"groups": len(table), "accuracy": correct.sum() / samples.sum(), "low": low, "high": high}
    if control is None:
        return row
    both = table.merge(control, on="group", suffixes=("", "_control"))
    more = (both["correct"] - both["correct_control"]).to_numpy()
    samples = both["samples"].to_numpy(dtype=np.float64)
    low, high = share_interval(samples, more)
    return row | {"difference": more.sum() / samples.sum(), "difference_low": low, "difference_high": high}
