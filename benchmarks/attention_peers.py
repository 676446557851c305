"""Attention layers of long documents beside those of Hugging Face's transformers, with equal weights and equal output.

python benchmarks/attention_peers.py --threads 1
"""
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from page_attention import document
from side_by_side import Form, Machine, Row, compare, run
from torch import Tensor, nn

from models.sequence.orders import reading_order
from models.sequence.patterns import Keys, Pattern, SlidingWindow, WindowRandom, keys_of
from models.sequence.plans import Plan, plan

TOKENS = (512, 2048, 4096)
HEADS, WIDTH = 4, 64
WINDOW, BLOCK, RANDOM = 128, 64, 3


class Peer(NamedTuple):
    """Holds a layer of theirs, what calls it, and our plan of the same attention."""

    layer: nn.Module
    call: Callable[[Tensor], Tensor]
    plan: Plan


def settings(tokens: int, **more: Any) -> dict[str, Any]:
    width = HEADS * WIDTH
    return {"hidden_size": width, "num_attention_heads": HEADS, "max_position_embeddings": tokens,
            "attention_probs_dropout_prob": 0.0, "num_hidden_layers": 1, **more}  # fmt: skip


def planned(pattern: Pattern, tokens: int, *, first_everywhere: bool) -> tuple[Keys, Plan]:
    place = document(tokens)
    if not first_everywhere:
        place.everywhere[:] = False
    keys = keys_of(pattern, place, np.random.default_rng(0))
    return keys, plan(keys, reading_order(tokens))


def longformer(tokens: int) -> Peer:
    """Returns Longformer's layer, whose first token attends to all, by weights that are those of the others."""
    from transformers.models.longformer.configuration_longformer import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    layer = LongformerSelfAttention(LongformerConfig(**settings(tokens, attention_window=[WINDOW])), 0)
    for name in ("query", "key", "value"):
        layer.get_submodule(f"{name}_global").load_state_dict(layer.get_submodule(name).state_dict())
    first, none = torch.zeros(1, tokens, dtype=torch.bool), torch.zeros(1, tokens, dtype=torch.bool)
    first[0, 0] = True
    about = {"attention_mask": first * 1e4, "is_index_masked": none, "is_index_global_attn": first,
             "is_global_attn": True}  # fmt: skip
    _, made = planned(SlidingWindow(WINDOW), tokens, first_everywhere=True)
    return Peer(layer, lambda states: layer(states[None], **about)[0][0], made)


def big_bird(tokens: int) -> Peer:
    """Returns BigBird's layer; the random blocks that it draws anew at each call are given it, drawn once."""
    from transformers.models.big_bird.configuration_big_bird import BigBirdConfig
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel

    layer = BigBirdBlockSparseAttention(
        BigBirdConfig(**settings(tokens, block_size=BLOCK, num_random_blocks=RANDOM)), seed=0
    )
    keys, made = planned(WindowRandom(BLOCK, RANDOM), tokens, first_everywhere=False)
    drawn = random_blocks(keys, tokens // BLOCK)
    layer._bigbird_block_rand_mask = lambda *_, **__: drawn
    layer._bigbird_block_rand_mask_with_head = lambda *_, **__: [drawn] * HEADS
    blocked, band, whole, other = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, tokens), BLOCK)
    return Peer(layer, lambda states: layer(states[None], band, whole, other, blocked, blocked)[0][0], made)


def random_blocks(keys: Keys, blocks: int) -> np.ndarray:
    """Returns the drawn blocks of all blocks but the first and the last: (block, drawn)."""
    seen = [set((keys.of(own * BLOCK) // BLOCK).tolist()) for own in range(1, blocks - 1)]
    return np.array([sorted(rows - {0, own, own + 1, own + 2, blocks - 1}) for own, rows in enumerate(seen)])


def ours(peer: Peer, states: Tensor) -> Tensor:
    """Returns what the weights of their layer give with our attention."""
    parts = (peer.layer.get_submodule(name)(states) for name in ("query", "key", "value"))
    return peer.plan.attend(*(part.unflatten(1, (HEADS, WIDTH)) for part in parts)).flatten(1)


def step(call: Callable[[Tensor], Tensor], states: Tensor, weights: Sequence[Tensor]) -> Form:
    """Returns a pass forward and backward, to the states and to the weights of queries, keys and values."""

    def both_ways() -> None:
        torch.autograd.grad(call(states).sum(), [states, *weights])

    return both_ways


def measure(machine: Machine, budget: float) -> list[Row]:
    """Returns a row a layer; none where transformers is not installed, or on a GPU."""
    rows: list[Row] = []
    if find_spec("transformers") is None or machine.device.type != "cpu":
        return rows
    for tokens in TOKENS:
        for name, make in (("Longformer", longformer), ("BigBird", big_bird)):
            torch.manual_seed(0)
            peer, states = make(tokens), torch.randn(tokens, HEADS * WIDTH, requires_grad=True)
            torch.testing.assert_close(ours(peer, states), peer.call(states), rtol=1e-3, atol=2e-6)
            weights = [
                value for part in ("query", "key", "value") for value in peer.layer.get_submodule(part).parameters()
            ]
            forms = {"ours": step(lambda own, peer=peer: ours(peer, own), states, weights),
                     f"transformers, {name}": step(peer.call, states, weights)}  # fmt: skip
            rows += compare(f"attention of {name}", f"n = {tokens}", forms, machine=machine, budget=budget)
    return rows


if __name__ == "__main__":
    run("attention layers beside those of transformers", measure)
