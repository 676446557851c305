"""How tokens are shared among experts and adapters, from counts (task, expert)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Shares(NamedTuple):
    """Holds what counts say: the entropy of the experts' shares over log N, 1 where they are even; the largest share;
    how many experts have less than 0.2/N; and the mutual information of task and expert in nats."""

    entropy: float
    largest: float
    starved: int
    information: float


def shares_of(counts: Tensor) -> Shares:
    """Returns what counts (task, expert) say. Raises ValueError for counts of 0 alone."""
    total = counts.sum().double()
    if not total > 0:
        raise ValueError("no token was counted, so experts have no shares")
    joint = counts.double() / total
    experts, tasks = joint.sum(0), joint.sum(1)
    even = math.log(len(experts))
    information = entropy(experts) + entropy(tasks) - entropy(joint)
    starved = int((experts < 0.2 / len(experts)).sum())
    return Shares(entropy(experts) / even if even else 1.0, float(experts.max()), starved, max(0.0, information))


def entropy(shares: Tensor) -> float:
    """Returns −Σ p log p in nats, over all entries."""
    return float(-torch.xlogy(shares, shares).sum())
