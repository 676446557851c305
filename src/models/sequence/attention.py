"""Attention with several heads, with a dense bias, and with keys and values that are made once."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from models.sequence.packing import Places


class KeyValues(NamedTuple):
    """Holds what is attended to, keys and values, each (sequence, head, key, width of a head)."""

    keys: Tensor
    values: Tensor

    def pick(self, rows: Tensor) -> KeyValues:
        """Returns those of these sequences (row,), in this order."""
        return KeyValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def followed_by(self, later: KeyValues) -> KeyValues:
        """Returns these keys and values with later ones behind them."""
        return KeyValues(torch.cat([self.keys, later.keys], 2), torch.cat([self.values, later.values], 2))


class Attending(Protocol):
    """Says which token attends to which, and computes it: `models.sequence.plans.Plan` and `paired.PairedPlan` do."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Returns what each token finds, (token, head, width), from queries, keys and values of that shape."""
        ...


class MultiHeadAttention(nn.Module):
    """Is attention with several heads (Vaswani et al. 2017), A = softmax(Q Kᵀ / √d + B) V for each, joined and mapped.

    Queries, keys, values and the result are affine maps. width: of queries and of the result; each head has
    d = width / heads numbers. memory: width of what is attended to, that of the queries if None. There is no dropout of
    weights. Raises ValueError for a number of heads that does not divide the width.
    """

    def __init__(self, width: int, heads: int, *, memory: int | None = None) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ValueError(f"heads must divide width, got {heads} heads and width {width}")
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width if memory is None else memory, 2 * width)
        self.out = nn.Linear(width, width)
        for part in (*self.query.weight.chunk(1), *self.key_value.weight.chunk(2), self.out.weight):
            nn.init.xavier_uniform_(part.data)
        for affine in (self.query, self.key_value, self.out):
            nn.init.zeros_(affine.bias)

    def keys_of(self, memory: Tensor, places: Places | None = None) -> KeyValues:
        """Returns keys and values of what is attended to, (sequence, key, width), or (token, width) with its places."""
        keys, values = spread(self.key_value(memory), places).chunk(2, 2)
        return KeyValues(self._by_head(keys), self._by_head(values))

    def forward(
        self,
        queries: Tensor,
        memory: KeyValues | None = None,
        *,
        bias: Tensor | None = None,
        causal: bool = False,
        places: Places | None = None,
    ) -> Tensor:
        """Returns what the queries find, in their shape.

        queries: (sequence, query, width), or (token, width) with their places. memory: the queries' own keys if None.
        bias: B, a bool that says what may be attended to, or numbers that are added and take a gradient; of a shape
        that broadcasts to (sequence, head, query, key). A query that may attend to nothing finds A = 0. causal: query i
        attends to keys 0 … i alone, and there is no other bias.
        """
        memory = self.keys_of(queries, places) if memory is None else memory
        query = self._by_head(spread(self.query(queries), places))
        found = nn.functional.scaled_dot_product_attention(query, *memory, attn_mask=bias, is_causal=causal)
        joined = found.transpose(1, 2).flatten(2)
        return self.out(joined if places is None else places.pack(joined))

    def planned(self, tokens: Tensor, plan: Attending) -> Tensor:
        """Returns what each token finds among the tokens that the plan lets it attend to, (token, width)."""
        parts = (self.query(tokens), *self.key_value(tokens).chunk(2, 1))
        query, key, value = (part.unflatten(1, (self.heads, -1)) for part in parts)
        return self.out(plan.attend(query, key, value).flatten(1))

    def _by_head(self, values: Tensor) -> Tensor:
        return values.unflatten(2, (self.heads, -1)).transpose(1, 2)


def spread(values: Tensor, places: Places | None) -> Tensor:
    """Returns (sequence, step, width) from tokens at their places, and what has that shape already as it is."""
    return values if places is None else places.pad(values)
