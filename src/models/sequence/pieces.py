"""Attention of blocks of queries to their keys, a few blocks at a time: what is gathered for them stays in the
processor's cache, and nothing that is gathered is kept for the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.runtime.by_hand import differentiable_once

KEYS = 1024  # of a piece, unless one block has more
FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class Piece(NamedTuple):
    """Holds some blocks of a plan that have one size.

    queries: int64 (block, query). keys: int64 (block, key). allowed: bool (block, query, key). again: bool (block,
    query), the queries that stand there a second time to fill a block, None where there is none.
    """

    queries: Tensor
    keys: Tensor
    allowed: Tensor
    again: Tensor | None

    def gather(self, values: Tensor, side: Tensor) -> Tensor:
        """Returns (block, head, row, width) of values (token, head, width); side: `queries` or `keys`."""
        return values.index_select(0, side.flatten()).unflatten(0, side.shape).transpose(1, 2)

    def bias(self, like: Tensor) -> Tensor:
        """Returns 0 where a query may attend to a key and −∞ elsewhere, (block, 1, query, key)."""
        return torch.zeros_like(self.allowed, dtype=like.dtype).masked_fill_(~self.allowed, -torch.inf).unsqueeze(1)


def pieces_of(queries: Tensor, keys: Tensor, allowed: Tensor, again: Tensor) -> list[Piece]:
    """Returns the pieces of a group of blocks, each (block, …)."""
    blocks = max(1, KEYS // keys.shape[1])
    parts = zip(*(part.split(blocks) for part in (queries, keys, allowed, again)), strict=True)
    return [Piece(own, other, there, twice if bool(twice.any()) else None) for own, other, there, twice in parts]


def flat(values: Tensor) -> Tensor:
    """Returns (row, head, width) from (block, head, row, width)."""
    return values.transpose(1, 2).flatten(0, 1)


class AttentionByPieces(torch.autograd.Function):
    """Is o_i = Σ_j a_ij v_j with a_ij ∝ exp(q_i·k_j / √d) over the keys of each query, on a CPU.

    It keeps the queries, keys and values, what was found and the logarithm of each sum; the gradient gathers again. The
    attention of a piece is PyTorch's blocked kernel, forward and backward.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, pieces: Sequence[Piece]) -> Tensor:
        """Returns what each token finds, (token, head, width)."""
        found, logarithms = torch.empty_like(query), list[Tensor]()
        for piece in pieces:
            parts = zip((query, key, value), (piece.queries, piece.keys, piece.keys), strict=True)
            own, logarithm = FORWARD(*(piece.gather(*part) for part in parts), 0.0, False, attn_mask=piece.bias(query))
            found.index_copy_(0, piece.queries.flatten(), flat(own))
            logarithms.append(logarithm)
        ctx.save_for_backward(query, key, value, found, *logarithms)
        ctx.pieces = pieces
        return found

    @staticmethod
    @differentiable_once("attend by attend_at_once, under sdpa_kernel(SDPBackend.MATH)")
    def backward(ctx: Any, gradient: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns the gradients of queries, keys and values, and none of the pieces."""
        query, key, value, found, *logarithms = ctx.saved_tensors
        sums = [torch.zeros_like(part) for part in (query, key, value)]
        for piece, logarithm in zip(ctx.pieces, logarithms, strict=True):
            sides = (piece.queries, piece.keys, piece.keys)
            entering = piece.gather(gradient, piece.queries)
            if piece.again is not None:  # a query counts once
                entering = entering.masked_fill(piece.again[:, None, :, None], 0)
            gathered = (piece.gather(part, side) for part, side in zip((query, key, value), sides, strict=True))
            own = BACKWARD(
                entering, *gathered, piece.gather(found, piece.queries), logarithm, 0.0, False,
                attn_mask=piece.bias(query),
            )  # fmt: skip
            for total, side, part in zip(sums, sides, own, strict=True):
                total.index_add_(0, side.flatten(), flat(part))
        return sums[0], sums[1], sums[2], None
