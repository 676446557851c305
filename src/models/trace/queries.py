"""Random query vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from models.choices import DISTRIBUTIONS


def draw_queries(
    *shape: int,
    distribution: str,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Entries of mean 0 and variance 1, on the generator's device: normal, or ±1 with equal chances.

    Normal numbers are drawn in single precision, which is four times as fast: a query need not be normal to 16 digits.

    Raises ValueError for another distribution.
    """
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution={distribution} is unknown; choose one of {', '.join(DISTRIBUTIONS)}")
    if distribution == "gaussian":
        return torch.randn(*shape, generator=generator, dtype=torch.float32, device=generator.device).to(dtype)
    signs = torch.randint(0, 2, shape, generator=generator, dtype=torch.int8, device=generator.device)
    return signs.to(dtype).mul_(2).sub_(1)
