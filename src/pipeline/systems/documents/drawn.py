"""Errors of arms over all test documents, and over documents and seeds that are drawn again and again (bootstrap)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pipeline.compare.bootstrap import drawn_weights, draws_for, interval, mean_of, shares_of
from pipeline.compare.claims import NO_CLAIM
from pipeline.systems.documents.scores import error_of

FEW = {1: " (one seed)", 2: " (two seeds)"}  # behind a verdict


class Sums(NamedTuple):
    """Holds the sums of each test document and job of an arm, float64 (job, document, sum), and the seeds of the jobs
    in the same order; none of a simple model, which hangs on no seed."""

    values: np.ndarray
    seeds: tuple[int, ...]


def errors_of(task: str, sums: Sums, weights: np.ndarray) -> np.ndarray:
    """Returns the error of each job under each row of weights of documents, (draw, job)."""
    return np.stack([error_of(task, weights @ own) for own in sums.values], axis=1)


def error_over_all(task: str, sums: Sums) -> float:
    """Returns the error over all documents, the mean over jobs."""
    return float(errors_of(task, sums, np.ones((1, sums.values.shape[1]))).mean())


def interval_of(task: str, sums: Sums) -> dict[str, float]:
    """Returns the error over all documents, and the ends of its interval over drawn documents and seeds."""
    errors = errors_of(task, sums, next(drawn_weights(sums.values.shape[1])))
    low, high = interval(mean_of(errors, shares_of(sums.seeds)))
    return {"error": error_over_all(task, sums), "low": low, "high": high}


def whole_and_drawn(sums: Mapping[str, Sums], task: str) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Returns the error of each arm over all documents, and over those of the bootstrap, which all arms read, with the
    seeds drawn too."""
    whole, draws = {arm: error_over_all(task, own) for arm, own in sums.items()}, draws_for(len(sums))
    blocks = [
        {arm: errors_of(task, own, weights) for arm, own in sums.items()}
        for weights in drawn_weights(next(iter(sums.values())).values.shape[1], draws)
    ]
    errors = {arm: np.concatenate([block[arm] for block in blocks]) for arm in sums}
    return whole, {arm: mean_of(errors[arm], shares_of(own.seeds, draws)) for arm, own in sums.items()}


def with_seeds(table: Any, sums: Mapping[str, Sums]) -> Any:
    """Returns pairs of arms with how many seeds stand behind a verdict where these are fewer than three, of the arm
    with the fewest. A simple model has none, and stand-in data give no verdict."""
    if not len(table):
        return table
    counts = {arm: len(own.seeds) for arm, own in sums.items() if own.seeds}
    fewest = [min((counts[arm] for arm in pair if arm in counts), default=0)
              for pair in zip(table["arm"], table["against"], strict=True)]  # fmt: skip
    said = [word if word == NO_CLAIM else word + FEW.get(count, "")
            for word, count in zip(table["verdict"], fewest, strict=True)]  # fmt: skip
    return table.assign(verdict=said)
