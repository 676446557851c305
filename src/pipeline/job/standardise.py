"""Columns on a common scale."""

from __future__ import annotations

import torch
from torch import Tensor


def standardised(train: Tensor, *others: Tensor) -> list[Tensor]:
    """All by mean and standard deviation of the first; a constant column keeps scale 1, and so does one that varies by
    rounding alone."""
    mean, scale = train.mean(0), train.std(0, correction=0)
    scale = torch.where(scale > 1e-12 * mean.abs().clamp(min=1.0), scale, torch.ones_like(scale))
    return [(part - mean) / scale for part in (train, *others)]
