"""Numbers kept in half the bytes: bfloat16, with the range of single precision and eight bits of its precision."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def fits(tensor: Tensor) -> bool:
    """Whether a tensor in single precision is unchanged by rounding to bfloat16."""
    return tensor.dtype == torch.float32 and bool((tensor == tensor.bfloat16()).all())


def to_bits(tensor: Tensor) -> np.ndarray:
    """The bfloat16 numbers nearest to a tensor's, as 16-bit patterns: NumPy has no such type."""
    return tensor.detach().cpu().bfloat16().view(torch.uint16).numpy()


def from_bits(bits: np.ndarray) -> Tensor:
    """The inverse of `to_bits`, in single precision."""
    return torch.from_numpy(bits).view(torch.bfloat16).float()
