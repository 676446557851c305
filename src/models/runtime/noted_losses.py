"""The named parts of a loss, averaged between two looks at a training."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


class NotedLosses:
    """Sums named losses, each a mean over so many cases, of this process, until their means are taken."""

    def __init__(self) -> None:
        self.sums, self.cases = dict[str, Tensor](), 0

    @torch.no_grad()
    def note(self, losses: Mapping[str, Tensor], cases: int) -> None:
        """Adds the losses of so many cases; nothing waits for a GPU."""
        self.cases += cases
        for name, value in losses.items():
            self.sums[name] = self.sums.get(name, torch.zeros((), dtype=torch.float64)) + value.double() * cases

    def taken(self) -> dict[str, float]:
        """Returns the mean of each loss over the cases since this was called last; nothing before the first of
        them."""
        found = {name: float(value) / self.cases for name, value in self.sums.items()}
        self.sums, self.cases = dict[str, Tensor](), 0
        return found
