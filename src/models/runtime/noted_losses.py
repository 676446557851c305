"""The named parts of a loss, averaged between two looks at a training."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from models.runtime.collectives import sum_over_ranks, text_of_first_rank


class NotedLosses:
    """Sums named losses, each a mean over so many cases, until their means are taken."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drops what was noted: an epoch begins."""
        self.sums, self.cases = dict[str, Tensor](), 0

    @torch.no_grad()
    def note(self, losses: Mapping[str, Tensor], cases: int) -> None:
        """Adds the losses of so many cases; nothing waits for a GPU."""
        self.cases += cases
        for name, value in losses.items():
            self.sums[name] = self.sums.get(name, torch.zeros((), dtype=torch.float64)) + value.double() * cases

    def taken(self) -> dict[str, float]:
        """Returns the mean of each loss over the cases of all processes since the last look, and begins anew; nothing
        before the first case. Of several processes all have to call it; the first one's cases are never fewer than
        another's, as it has the first of every batch."""
        names = [name for name in text_of_first_rank("\n".join(self.sums)).split("\n") if name]
        own = [float(self.sums.get(name, 0.0)) for name in names]
        *sums, cases = sum_over_ranks(torch.tensor([*own, self.cases], dtype=torch.float64)).tolist()
        self.forget()
        return {name: value / cases for name, value in zip(names, sums, strict=True)}
