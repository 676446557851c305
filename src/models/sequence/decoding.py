"""Writing a sequence token by token, greedily, by chance or by beam search, whatever else is in the batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

BLOCK = 64  # values of which the largest is found at once


class Writer(Protocol):
    """Is a model that writes the next token of several hypotheses at once.

    start: the state before the first token, a row for each sequence of the memory. step: takes the last token of each
    row, int64 (row,), and returns log p of the next one, (row, vocabulary), which may be changed, and the state after
    it. pick: the state of
    these rows, int64 (row,), in this order; a row may come more than once. No row depends on another one.
    """

    def start(self, memory: Any) -> Any: ...
    def step(self, state: Any, last: Tensor) -> tuple[Tensor, Any]: ...
    def pick(self, state: Any, rows: Tensor) -> Any: ...


@dataclass(frozen=True, eq=False)
class Rules:
    """Says what is written. begin, end: the tokens before the first and after the last. longest: int64 (sequence,), how
    many tokens each sequence may have, its end among them. allowed: bool (vocabulary,), the tokens that may be written,
    all of them if None."""

    begin: int
    end: int
    longest: Tensor
    allowed: Tensor | None = None

    def __post_init__(self) -> None:
        if len(self.longest) and int(self.longest.min()) < 1:
            raise ValueError(f"longest must be at least 1 for every sequence, got {int(self.longest.min())}")

    @cached_property
    def _forbidden(self) -> Tensor | None:
        """Returns 0 for what may be written and −∞ for what may not, (vocabulary,)."""
        if self.allowed is None:
            return None
        return torch.zeros(len(self.allowed), device=self.allowed.device).masked_fill(~self.allowed, -torch.inf)

    def permit(self, log_p: Tensor) -> Tensor:
        """Returns log p (row, vocabulary) with −∞ for what may not be written, in place."""
        return log_p if self._forbidden is None else log_p.add_(self._forbidden)


def refuse_nothing(best: Tensor) -> None:
    """Raises ValueError for the best log p of a hypothesis that is not finite: no token can be written."""
    if not bool(best.isfinite().all()):
        raise ValueError("decoding: no token has a finite probability; look for weights that are not finite")


class Written(NamedTuple):
    """Holds a sequence: its tokens, int64 (token,), without its end; log p of it, with its end; whether it has ended,
    or was cut at the longest."""

    tokens: Tensor
    log_p: float
    finished: bool

    @property
    def mean_log_p(self) -> float:
        """Returns log p for each token that was written, the end among them."""
        return self.log_p / max(1, len(self.tokens) + self.finished)


@torch.no_grad()
def greedy(model: Writer, memory: Any, rules: Rules) -> list[Written]:
    """Returns for each sequence the tokens that are most probable one by one; of equal ones that of the lower id."""
    return token_by_token(model, memory, rules, lambda log_p, _: best_of_each(log_p))


@torch.no_grad()
def sample(
    model: Writer, memory: Any, rules: Rules, *, generators: Sequence[torch.Generator], temperature: float = 1.0
) -> list[Written]:
    """Returns for each sequence tokens that are drawn one by one with probabilities ∝ p^(1/temperature).

    generators: on the CPU, one for each sequence. Each token takes one number of its own sequence's generator, so
    nothing depends on other sequences of the batch. A temperature near 0 is greedy search; log p is that of the model
    at a temperature of 1. Raises ValueError for a temperature that is not positive and finite.
    """
    check_temperature(temperature)

    def choose(log_p: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        most = log_p.amax(1, keepdim=True)
        refuse_nothing(most)
        drawn = [torch.rand((), generator=generators[row], dtype=torch.float64) for row in rows.tolist()]
        token = drawn_of_each((log_p - most).double() / temperature, torch.stack(drawn).to(log_p.device))
        return log_p.gather(1, token.unsqueeze(1)).squeeze(1), token

    return token_by_token(model, memory, rules, choose)


def check_temperature(temperature: float) -> None:
    """Raises ValueError for a temperature that is not positive and finite."""
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        raise ValueError(f"sampling needs a positive and finite temperature, got {temperature!r}")


def drawn_of_each(scores: Tensor, uniform: Tensor) -> Tensor:
    """Returns for each row the first place up to which the softmax of its scores sums to more than the row's uniform
    number, (row,). scores: float64 (row, place); uniform: float64 (row,), at least 0 and below 1."""
    sums = scores.softmax(1).cumsum(1)
    return torch.searchsorted(sums, uniform.unsqueeze(1) * sums[:, -1:], right=True).squeeze(1)


def token_by_token(
    model: Writer, memory: Any, rules: Rules, choose: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
) -> list[Written]:
    """Returns what is written where each sequence has one hypothesis. choose: takes log p of the next token, with −∞
    for what may not be written, (row, vocabulary), and the numbers of these sequences (row,), and returns log p of the
    token that each takes and the token, (row,) both."""
    longest = rules.longest
    rows, log_p = torch.arange(len(longest), device=longest.device), torch.zeros(len(longest), dtype=torch.float64)
    found, state = [list[int]() for _ in longest], model.start(memory)
    last = torch.full_like(longest, rules.begin)
    while len(rows):
        scores, state = model.step(state, last)
        own_log_p, last = choose(rules.permit(scores), rows)
        refuse_nothing(own_log_p)
        log_p[rows.cpu()] += own_log_p.double().cpu()
        for row, token in zip(rows.tolist(), last.tolist(), strict=True):
            found[row].append(token)
        going = (last != rules.end) & (longest[rows] > len(found[int(rows[0])]))
        if not bool(going.all()):
            kept = going.nonzero().squeeze(1)
            state, rows, last = model.pick(state, kept), rows[kept], last[kept]
    return [written(tokens, float(own), rules, longest) for tokens, own in zip(found, log_p, strict=True)]


def best_of_each(values: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the largest value of each row and its place, (row,) both; of equals the first.

    The largest of each `BLOCK` comes first, as finding a value is several times as fast as finding its place.
    """
    whole = values.shape[1] // BLOCK * BLOCK
    blocks = values[:, :whole].unflatten(1, (whole // BLOCK, BLOCK)).amax(2)
    if whole < values.shape[1]:
        blocks = torch.cat([blocks, values[:, whole:].amax(1, keepdim=True)], 1)
    first = blocks.max(1, keepdim=True).indices * BLOCK
    places = (first + torch.arange(BLOCK, device=values.device)).clamp(max=values.shape[1] - 1)
    best, place = values.gather(1, places).max(1, keepdim=True)
    return best.squeeze(1), places.gather(1, place).squeeze(1)


def written(tokens: list[int], log_p: float, rules: Rules, like: Tensor) -> Written:
    """Returns tokens with their end, or without one where they were cut, as what was written."""
    finished = tokens[-1] == rules.end
    whole = torch.tensor(tokens[:-1] if finished else tokens, dtype=torch.int64, device=like.device)
    return Written(whole, log_p, finished)


@dataclass(eq=False)
class Beams:
    """Holds the hypotheses of the sequences that are still being written.

    rows: numbers of these sequences (sequence,). log_p: float64 (sequence, slot), −∞ for a slot that is empty. tokens:
    int64 (sequence, slot, token). room: how many hypotheses each may still have, (sequence,): the size of the beam less
    those in its pool. best: the best score in each pool, −∞ where it is empty.
    """

    rows: Tensor
    log_p: Tensor
    tokens: Tensor
    room: Tensor
    best: Tensor

    def pick(self, kept: Tensor) -> Beams:
        """Returns those of these sequences (sequence,)."""
        return Beams(*(part[kept] for part in (self.rows, self.log_p, self.tokens, self.room, self.best)))


@torch.no_grad()
def beam(model: Writer, memory: Any, rules: Rules, *, size: int, penalty: float = 1.0) -> list[Written]:
    """Returns for each sequence the hypothesis of the best score log p / ((5 + n) / 6)^penalty that beam search finds.

    n: the tokens of that hypothesis alone, its end among them. At each token the `size` most probable hypotheses of a
    sequence stay. One that ends, or is as long as may be, leaves for a pool, and the beam is smaller by one from then
    on. A sequence is done when nothing that is unfinished can beat the best of its pool: log p only falls, and the
    divisor is at most that of the longest. Of equals the hypothesis stays that was ahead before, then the lower id. So
    size=1 is greedy search, and nothing depends on other sequences of the batch. Raises ValueError for a size below 1
    and a penalty below 0.
    """
    if size < 1 or not penalty >= 0:
        raise ValueError(f"a beam needs a size of at least 1 and a penalty of at least 0, got {size} and {penalty}")
    count, found = len(rules.longest), dict[int, Written]()
    if not count:
        return []
    beams, state, last = first_beams(rules, size), model.start(memory), torch.full_like(rules.longest, rules.begin)
    state, last = (
        model.pick(state, torch.arange(count, device=last.device).repeat_interleave(size)),
        last.repeat_interleave(size),
    )
    while len(beams.rows):
        scores, state = model.step(state, last)
        beams, slots = extended(beams, rules.permit(scores), size)
        going = to_pool(beams, rules, penalty, found)
        kept = going.nonzero().squeeze(1)
        chosen = (torch.arange(len(slots), device=slots.device).unsqueeze(1) * size + slots)[kept].flatten()
        beams, state = beams.pick(kept), model.pick(state, chosen)
        last = beams.tokens[:, :, -1].flatten()
    return [found[row] for row in range(count)]


def first_beams(rules: Rules, size: int) -> Beams:
    """Returns beams with one empty hypothesis each."""
    longest = rules.longest
    log_p = torch.full((len(longest), size), -torch.inf, dtype=torch.float64, device=longest.device)
    log_p[:, 0] = 0
    tokens = longest.new_zeros(len(longest), size, 0)
    rows = torch.arange(len(longest), device=longest.device)
    return Beams(rows, log_p, tokens, torch.full_like(longest, size), torch.full_like(log_p[:, 0], -torch.inf))


def extended(beams: Beams, log_p: Tensor, size: int) -> tuple[Beams, Tensor]:
    """Returns the beams with one token more, and the slot (sequence, slot) that each hypothesis came from.

    Tokens of one hypothesis are ranked by their own log p, and totals are added in double precision, so that rounding
    makes no tie.
    """
    count, width = len(beams.rows), min(size, log_p.shape[1])
    own, ids = best_of(log_p, width)
    totals = own.double() + beams.log_p.flatten().unsqueeze(1)
    refuse_nothing(totals[:, 0][beams.log_p.flatten() > -torch.inf])
    totals, places = best_of(totals.view(count, size * width), size)
    slots = places // width
    token = ids.view(count, size * width).gather(1, places)
    full = torch.arange(size, device=slots.device) >= beams.room.unsqueeze(1)
    before = beams.tokens.gather(1, slots.unsqueeze(2).expand(-1, -1, beams.tokens.shape[2]))
    tokens = torch.cat([before, token.unsqueeze(2)], 2)
    return Beams(beams.rows, totals.masked_fill(full, -torch.inf), tokens, beams.room, beams.best), slots


def best_of(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Returns the largest values of each row and their places, (row, count), descending; of equals the first comes
    first, which `torch.topk` leaves open."""
    largest, places = values.topk(count, 1)
    edge = largest[:, -1:]
    tied = edge.isfinite().squeeze(1) & ((values >= edge).sum(1) > count)
    tied |= (largest[:, 1:] == largest[:, :-1]).logical_and(largest[:, 1:].isfinite()).any(1)
    if bool(tied.any()):
        ordered, order = values[tied].sort(dim=1, descending=True, stable=True)
        largest[tied], places[tied] = ordered[:, :count], order[:, :count]
    return largest, places


def to_pool(beams: Beams, rules: Rules, penalty: float, found: dict[int, Written]) -> Tensor:
    """Moves hypotheses that end, or are as long as may be, to the pools, notes the best ones, and returns which
    sequences go on, bool (sequence,)."""
    length, longest = beams.tokens.shape[2], rules.longest[beams.rows]
    alive = beams.log_p > -torch.inf
    leaving = alive & ((beams.tokens[:, :, -1] == rules.end) | (longest.unsqueeze(1) <= length))
    scores = (beams.log_p / ((5 + length) / 6) ** penalty).masked_fill(~leaving, -torch.inf)
    score, slot = scores.max(1)
    for place in (score > beams.best).nonzero().squeeze(1).tolist():
        own = int(slot[place])
        log_p = float(beams.log_p[place, own])
        found[int(beams.rows[place])] = written(beams.tokens[place, own].tolist(), log_p, rules, longest)
    beams.best = torch.maximum(beams.best, score)
    beams.room = beams.room - leaving.sum(1)
    beams.log_p = beams.log_p.masked_fill(leaving, -torch.inf)
    reachable = beams.log_p.amax(1) / ((5 + longest) / 6) ** penalty
    return reachable > beams.best
