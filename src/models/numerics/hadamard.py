"""Fast Walsh–Hadamard transform: a product with the Hadamard matrix that never stores the matrix."""

from __future__ import annotations

import torch
from torch import Tensor


def next_power_of_two(size: int) -> int:
    """The smallest power of two that is at least `size` (`size` at least 1)."""
    return 1 << (size - 1).bit_length()


def walsh_hadamard_transform(x: Tensor) -> Tensor:
    """y = H x along the last axis, with the orthonormal Hadamard matrix in Sylvester's order.

    H_1 = (1) and H_2p = (1/√2) [[H_p, H_p], [H_p, −H_p]]. H is symmetric and its own inverse. It costs p·log₂ p
    additions a row in place of p² products.

    x: (..., p), p a power of two. Returns the same shape, dtype and device.
    Raises ValueError when p is not a power of two.
    """
    size = x.shape[-1]
    if size < 1 or size & (size - 1):
        raise ValueError(f"the Walsh-Hadamard transform needs a power of two as last axis, got {size}; pad with zeros")
    result, half = x, 1
    while half < size:
        first, second = result.reshape(*x.shape[:-1], size // (2 * half), 2, half).unbind(-2)
        result = torch.stack((first + second, first - second), dim=-2).reshape(x.shape)
        half *= 2
    return result / size**0.5
