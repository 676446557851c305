"""Attention to what is near on a page or in the text, forward and backward, beside dense attention with the same mask.

python benchmarks/page_attention.py --threads 1
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from side_by_side import Form, Machine, Row, compare, run
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from models.sequence.attention import Attending
from models.sequence.orders import page_order, reading_order
from models.sequence.paired import DistanceKeysWindowValues, paired_plan
from models.sequence.patterns import Distance, DistanceWindow, Layout, Pattern, SlidingWindow, WindowRandom, keys_of
from models.sequence.plans import Plan, plan

TOKENS = (512, 4096)
HEADS, WIDTH = 4, 64
PATTERNS: dict[str, Pattern] = {
    "sliding_window": SlidingWindow(128), "window_random": WindowRandom(64, 3), "distance": Distance(128),
    "distance_window": DistanceWindow(128, 128),
}  # fmt: skip
PLANNED = {"ours, distance_window": "distance_window", "sliding_window": "sliding_window"}
WORDS_A_PAGE, LINE = 459, 12.0  # the mean of contracts, points from line to line


def document(tokens: int) -> Layout:
    """Returns words strewn along the lines of pages one below the other; the first token attends to all."""
    generator = np.random.default_rng(0)
    y = np.sort(np.floor(generator.uniform(0, 800 * max(1.0, tokens / WORDS_A_PAGE), tokens) / LINE)) * LINE
    centres = np.stack([generator.uniform(0, 600, tokens), y], 1)
    centres = centres[np.lexsort((centres[:, 0], centres[:, 1]))]
    everywhere = np.arange(tokens) == 0
    centres[0] = np.nan
    return Layout(centres, everywhere)


def step(attention: Callable[..., Tensor], parts: tuple[Tensor, ...]) -> Form:
    def both_ways() -> None:
        torch.autograd.grad(attention(*parts).sum(), parts)

    return both_ways


def dense(made: Plan, device: torch.device) -> Callable[..., Tensor]:
    """The same by one call of PyTorch's attention with a mask (query, key)."""
    allowed = made.dense()[None, None].to(device)

    def attention(*parts: Tensor) -> Tensor:
        query, key, value = (part.transpose(0, 1)[None] for part in parts)
        return scaled_dot_product_attention(query, key, value, attn_mask=allowed)[0].transpose(0, 1)

    return attention


def check(ours: Attending, peer: Callable[..., Tensor], parts: tuple[Tensor, ...]) -> None:
    torch.testing.assert_close(ours.attend(*parts), peer(*parts), rtol=1e-4, atol=1e-5)


def measure(machine: Machine, budget: float) -> list[Row]:
    rows = []
    for tokens in TOKENS:
        place, chance = document(tokens), np.random.default_rng(0)
        parts = tuple(torch.randn(tokens, HEADS, WIDTH, device=machine.device, requires_grad=True) for _ in range(3))
        on_page = page_order(place.centres, leaf=64)
        for name, pattern in PATTERNS.items():
            order = on_page if name.startswith("distance") else reading_order(tokens)
            made = plan(keys_of(pattern, place, chance), order)
            ours, peer = made.to(machine.device), dense(made, machine.device)
            check(ours, peer, parts)
            forms = {f"ours, {name}": step(ours.attend, parts), "dense with its mask": step(peer, parts)}
            rows += compare("page attention", f"n = {tokens}", forms, machine=machine, budget=budget)
        pairs = paired_plan(DistanceKeysWindowValues(128).pairs(place, chance), on_page).to(machine.device)
        near = plan(keys_of(PATTERNS["distance"], place, chance), on_page).to(machine.device)
        forms = {"ours, keys of the page with values of the text": step(pairs.attend, parts),
                 "distance": step(near.attend, parts)}  # fmt: skip
        rows += compare("page attention", f"n = {tokens}", forms, machine=machine, budget=budget)
    return rows + planning(machine, budget)


def planning(machine: Machine, budget: float) -> list[Row]:
    """Rows of what precedes attention, once a document: its order, the keys of each query, and their groups."""
    rows = []
    for tokens in TOKENS:
        forms = {label: plan_of(name, tokens) for label, name in PLANNED.items()}
        rows += compare("plan of page attention", f"n = {tokens}", forms, machine=machine, budget=budget)
    return rows


def plan_of(name: str, tokens: int) -> Form:
    place = document(tokens)

    def made() -> Plan:
        order = page_order(place.centres, leaf=64) if name.startswith("distance") else reading_order(tokens)
        return plan(keys_of(PATTERNS[name], place, np.random.default_rng(0)), order)

    return made


if __name__ == "__main__":
    run("attention to what is near", measure)
