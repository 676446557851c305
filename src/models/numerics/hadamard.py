"""Fast Walsh–Hadamard transform: a product with the Hadamard matrix that never stores the matrix."""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK_BYTES = 2**21  # rows that are transformed together: what a cache holds
FACTOR = 32  # size of the factor that is a matrix product


def next_power_of_two(size: int) -> int:
    """Returns the smallest power of two that is at least `size` (`size` at least 1)."""
    return 1 << (size - 1).bit_length()


def transform_in_place(rows: Tensor) -> None:
    """Overwrites rows x (row, p), contiguous and without a gradient, with their Walsh–Hadamard transform H x, H the
    orthonormal Hadamard matrix in Sylvester's order.

    H_1 = (1) and H_2p = (1/√2) [[H_p, H_p], [H_p, −H_p]]. H is symmetric and its own inverse.

    As H_ab = H_a ⊗ H_b, the first log₂ 32 rounds of additions are one product with H_32 along neighbouring entries,
    which additions would read one by one; the later rounds add and subtract stretches of 32 entries and more. Blocks
    of rows are taken in turn. Raises ValueError when p is not a power of two.
    """
    size = rows.shape[1]
    if size < 1 or size & (size - 1):
        raise ValueError(f"the Walsh-Hadamard transform needs rows of a power of two, got {size}; pad with zeros")
    first = _signs(min(size, FACTOR), rows) / size**0.5
    block = max(1, BLOCK_BYTES // (size * rows.element_size()))
    buffer = rows.new_empty(min(block, len(rows)) * size)
    for part in rows.split(block):
        _transform(part, buffer[: part.numel()], first)


def _signs(size: int, like: Tensor) -> Tensor:
    """Returns the Hadamard matrix of entries ±1, (size, size)."""
    signs = like.new_ones(1, 1)
    while len(signs) < size:
        signs = torch.cat([torch.cat([signs, signs], 1), torch.cat([signs, -signs], 1)])
    return signs


def _transform(rows: Tensor, buffer: Tensor, first: Tensor) -> None:
    """Overwrites rows (row, p) with their product with the Hadamard matrix whose smallest factor, with its scale, is
    `first`. buffer: (row·p,)."""
    size, stride = rows.shape[1], len(first)
    own, other = rows.view(-1), buffer
    torch.mm(own.view(-1, stride), first, out=other.view(-1, stride))
    while stride < size:
        own, other, stride = other, own, 2 * stride
        before, after = own.view(-1, 2, stride // 2), other.view(-1, 2, stride // 2)
        torch.add(before[:, 0], before[:, 1], out=after[:, 0])
        torch.sub(before[:, 0], before[:, 1], out=after[:, 1])
    if other.data_ptr() != rows.data_ptr():
        rows.view(-1).copy_(other)
