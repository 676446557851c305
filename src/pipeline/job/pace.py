"""How many tokens a second a training meets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from models.runtime.objective import Loss, Objective


class Paced:
    """Is the objective that it is made from, and notes how many tokens it meets from the first batch on after it began
    to count.

    tokens_of: returns how many tokens a batch has.
    """

    def __init__(self, objective: Objective, tokens_of: Callable[[Any], int]) -> None:
        self.objective, self.model, self.tokens_of = objective, objective.model, tokens_of
        self.begin()

    def begin(self) -> None:
        """Counts from the next batch on, so that evaluation and checkpoints take no part."""
        self.since, self.steps, self.tokens = 0.0, 0, 0

    @property
    def seconds(self) -> float:
        """Returns the seconds since the first batch that counts."""
        return time.monotonic() - self.since

    def parameters(self) -> list[nn.Parameter]:
        return self.objective.parameters()

    def batches(self, generator: torch.Generator) -> Iterator[Any]:
        return self.objective.batches(generator)

    def loss(self, batch: Any) -> Loss:
        self.since = self.since if self.steps else time.monotonic()
        self.steps += 1
        self.tokens += self.tokens_of(batch)
        return self.objective.loss(batch)

    def pace(self) -> dict[str, float]:
        """Returns the tokens a second; nothing where no batch was met."""
        return {"tokens_per_second": self.tokens / self.seconds} if self.steps else {}
