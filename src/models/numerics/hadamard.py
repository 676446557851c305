"""Fast Walsh–Hadamard transform: a product with the Hadamard matrix that never stores the matrix."""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK_BYTES = 2**20  # rows that are transformed together: what a cache holds
FACTOR_BITS = 5  # the largest factor is 32 × 32


def next_power_of_two(size: int) -> int:
    """The smallest power of two that is at least `size` (`size` at least 1)."""
    return 1 << (size - 1).bit_length()


def walsh_hadamard_transform(x: Tensor) -> Tensor:
    """y = H x along the last axis, with the orthonormal Hadamard matrix in Sylvester's order.

    H_1 = (1) and H_2p = (1/√2) [[H_p, H_p], [H_p, −H_p]]. H is symmetric and its own inverse.

    As H_ab = H_a ⊗ H_b, the transform is a product with a small dense matrix along each axis of the row seen as a box,
    for p = 8192 of 16 × 16 × 32. That is more arithmetic than log₂ p rounds of additions and far less memory traffic.

    x: (..., p), p a power of two. Returns the same shape, dtype and device.
    Raises ValueError when p is not a power of two.
    """
    size = x.shape[-1]
    if size < 1 or size & (size - 1):
        raise ValueError(f"the Walsh-Hadamard transform needs a power of two as last axis, got {size}; pad with zeros")
    factors = [_signs(factor, x) for factor in _factors(size)]
    block = max(1, BLOCK_BYTES // (size * x.element_size()))
    rows = x.reshape(-1, size).split(block)
    return torch.cat([_along_axes(part, factors) / size**0.5 for part in rows]).reshape(x.shape)


def _factors(size: int) -> list[int]:
    """Powers of two of at most 2^FACTOR_BITS, as equal as can be, whose product is `size`."""
    bits = size.bit_length() - 1
    count = max(1, -(-bits // FACTOR_BITS))
    return [1 << (bits + i) // count for i in range(count)]


def _signs(size: int, like: Tensor) -> Tensor:
    """The Hadamard matrix of entries ±1."""
    signs = like.new_ones(1, 1)
    while len(signs) < size:
        signs = torch.cat([torch.cat([signs, signs], 1), torch.cat([signs, -signs], 1)])
    return signs


def _along_axes(rows: Tensor, factors: list[Tensor]) -> Tensor:
    """(row, p) times the Kronecker product of the factors, the last of which belongs to neighbouring entries."""
    result = rows.reshape(-1, len(factors[-1])) @ factors[-1]
    stride = len(factors[-1])
    for factor in reversed(factors[:-1]):
        boxes = result.reshape(-1, len(factor), stride)
        result = factor.expand(len(boxes), -1, -1) @ boxes
        stride *= len(factor)
    return result.reshape(rows.shape)
