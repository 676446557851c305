"""Where a token stands in its sequence, as numbers for a network."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def sinusoids(steps: Tensor, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns sin(t ω_k) and then cos(t ω_k) with ω_k = 10000^(−k / (width/2)), (token, width) for steps t (token,).

    It is that of Vaswani et al. 2017, with all sines first. Raises ValueError for an odd width.
    """
    if width % 2:
        raise ValueError(f"sinusoidal positions need an even width, got {width}")
    places = torch.arange(width // 2, dtype=torch.float64, device=steps.device)
    angles = steps.double().unsqueeze(1) * torch.exp(places * (-2 * math.log(10000) / width))
    return torch.cat([angles.sin(), angles.cos()], 1).to(dtype)
