"""Errors of arms over all test documents, and over documents and seeds that are drawn again and again (bootstrap)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pipeline.compare.bootstrap import drawn_weights, draws_for, interval, mean_of, shares_of
from pipeline.systems.documents.scores import SCORES, SUMS, Scored, error_of

ENDS = ("interval_low", "interval_high")  # behind the name of a score
FEWEST = 2  # documents that have an interval


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


def with_interval(task: str, scored: Scored) -> Scored:
    """Returns the scores of a part with the ends of the 95 % interval of F1, accuracy or nats over drawn documents. One
    document has none, and neither have documents with nothing to score."""
    if len(scored.by_document) < FEWEST:
        return scored
    own = interval_of(task, Sums(scored.by_document[list(SUMS[task])].to_numpy(float)[None], ()))
    ends = (own["low"], own["high"]) if task == "mlm" else (1 - own["high"], 1 - own["low"])
    if np.isnan(ends).any():
        return scored
    names = (f"{SCORES[task]}_{end}" for end in ENDS)
    return scored._replace(scores=scored.scores | dict(zip(names, ends, strict=True)))


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
