"""Attention of each token to its own keys, computed by blocks of queries with like keys (thesis, section 2.3.3).

A block is some queries in the order of a plan; all of them attend to the union of their keys, and a mask takes out what
is not theirs. On a CPU a few blocks of one size at a time, with some 1024 keys, are one call of PyTorch's attention
(`models.sequence.pieces`); on other devices all blocks of one size are. Nothing is gathered for a single query, so that
time and memory grow linearly with the tokens. A short document whose blocks would have most of its tokens as keys is
one block: dense attention with a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from models.sequence.patterns import Keys
from models.sequence.pieces import AttentionByPieces, Piece, pieces_of

BLOCK = 64  # queries
UNION = 16  # keys of a block are rounded up to a multiple of this, so that more blocks have the same size
ONE_BLOCK = 1024  # tokens up to which a document may be one block, see `one_is_faster`
LEAST_SHARE = 0.6  # of all pairs: with fewer of them, blocks were faster at 512 tokens


@dataclass(frozen=True, eq=False)
class Plan:
    """Says how attention to chosen keys is computed, by groups of blocks that have one size.

    allowed: of each group, bool (block, query, key); each query has a key. queries, keys: int64, the tokens of all
    blocks of all groups end to end. places: int64 (token,), where in `queries` each token is.
    """

    allowed: tuple[Tensor, ...]
    queries: Tensor
    keys: Tensor
    places: Tensor

    @classmethod
    def of(cls, groups: Sequence[Sequence[Tensor]], count: int) -> Plan:
        """Returns the plan of groups, each (block, query), (block, key) and what is allowed, for `count` tokens."""
        queries, keys = (torch.cat([group[side].flatten() for group in groups]) for side in range(2))
        places = torch.empty(count, dtype=torch.int64).scatter_(0, queries, torch.arange(len(queries)))
        return cls(tuple(group[2] for group in groups), queries, keys, places)

    @classmethod
    def joined(cls, plans: Sequence[Plan]) -> Plan:
        """Returns the plan of documents end to end, in which no token attends to another document.

        Raises ValueError without a plan.
        """
        starts = starts_of([each.count for each in plans])
        by_size: dict[tuple[int, ...], list[tuple[Tensor, ...]]] = {}
        for each, start in zip(plans, starts, strict=False):
            for queries, keys, allowed in each.groups:
                by_size.setdefault((*allowed.shape[1:],), []).append((queries + start, keys + start, allowed))
        return cls.of([list(map(torch.cat, zip(*each, strict=True))) for each in by_size.values()], starts[-1])

    @property
    def count(self) -> int:
        """Returns how many tokens there are."""
        return len(self.places)

    @property
    def groups(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Returns of each group the queries (block, query), the keys (block, key), and what is allowed."""
        sides = (self.split(self.queries, 1), self.split(self.keys, 2))
        return [(queries, keys, allowed) for queries, keys, allowed in zip(*sides, self.allowed, strict=True)]

    def split(self, values: Tensor, side: int) -> list[Tensor]:
        """Returns of each group the values (block, row, …) from those of all of them end to end, (row, …); side: 1 for
        queries, 2 for keys."""
        shapes = [(each.shape[0], each.shape[side]) for each in self.allowed]
        parts = values.split([blocks * rows for blocks, rows in shapes])
        return [part.unflatten(0, shape) for part, shape in zip(parts, shapes, strict=True)]

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Returns o_i = Σ_{j ∈ N(i)} a_ij v_j with a_ij ∝ exp(q_i·k_j / √d), per head: (token, head, width).

        query, key, value: (token, head, width). On a CPU it is computed a few blocks at a time; there is no gradient of
        the gradient then.
        """
        if query.device.type == "cpu":
            return AttentionByPieces.apply(query, key, value, self.pieces)
        return self.attend_at_once(query, key, value)

    @cached_property
    def pieces(self) -> list[Piece]:
        """Returns the blocks of all groups, a few at a time."""
        again = torch.ones(len(self.queries), dtype=torch.bool)
        again[self.places] = False
        return [
            piece for group, twice in zip(self.groups, self.split(again, 1), strict=True)
            for piece in pieces_of(*group, twice)
        ]  # fmt: skip

    def attend_at_once(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Returns the same by one call for all blocks of a size, on any device."""
        queries = self.split(query.index_select(0, self.queries), 1)
        keys, values = (self.split(part.index_select(0, self.keys), 2) for part in (key, value))
        found = [
            scaled_dot_product_attention(
                own.transpose(1, 2), other.transpose(1, 2), said.transpose(1, 2), attn_mask=allowed.unsqueeze(1)
            )
            for own, other, said, allowed in zip(queries, keys, values, self.allowed, strict=True)
        ]
        return torch.cat([each.transpose(1, 2).flatten(0, 1) for each in found]).index_select(0, self.places)

    def to(self, device: torch.device) -> Plan:
        """Returns the plan on that device."""
        parts = (self.queries, self.keys, self.places)
        return Plan(tuple(each.to(device) for each in self.allowed), *(part.to(device) for part in parts))

    def dense(self) -> Tensor:
        """Returns which token attends to which, bool (query, key): for tests and figures of short documents."""
        found = torch.zeros(self.count, self.count, dtype=torch.bool)
        for queries, keys, allowed in self.groups:
            block, query, key = allowed.nonzero().unbind(1)
            found[queries[block, query], keys[block, key]] = True
        return found


@dataclass(frozen=True, eq=False)
class PackedPlan:
    """Holds a plan in a fifth of its memory, until it is computed with: plans of all documents stay in memory.

    allowed: of each group what `Plan.allowed` says, 8 pairs in a byte, uint8 (block, query, ⌈key / 8⌉). widths: of each
    group, how many keys a block has. queries, keys, places: as of `Plan`, int32.
    """

    allowed: tuple[np.ndarray, ...]
    widths: tuple[int, ...]
    queries: Tensor
    keys: Tensor
    places: Tensor

    @classmethod
    def of(cls, own: Plan) -> PackedPlan:
        """Returns a plan, packed."""
        bits = tuple(np.packbits(each.numpy(), axis=-1) for each in own.allowed)
        parts = (own.queries, own.keys, own.places)
        return cls(bits, tuple(each.shape[2] for each in own.allowed), *(part.to(torch.int32) for part in parts))

    @classmethod
    def joined(cls, plans: Sequence[PackedPlan]) -> Plan:
        """Returns the plan of documents end to end. Raises as `Plan.joined`."""
        return Plan.joined([each.unpacked() for each in plans])

    def unpacked(self) -> Plan:
        """Returns the plan."""
        allowed = (
            torch.from_numpy(np.unpackbits(bits, axis=-1, count=width).view(bool))
            for bits, width in zip(self.allowed, self.widths, strict=True)
        )
        return Plan(tuple(allowed), *(part.long() for part in (self.queries, self.keys, self.places)))


def starts_of(counts: Sequence[int]) -> list[int]:
    """Returns the first token of each document of some that stand end to end, and behind them how many tokens there
    are. Raises ValueError without a document."""
    if not counts:
        raise ValueError("there is no plan to join")
    return [0, *accumulate(counts)]


def plan(keys: Keys, order: np.ndarray, *, block: int = BLOCK, one_block: int = ONE_BLOCK) -> Plan:
    """Returns how attention to these keys is computed.

    order: the tokens, those with like keys beside one another, see `models.sequence.orders`. block: how many queries
    share their keys. one_block: tokens up to which a document may be one block of all queries and all keys in the order
    of the text, which is dense attention with a mask, where `one_is_faster`. Raises ValueError for a query without a
    key.
    """
    counts = np.diff(keys.offsets)
    if not counts.all():
        raise ValueError(f"token {int(np.argmin(counts))} has no key; let it attend to itself")
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, ...]]] = {}
    for rows in blocks_of(counts, order, block):
        union = np.unique(np.concatenate([keys.of(row) for row in rows]))
        size = min(-(-len(union) // UNION) * UNION, keys.count)
        queries = np.concatenate([rows, np.repeat(rows[:1], block - len(rows))]) if size < keys.count else rows
        by_size.setdefault((len(queries), size), []).append(block_of(keys, queries, union, size))
    if one_is_faster(sum(len(each) * rows * size for (rows, size), each in by_size.items()), keys.count, one_block):
        own = np.arange(keys.count)
        by_size = {(keys.count, keys.count): [block_of(keys, own, own, keys.count)]}
    stacked = [[torch.from_numpy(np.stack(part)) for part in zip(*each, strict=True)] for each in by_size.values()]
    return Plan.of(stacked, keys.count)


def one_is_faster(pairs: int, count: int, one_block: int) -> bool:
    """Returns whether one block of all n tokens takes less time than blocks with so many pairs of a query and a key.

    It is taken to be so from n² max(0.6, n / one_block) pairs on, as a pair costs less in one block. At 512 tokens
    blocks with 0.54 of all pairs were a tenth faster than one block, and with all pairs a quarter slower. one_block: 0
    for never.
    """
    return count <= one_block and pairs >= max(LEAST_SHARE, count / one_block) * count**2


def blocks_of(counts: np.ndarray, order: np.ndarray, block: int) -> list[np.ndarray]:
    """Returns the tokens of each block: those that attend to all others by themselves, the rest in their order."""
    whole = counts[order] == len(counts)
    parts = (order[whole], order[~whole])
    return [part[start : start + block] for part in parts for start in range(0, len(part), block)]


def block_of(keys: Keys, queries: np.ndarray, union: np.ndarray, size: int) -> tuple[np.ndarray, ...]:
    """Returns queries, keys and what is allowed of one block, its keys filled up to `size` with ones that nobody
    attends to."""
    allowed = np.zeros((len(queries), size), bool)
    for row, query in enumerate(queries):
        allowed[row, np.searchsorted(union, keys.of(query))] = True
    return queries, np.concatenate([union, np.repeat(union[:1], size - len(union))]), allowed
