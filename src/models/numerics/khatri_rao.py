"""Sums of outer products of three factors without writing the N × m² matrix of pairwise products."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from models.runtime.threads import share_out

CPU_TILE_BYTES = 8 * 2**20  # a larger tile leaves the cache, and its memory is asked for anew each time
TILE_BYTES = 64 * 2**20  # elsewhere, where the start of a kernel is what costs


def tile_bytes_on(device: torch.device) -> int:
    """Returns how many bytes a tile may have on the device."""
    return CPU_TILE_BYTES if device.type == "cpu" else TILE_BYTES


def add_triple_products(
    total: Tensor, first: Tensor, second: Tensor, third: Tensor, *, tile_bytes: int | None = None
) -> None:
    """Computes total += Σ_t first_t ⊗ second_t ⊗ third_t, in place.

    total (a, b, c); first (row, a), second (row, b), third (row, c).
    The columns of `second` are taken in blocks, so that a tile second_t ⊗ third_t (row, block, c) stays below
    `tile_bytes` (or one column, where a single column is larger); None: what suits the device. On the CPU the blocks
    are shared out among threads; no gradient is recorded.
    """
    tile_bytes = tile_bytes_on(third.device) if tile_bytes is None else tile_bytes
    per_column = max(1, third.numel() * third.element_size())
    block = max(1, min(second.shape[1], tile_bytes // per_column))
    work = partial(_add_blocks, first=first.T, third=third.unsqueeze(1))
    blocks = zip(total.split(block, 1), second.split(block, 1), strict=True)
    if third.device.type == "cpu":
        share_out(work, blocks)
    else:
        work(blocks)


@torch.no_grad()
def _add_blocks(blocks: Iterator[tuple[Tensor, Tensor]], *, first: Tensor, third: Tensor) -> None:
    """Adds to each part of the total (a, block, c) what its columns (row, block) give.

    first (a, row), third (row, 1, c).
    """
    for total, columns in blocks:
        total += (first @ (columns.unsqueeze(2) * third).flatten(1)).view(-1, *total.shape[1:])
