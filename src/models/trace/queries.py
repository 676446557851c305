"""Random query vectors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.choices import DISTRIBUTIONS


@dataclass(frozen=True, kw_only=True)
class QueryDraw:
    """Says how the queries of independent trials are drawn.

    size: n, the entries of a query. distribution: of an entry, of mean 0 and variance 1: normal, or ±1 with equal
    chances ("rademacher"). Raises ValueError for another distribution.
    """

    size: int
    trials: int = 1
    distribution: str = "gaussian"
    dtype: torch.dtype = torch.float64

    def __post_init__(self) -> None:
        if self.distribution not in DISTRIBUTIONS:
            raise ValueError(f"distribution={self.distribution} is unknown; choose one of {', '.join(DISTRIBUTIONS)}")

    def queries(self, count: int, *, generator: torch.Generator) -> Tensor:
        """Returns `count` queries for each trial, (trial, count, n), on the generator's device.

        Normal numbers are drawn in single precision, which is four times as fast: a query need not be normal to 16
        digits.
        """
        shape, device = (self.trials, count, self.size), generator.device
        if self.distribution == "gaussian":
            normal = torch.randn(*shape, generator=generator, dtype=torch.float32, device=device)
            return normal.to(self.dtype)
        signs = torch.randint(0, 2, shape, generator=generator, dtype=torch.int8, device=device)
        return signs.to(self.dtype).mul_(2).sub_(1)
