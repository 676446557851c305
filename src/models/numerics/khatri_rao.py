"""Sums of outer products of three factors without writing the N × m² matrix of pairwise products."""

from __future__ import annotations

import torch
from torch import Tensor

TILE_BYTES = 64 * 2**20


def add_triple_products(
    total: Tensor, first: Tensor, second: Tensor, third: Tensor, *, tile_bytes: int = TILE_BYTES
) -> None:
    """total += Σ_t first_t ⊗ second_t ⊗ third_t, in place.

    total (a, b, c); first (row, a), second (row, b), third (row, c).
    The columns of `first` are taken in blocks, so that a tile (row, block, b) stays below `tile_bytes`
    (or one column, where a single column is larger).
    """
    per_column = max(1, len(first) * second.shape[1] * second.element_size())
    block = max(1, min(first.shape[1], tile_bytes // per_column))
    for start in range(0, first.shape[1], block):
        columns = first[:, start : start + block]
        tile = torch.einsum("ta,tb->tab", columns, second).flatten(1)
        total[start : start + block] += (tile.T @ third).view(columns.shape[1], second.shape[1], -1)
