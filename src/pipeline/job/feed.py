"""The batches of a training, epoch after epoch, from wherever a run was stopped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from models.runtime.objective import EpochObjective, Objective


class Feed:
    """Gives batches in groups of `accumulate`, one group for each step; the last group of an epoch may be smaller.

    epoch: how many are done. consumed: batches of the epoch that has begun.
    """

    def __init__(self, objective: Objective, generator: torch.Generator, *, accumulate: int = 1) -> None:
        self.objective, self.generator, self.accumulate = objective, generator, accumulate
        self.epoch = self.consumed = 0
        self._beginning: Tensor
        self._open: Iterator[Any] | None = None

    def take(self) -> list[Any]:
        """Returns the batches of the next step, none at the end of the epoch. Raises ValueError for an epoch without
        any."""
        group = list(islice(self._open or self._begin(), self.accumulate))
        if not group and not self.consumed:
            raise ValueError("an epoch of training has no batch; give data to train on")
        self.consumed += len(group)
        return group

    def close(self) -> None:
        """Ends the epoch; the next group is the first of the next epoch."""
        self.epoch, self.consumed, self._open = self.epoch + 1, 0, None

    def state(self) -> Tensor:
        """Returns the generator's state from which the epoch that has begun is drawn; where none has begun, that for
        the next epoch."""
        return self.generator.get_state() if self._open is None else self._beginning

    def restore(self, state: Tensor, *, epoch: int, consumed: int) -> None:
        """Goes to where `epoch` and `consumed` were those numbers; `state` is what `state()` was then."""
        self.generator.set_state(state)
        self.epoch, self.consumed, self._open = epoch, consumed, None
        if consumed:
            for _ in islice(self._begin(), consumed):
                pass

    def _begin(self) -> Iterator[Any]:
        if isinstance(self.objective, EpochObjective):
            self.objective.begins(self.epoch)
        self._beginning = self.generator.get_state()
        self._open = iter(self.objective.batches(self.generator))
        return self._open
