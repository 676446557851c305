"""Numbers kept in half the bytes: bfloat16, with the range of single precision and eight bits of its precision."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def fits(tensor: Tensor) -> bool:
    """Says whether a tensor is in single precision and unchanged by rounding to bfloat16."""
    return tensor.dtype == torch.float32 and bool((tensor == tensor.bfloat16()).all())


def to_bits(tensor: Tensor) -> np.ndarray:
    """Returns the bfloat16 numbers nearest to a tensor's, as 16-bit patterns in its shape: NumPy has no such type."""
    return tensor.detach().cpu().bfloat16().view(torch.uint16).numpy()


def from_bits(bits: np.ndarray) -> Tensor:
    """Returns the tensor whose numbers are these patterns of `to_bits`, in single precision and their shape."""
    return torch.from_numpy(bits).view(torch.bfloat16).float()
