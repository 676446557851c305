"""Experts, a training step and decoding of a translator beside the forms that tutorials and common libraries use.

Experts stand beside one feed-forward network on n·K rows, and beside a loop
over experts with `index_add` (the form of Hugging Face's models); a step stands beside `nn.Transformer` with torch's
cross-entropy; cached decoding stands beside decoding that reads the whole prefix again at each token.

    python benchmarks/experts_step.py --threads 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from side_by_side import Form, Machine, Row, compare, run
from torch import Tensor, nn

from models.experts.arms import Mixing
from models.experts.mixture import StackedExperts
from models.experts.network import Architecture, Sentences, TranslationNetwork
from models.experts.objective import EncodedPairs, Step, losses_of, step_of
from models.experts.routers import Routed
from models.sequence.decoding import Rules, beam, greedy
from models.sequence.layers import FeedForward
from models.sequence.ledger import Ledger
from models.sequence.packing import Places
from models.sequence.positions import sinusoids
from models.sequence.tokens import TokenLists

# Tokens, width, hidden, experts, experts that a token meets, and how they are shared.
SIZES = (
    (2048, 128, 512, 8, 1, "even"),
    (2048, 128, 512, 8, 2, "even"),
    (2048, 128, 512, 32, 2, "skewed"),
)
SENTENCES, LONGEST, WIDTH, HEADS, HIDDEN, LAYERS, PIECES = 80, 20, 96, 4, 192, 2, 4000
TRANSLATED, WRITTEN, BEAM = 64, 20, 4


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def routed(tokens: int, count: int, top: int, shares: str, device: torch.device) -> Routed:
    """Choices with even, skewed (∝ 1/rank) or collapsed shares; no expert twice."""
    weights = {"even": torch.ones(count), "skewed": 1 / torch.arange(1, count + 1), "collapsed": torch.zeros(count)}
    weights["collapsed"][:top] = 1
    choice = torch.multinomial(weights[shares].expand(tokens, count), top, generator=generator())
    weight = torch.rand(tokens, top, generator=generator())
    return Routed(choice.to(device), (weight / weight.sum(1, keepdim=True)).to(device), None)


def loop_of(own: StackedExperts, tokens: Tensor, choices: Routed) -> Tensor:
    """Expert by expert, each looking for its tokens, with an index into the stacks."""
    found = torch.zeros_like(tokens)
    hits = nn.functional.one_hot(choices.choice, own.count).permute(2, 1, 0)
    for expert in range(own.count):
        place, rows = torch.where(hits[expert])
        inner = (tokens[rows] @ own.enter[expert] + own.enter_bias[expert]).relu()
        each = (inner @ own.leave[expert] + own.leave_bias[expert]) * choices.weight[rows, place, None]
        found.index_add_(0, rows, each)
    return found


def experts_at(size: tuple[int, int, int, int, int, str], device: torch.device) -> dict[str, Form]:
    count_of_tokens, width, hidden, count, top, shares = size
    own = StackedExperts(count, width, hidden).to(device)
    dense = FeedForward(width, hidden).to(device)
    tokens = torch.randn(count_of_tokens, width, generator=generator()).to(device).requires_grad_()
    repeated = tokens.detach().repeat(top, 1).requires_grad_()
    choices, collapsed = (routed(count_of_tokens, count, top, own, device) for own in (shares, "collapsed"))
    grouped = StackedExperts(count, width, hidden, product="grouped").to(device)
    grouped.load_state_dict(own.state_dict())

    def of(form: Callable[[], Tensor], inputs: list[Tensor]) -> Form:
        return lambda: torch.autograd.grad(form().square().sum(), inputs)

    forms = {
        "ours": of(lambda: own(tokens, choices), [tokens, *own.parameters()]),
        "all tokens to the same experts": of(lambda: own(tokens, collapsed), [tokens, *own.parameters()]),
        "one network on n·K rows": of(lambda: dense(repeated), [repeated, *dense.parameters()]),
        "loop with index_add": of(lambda: loop_of(own, tokens, choices), [tokens, *own.parameters()]),
    }
    if hasattr(nn.functional, "grouped_mm"):
        forms["grouped_mm"] = of(lambda: grouped(tokens, choices), [tokens, *grouped.parameters()])
    return forms


def sentences(count: int, longest: int) -> EncodedPairs:
    """Pairs with two thirds of the longest to the longest on each side, of one task."""
    lengths = torch.randint(2 * longest // 3, longest + 1, (2, count), generator=generator())
    sides = [
        TokenLists(torch.randint(6, PIECES, (int(own.sum()),), generator=generator(), dtype=torch.int32), own)
        for own in lengths
    ]
    return EncodedPairs(sides[0], sides[1], torch.zeros(count, dtype=torch.int64))


def translator(router: str, device: torch.device) -> TranslationNetwork:
    mixing = Mixing(router, count=4, top=2)
    made = Architecture(PIECES, 1, WIDTH, heads=HEADS, hidden=HIDDEN, layers=LAYERS, dropout=0.0, mixing=mixing)
    return TranslationNetwork(made, seed=0).to(device)


class TorchTransformer(nn.Module):
    """`nn.Transformer` of the same size, padded, with a tied output layer and torch's cross-entropy."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(PIECES, WIDTH)
        self.network = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, 0.0, batch_first=True)

    def forward(self, step: Step) -> Tensor:
        padded = [self.embedded(each) for each in (step.source, step.before)]
        absent = [~own.places.pad(torch.ones_like(own.ids)).bool() for own in (step.source, step.before)]
        ahead = torch.ones(padded[1].shape[1], padded[1].shape[1], dtype=torch.bool, device=padded[1].device).triu(1)
        hidden = self.network(
            *padded,
            tgt_mask=ahead,
            src_key_padding_mask=absent[0],
            tgt_key_padding_mask=absent[1],
            memory_key_padding_mask=absent[0],
        )
        targets = step.before.places.pad(step.targets + 1) - 1  # −1 where there is none
        logits = (hidden @ self.embedding.weight.T).flatten(0, 1)
        return nn.functional.cross_entropy(
            logits, targets.flatten(), ignore_index=-1, label_smoothing=0.1, reduction="sum"
        )

    def embedded(self, own: Sentences) -> Tensor:
        steps = torch.arange(own.places.steps, device=own.ids.device)
        return self.embedding(own.places.pad(own.ids)) * WIDTH**0.5 + sinusoids(steps, WIDTH)


def steps_of(device: torch.device) -> dict[str, Form]:
    step = step_of(sentences(SENTENCES, LONGEST), torch.arange(SENTENCES), device)
    ours, experts, torchs = translator("dense", device), translator("token", device), TorchTransformer().to(device)

    def of(model: nn.Module, loss: Callable[[Any], Tensor]) -> Form:
        return lambda: torch.autograd.grad(loss(model), list(model.parameters()), allow_unused=True)

    def own(model: TranslationNetwork) -> Tensor:
        return losses_of(model, step, Ledger(), smoothing=0.1).loss.total

    return {
        "ours, dense": of(ours, own),
        "4 experts, 2 met": of(experts, own),
        "nn.Transformer": of(torchs, lambda model: model(step)),
    }


def written_again(model: TranslationNetwork, memory: Any, rules: Rules) -> Tensor:
    """Greedy decoding that reads the whole prefix at each token."""
    count, most = len(rules.longest), int(rules.longest.max())
    found = torch.full((count, 1), rules.begin, device=rules.longest.device)
    for length in range(1, most + 1):
        places = Places.of(torch.full((count,), length, device=found.device))
        hidden = model.decode(memory, Sentences(found.flatten(), places), Ledger())
        scores = places.pad(hidden @ model.embedding.T)[:, -1]
        scores = scores if rules.allowed is None else scores.masked_fill(~rules.allowed, -torch.inf)
        found = torch.cat([found, scores.argmax(1, keepdim=True)], 1)
    return found[:, 1:]


@torch.no_grad()
def searches(device: torch.device) -> dict[str, Form]:
    model = translator("dense", device).eval()
    step = step_of(sentences(TRANSLATED, LONGEST), torch.arange(TRANSLATED), device)
    memory = model.encode(step.source, step.task, Ledger())
    allowed = torch.arange(PIECES, device=device) > 5  # no end: all sentences are as long as may be
    rules = Rules(1, 2, torch.full((TRANSLATED,), WRITTEN, device=device), allowed)
    expected = written_again(model, memory, rules)
    if not torch.equal(torch.stack([own.tokens for own in greedy(model, memory, rules)]), expected):
        raise AssertionError("cached decoding writes other tokens than decoding that reads all again")

    @torch.no_grad()
    def again() -> object:
        return written_again(model, memory, rules)

    return {
        "ours, greedy": lambda: greedy(model, memory, rules),
        f"beam of {BEAM}": lambda: beam(model, memory, rules, size=BEAM),
        "prefix read again at each token": again,
    }


def check(device: torch.device) -> None:
    """Experts and the loop over them find the same, with the same gradient."""
    own = StackedExperts(4, 16, 32).double().to(device)
    tokens = torch.randn(50, 16, generator=generator(), dtype=torch.float64).to(device)
    choices = routed(50, 4, 2, "skewed", device)
    choices = choices._replace(weight=choices.weight.double())
    found = [form(tokens, choices) for form in (own, lambda *given: loop_of(own, *given))]
    torch.testing.assert_close(*found)
    slopes = (torch.autograd.grad(each.square().sum(), list(own.parameters())) for each in found)
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other)


def measure(machine: Machine, budget: float) -> list[Row]:
    device = machine.device
    check(device)
    rows = list[Row]()
    for size in SIZES:
        said = "{} tokens, width {}, hidden {}, {} experts, {} met, {}".format(*size)
        rows += compare("experts", said, experts_at(size, device), machine=machine, budget=budget)
    targets = int(sentences(SENTENCES, LONGEST).target.lengths.sum())
    said = f"{SENTENCES} sentences of {targets} target tokens, width {WIDTH}, {LAYERS} layers, {PIECES} pieces"
    rows += compare("step of a translator", said, steps_of(device), machine=machine, budget=budget)
    said = f"{TRANSLATED} sentences, {WRITTEN} tokens each"
    rows += compare("decoding", said, searches(device), machine=machine, budget=budget)
    return rows


if __name__ == "__main__":
    run("experts, a step and decoding of a translator beside common forms", measure)
