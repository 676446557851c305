"""A training step of a network that reads documents beside dense attention with the same mask, and attention at twice
the tokens.

python benchmarks/document_step.py --threads 1
"""

from __future__ import annotations

import numpy as np
import torch
from page_attention import PATTERNS, document, step
from side_by_side import Form, Machine, Row, compare, run
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from models.documents.network import Architecture, DocumentNetwork
from models.documents.tokens import UNITS, PageTokens
from models.sequence.attention import Attending
from models.sequence.orders import page_order, reading_order
from models.sequence.patterns import keys_of
from models.sequence.plans import Plan, plan

TOKENS = 4096
HEADS, WIDTH = 4, 64
VOCABULARY, SHARE = 8192, 0.15
STEPPED = ("sliding_window", "distance", "distance_window")


class Dense:
    """Is attention by one call with a mask (query, key)."""

    def __init__(self, allowed: Tensor) -> None:
        self.allowed = allowed[None, None]

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Returns what each token finds, (token, head, width)."""
        own, other, said = (part.transpose(0, 1)[None] for part in (query, key, value))
        return scaled_dot_product_attention(own, other, said, attn_mask=self.allowed)[0].transpose(0, 1)


def planned(name: str, tokens: int, device: torch.device) -> Plan:
    place = document(tokens)
    order = page_order(place.centres, leaf=64) if name.startswith("distance") else reading_order(tokens)
    return plan(keys_of(PATTERNS[name], place, np.random.default_rng(0)), order).to(device)


def tokens_of(count: int, device: torch.device) -> PageTokens:
    """Returns a document of tokens drawn at random."""
    draw = torch.Generator().manual_seed(0)
    own = torch.arange(count)
    corners = torch.randint(0, UNITS, (count, 2, 2), generator=draw).sort(1).values.flatten(1)
    ids = torch.randint(5, VOCABULARY, (count,), generator=draw)
    return PageTokens(ids, own, own, corners, own * 0, torch.tensor([count])).to(device)


def training_step(network: DocumentNetwork, tokens: PageTokens, attention: Attending) -> Form:
    """Returns a step of AdamW on the loss of guessing some tokens."""
    asked = torch.rand(len(tokens.ids), generator=torch.Generator().manual_seed(1)).to(tokens.ids.device) < SHARE
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5)

    def learn() -> None:
        optimizer.zero_grad()
        logits = network.guesses(tokens, [attention], asked)
        nn.functional.cross_entropy(logits, tokens.ids[asked]).backward()
        optimizer.step()

    return learn


def measure(machine: Machine, budget: float) -> list[Row]:
    rows: list[Row] = []
    network = DocumentNetwork(Architecture(VOCABULARY, longest=TOKENS), seed=0).to(machine.device)
    tokens = tokens_of(TOKENS, machine.device)
    for name in STEPPED:
        own = planned(name, TOKENS, machine.device)
        peer = Dense(own.dense().to(machine.device))
        forms = {f"ours, {name}": training_step(network, tokens, own),
                 "dense with its mask": training_step(network, tokens, peer)}  # fmt: skip
        rows += compare("training step, documents", f"n = {TOKENS}", forms, machine=machine, budget=budget)
    for name in STEPPED:
        forms = {f"ours, {name}": attention_of(name, TOKENS, machine.device),
                 f"n = {2 * TOKENS}": attention_of(name, 2 * TOKENS, machine.device)}  # fmt: skip
        rows += compare("page attention, twice the tokens", f"n = {TOKENS}", forms, machine=machine, budget=budget)
    return rows


def attention_of(name: str, tokens: int, device: torch.device) -> Form:
    parts = tuple(torch.randn(tokens, HEADS, WIDTH, device=device, requires_grad=True) for _ in range(3))
    return step(planned(name, tokens, device).attend, parts)


if __name__ == "__main__":
    run("a training step on long documents", measure)
