"""Attention of blocks of queries to their keys, a few blocks at a time: what is gathered for them stays in the
processor's cache, and nothing that is gathered is kept for the gradient. Tokens that follow one another are not
gathered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from models.runtime.by_hand import differentiable_once

KEYS = 1024  # of a piece, unless one block has more
FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class Rows(NamedTuple):
    """Holds the tokens of some blocks.

    tokens: int64 (block, row). start: the first of them where all follow one another, None where they do not.
    """

    tokens: Tensor
    start: int | None

    @classmethod
    def of(cls, tokens: Tensor) -> Rows:
        """Returns these tokens, (block, row)."""
        start, own = int(tokens[0, 0]), tokens.flatten()
        return cls(tokens, start if torch.equal(own, torch.arange(start, start + len(own))) else None)

    def gather(self, values: Tensor) -> Tensor:
        """Returns (block, head, row, width) of values (token, head, width), a view where the tokens follow one
        another."""
        own = values.index_select(0, self.tokens.flatten()) if self.start is None else self.stretch(values)
        return own.unflatten(0, self.tokens.shape).transpose(1, 2)

    def put(self, values: Tensor, found: Tensor) -> None:
        """Sets the values (token, head, width) of these tokens to what was found, (block, head, row, width)."""
        if self.start is None:
            values.index_copy_(0, self.tokens.flatten(), flat(found))
        else:
            self.stretch(values).copy_(flat(found))

    def add(self, values: Tensor, found: Tensor) -> None:
        """Adds what was found to the values of these tokens."""
        if self.start is None:
            values.index_add_(0, self.tokens.flatten(), flat(found))
        else:
            self.stretch(values).add_(flat(found))

    def stretch(self, values: Tensor) -> Tensor:
        """Returns the values of tokens that follow one another, (token, …)."""
        return values.narrow(0, self.start or 0, self.tokens.numel())


class Piece(NamedTuple):
    """Holds some blocks of a plan that have one size.

    queries, keys: those of each block. allowed: bool (block, query, key), None where every query may attend to all
    keys of its block. again: bool (block, query), the queries that stand there a second time to fill a block, None
    where there is none. alone: whether each key is there once and in no other piece, as where a document is one block.
    ready: of such a piece what `bias` returns, so that all layers of a step have it once; None for others.
    """

    queries: Rows
    keys: Rows
    allowed: Tensor | None
    again: Tensor | None
    alone: bool
    ready: Tensor | None

    @property
    def sides(self) -> tuple[Rows, Rows, Rows]:
        """Returns whose queries, keys and values enter."""
        return self.queries, self.keys, self.keys

    @property
    def once(self) -> tuple[bool, bool, bool]:
        """Returns whether each query, key and value of this piece is in no other block."""
        return self.again is None, self.alone, self.alone

    def bias(self, like: Tensor) -> Tensor | None:
        """Returns 0 where a query may attend to a key and −∞ elsewhere, (block, 1, query, key), in the dtype of `like`;
        None where every query may attend to all keys of its block."""
        if self.ready is not None:
            return self.ready.to(like.dtype)
        return None if self.allowed is None else bias_of(self.allowed, like.dtype)

    def is_all_of(self, count: int) -> bool:
        """Returns whether it is one block of so many tokens, all of them, and in their order."""
        return all(len(side.tokens) == 1 and side.start == 0 and side.tokens.numel() == count for side in self.sides)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Returns what the queries find, (token, head, width), of a piece that is all tokens: nothing is copied."""
        parts = (side.gather(part) for side, part in zip(self.sides, (query, key, value), strict=True))
        return flat(scaled_dot_product_attention(*parts, attn_mask=self.bias(query)))


def pieces_of(queries: Tensor, keys: Tensor, allowed: Tensor, again: Tensor, shared: Tensor) -> list[Piece]:
    """Returns the pieces of a group of blocks, each (block, …). again, shared: of queries and keys, whether they stand
    elsewhere too."""
    blocks = max(1, KEYS // keys.shape[1])
    parts = zip(*(part.split(blocks) for part in (queries, keys, allowed, again, shared)), strict=True)
    return [piece_of(*each) for each in parts]


def piece_of(queries: Tensor, keys: Tensor, allowed: Tensor, again: Tensor, shared: Tensor) -> Piece:
    """Returns the piece of some blocks."""
    mask, twice = None if bool(allowed.all()) else allowed, again if bool(again.any()) else None
    alone = not bool(shared.any())
    ready = bias_of(mask, torch.float32) if alone and mask is not None else None
    return Piece(Rows.of(queries), Rows.of(keys), mask, twice, alone, ready)


def bias_of(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns 0 where something is allowed and −∞ elsewhere, (block, 1, query, key)."""
    return torch.where(allowed, torch.zeros((), dtype=dtype), -torch.inf).unsqueeze(1)


def flat(values: Tensor) -> Tensor:
    """Returns (row, head, width) from (block, head, row, width)."""
    return values.transpose(1, 2).flatten(0, 1)


def readable(values: Tensor) -> Tensor:
    """Returns the values (token, head, width) with the numbers of a head beside one another, as the kernel reads
    them."""
    return values if values.stride(2) == 1 else values.contiguous()


class AttentionByPieces(torch.autograd.Function):
    """Is o_i = Σ_j a_ij v_j with a_ij ∝ exp(q_i·k_j / √d) over the keys of each query, on a CPU.

    It keeps the queries, keys and values, what was found and the logarithm of each sum; the gradient gathers again. The
    attention of a piece is PyTorch's blocked kernel, forward and backward.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, pieces: Sequence[Piece]) -> Tensor:
        """Returns what each token finds, (token, head, width)."""
        query, key, value = map(readable, (query, key, value))
        found, logarithms = torch.empty_like(query), list[Tensor]()
        for piece in pieces:
            parts = (side.gather(part) for side, part in zip(piece.sides, (query, key, value), strict=True))
            own, logarithm = FORWARD(*parts, 0.0, False, attn_mask=piece.bias(query))
            piece.queries.put(found, own)
            logarithms.append(logarithm)
        ctx.save_for_backward(query, key, value, found, *logarithms)
        ctx.pieces = pieces
        return found

    @staticmethod
    @differentiable_once("attend by attend_at_once, under sdpa_kernel(SDPBackend.MATH)")
    def backward(ctx: Any, gradient: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns the gradients of queries, keys and values, and none of the pieces."""
        query, key, value, found, *logarithms = ctx.saved_tensors
        gradient, sums = readable(gradient), [torch.zeros_like(part) for part in (query, key, value)]
        for piece, logarithm in zip(ctx.pieces, logarithms, strict=True):
            entering = piece.queries.gather(gradient)
            if piece.again is not None:  # a query counts once
                entering = entering.masked_fill(piece.again[:, None, :, None], 0)
            parts = (side.gather(part) for side, part in zip(piece.sides, (query, key, value), strict=True))
            own = BACKWARD(
                entering, *parts, piece.queries.gather(found), logarithm, 0.0, False, attn_mask=piece.bias(query)
            )
            for total, side, part, once in zip(sums, piece.sides, own, piece.once, strict=True):
                (side.put if once else side.add)(total, part)
        return sums[0], sums[1], sums[2], None
