"""Attention whose weights come from one list of tokens and whose values from another, paired by rank (thesis, 2.3.3.4).

The thesis prints Distance + SW so: (2.35) with the values of (2.31). Weights of neighbours on the page multiply values
of neighbours in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.ranges import Count
from models.runtime.parameters import whole_number
from models.sequence.patterns import Distance, Keys, Layout, WithGlobalTokens, everywhere_of, ranges
from models.sequence.plans import BLOCK, blocks_of, starts_of


class Pairs(NamedTuple):
    """Holds for each query the tokens whose keys give weights and, in the same order, those whose values they weigh."""

    keys: Keys
    values: Keys


@dataclass(frozen=True)
class DistanceKeysWindowValues(WithGlobalTokens):
    """Is o_i = Σ_m softmax_m(q_i·k_S(i,m) / √d) v_T(i,m), with S(i) of `Distance` and T(i) as many tokens around i.

    Both lists are in the order of the text; T(i) moves inwards at the ends of a document. Global tokens are added
    to both lists of the others, and attend to all tokens as usual. Raises ValueError for fewer neighbours than one.
    """

    neighbours: Count = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("neighbours", self.neighbours)

    def pairs(self, layout: Layout, generator: np.random.Generator) -> Pairs:
        """Returns the two lists of each token."""
        near = Distance(self.neighbours).keys(layout, generator)
        counts, own = np.diff(near.offsets), np.arange(layout.count)
        first = np.clip(own - counts // 2, 0, layout.count - counts)
        chosen = everywhere_of(self, layout)
        return Pairs(*(with_everywhere(each, chosen) for each in (near, ranges(first, first + counts - 1))))


def with_everywhere(keys: Keys, chosen: np.ndarray) -> Keys:
    """Returns the lists with these tokens behind each of them; their own lists are all tokens."""
    rows = [np.concatenate([keys.of(query), chosen]) for query in range(keys.count)]
    for token in chosen:
        rows[token] = np.arange(keys.count)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Keys(offsets, np.concatenate(rows))


class PairedBlock(NamedTuple):
    """Holds some queries: their tokens (query,), the tokens of keys (key,) and of values (value,).

    key_columns, value_columns: of each query's pairs, (query, pair), which of the tokens above. present: bool (query,
    pair), whether the pair is there.
    """

    queries: Tensor
    keys: Tensor
    values: Tensor
    key_columns: Tensor
    value_columns: Tensor
    present: Tensor


@dataclass(frozen=True, eq=False)
class PairedPlan:
    """Says how attention to pairs is computed, a block of queries at a time.

    places: int64 (token,), where in the queries of all blocks, end to end, that of each token is.
    """

    blocks: tuple[PairedBlock, ...]
    places: Tensor

    @classmethod
    def joined(cls, plans: Sequence[PairedPlan]) -> PairedPlan:
        """Returns the plan of documents end to end. Raises ValueError without a plan."""
        starts = starts_of([len(each.places) for each in plans])
        blocks = [
            block._replace(queries=block.queries + start, keys=block.keys + start, values=block.values + start)
            for each, start in zip(plans, starts, strict=False)
            for block in each.blocks
        ]
        return cls(tuple(blocks), torch.cat([each.places + at for each, at in zip(plans, starts, strict=False)]))

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Returns o_i = Σ_m softmax_m(q_i·k_S(i,m) / √d) v_T(i,m), per head: (token, head, width).

        query, key, value: (token, head, width).
        """
        sides = zip((query, key, value), zip(*(block[:3] for block in self.blocks), strict=True), strict=True)
        gathered = [part.index_select(0, torch.cat(rows)).split([*map(len, rows)]) for part, rows in sides]
        found = [in_block(*parts) for parts in zip(*gathered, self.blocks, strict=True)]
        return torch.cat(found).index_select(0, self.places)

    def to(self, device: torch.device) -> PairedPlan:
        """Returns the plan on that device."""
        blocks = tuple(PairedBlock(*(part.to(device) for part in block)) for block in self.blocks)
        return PairedPlan(blocks, self.places.to(device))


def paired_plan(pairs: Pairs, order: np.ndarray, *, block: int = BLOCK) -> PairedPlan:
    """Returns how attention to these pairs is computed. order, block: as `models.sequence.plans.plan` has them."""
    counts = np.diff(pairs.keys.offsets)
    rows = blocks_of(counts, order, block)
    places = np.empty(len(counts), np.int64)
    places[np.concatenate(rows)] = np.arange(len(counts))
    return PairedPlan(tuple(paired_block(pairs, each, counts) for each in rows), torch.from_numpy(places))


def paired_block(pairs: Pairs, rows: np.ndarray, counts: np.ndarray) -> PairedBlock:
    """Returns the block of some queries, their lists filled up to the longest."""
    present = np.arange(counts[rows].max()) < counts[rows][:, None]
    (keys, key_columns), (values, value_columns) = (columns_of(side, rows, present) for side in pairs)
    return PairedBlock(torch.from_numpy(rows), keys, values, key_columns, value_columns, torch.from_numpy(present))


def columns_of(lists: Keys, rows: np.ndarray, present: np.ndarray) -> tuple[Tensor, Tensor]:
    """Returns all tokens in the lists of some queries, and for each query and rank which of these it is."""
    union, found = np.unique(np.concatenate([lists.of(row) for row in rows]), return_inverse=True)
    filled = np.zeros(present.shape, np.int64)
    filled[present] = found
    return torch.from_numpy(union), torch.from_numpy(filled)


def in_block(query: Tensor, key: Tensor, value: Tensor, block: PairedBlock) -> Tensor:
    """Returns what the queries of a block find, (query, head, width). query, key, value: of its own tokens."""
    own, keys, values = (part.transpose(0, 1) for part in (query, key, value))
    scores = own @ keys.transpose(1, 2) / own.shape[-1] ** 0.5
    heads = len(scores)
    ranked = scores.gather(2, block.key_columns.expand(heads, -1, -1))
    weights = ranked.masked_fill(~block.present, -torch.inf).softmax(2)
    spread = scores.new_zeros(heads, len(block.queries), len(block.values))
    spread = spread.scatter_add(2, block.value_columns.expand(heads, -1, -1), weights)
    return (spread @ values).transpose(0, 1)
