"""What a translator minimises, in which order it meets its pairs, and what it does on others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.experts.network import Sentences, TranslationNetwork
from models.runtime.collectives import rank, world
from models.runtime.objective import Loss, no_loss
from models.runtime.seeding import generator as named_generator
from models.sequence.ledger import Ledger
from models.sequence.losses import TokenLosses, smoothed_cross_entropy
from models.sequence.tokens import TokenLists, batches_by_tokens
from models.sequence.vocabulary import BEGIN, END, Vocabulary

WINDOW = 4096  # pairs that are drawn at once and sorted by length


@dataclass(frozen=True, eq=False)
class EncodedPairs:
    """Holds pairs of sentences as numbers. source: with tags in front and an end. target: with an end. task: int64
    (pair,)."""

    source: TokenLists
    target: TokenLists
    task: Tensor

    @property
    def count(self) -> int:
        """Returns how many pairs there are."""
        return len(self.task)

    @property
    def lengths(self) -> Tensor:
        """Returns the tokens of both sides, int64 (pair, 2)."""
        return torch.stack([self.source.lengths, self.target.lengths], 1)

    def take(self, rows: Tensor) -> EncodedPairs:
        """Returns these pairs (row,), in this order."""
        return EncodedPairs(self.source.take(rows), self.target.take(rows), self.task[rows])

    def within(self, longest: int) -> EncodedPairs:
        """Returns the pairs with at most so many tokens on each side."""
        return self.take((self.lengths.amax(1) <= longest).nonzero().squeeze(1))


def encode_targets(vocabulary: Vocabulary, texts: Sequence[str]) -> TokenLists:
    """Returns each text as its pieces and an end."""
    return TokenLists.of(np.concatenate([pieces, [END]]) for pieces in vocabulary.encode(texts))


class Sampling(NamedTuple):
    """Says how pairs are drawn: a task with p ∝ n^(1/temperature) for its n pairs, then the next of these in a random
    order, which is another one whenever all were met. tokens: padded ones of a batch on each side at most. updates:
    batches of an epoch. seed: of the orders."""

    tokens: int = 1600
    updates: int = 1000
    temperature: float = 1.0
    seed: int = 0


class Step(NamedTuple):
    """Holds a batch: sources; targets without their end behind a begin; the targets themselves, int64 (token,); and the
    task of each sentence."""

    source: Sentences
    before: Sentences
    targets: Tensor
    task: Tensor


def step_of(pairs: EncodedPairs, rows: Tensor, device: torch.device) -> Step:
    """Returns these pairs (row,) as a batch."""
    source, targets = pairs.source.pick(rows), pairs.target.pick(rows)
    before = targets[0].roll(1).masked_fill(targets[1].step == 0, BEGIN)
    source, before = (Sentences(ids.to(device), places.to(device)) for ids, places in (source, (before, targets[1])))
    return Step(source, before, targets[0].to(device), pairs.task[rows].to(device))


def losses_of(model: TranslationNetwork, step: Step, ledger: Ledger, *, smoothing: float) -> TokenLosses:
    """Returns the losses of a batch under teacher forcing."""
    memory = model.encode(step.source, step.task, ledger)
    hidden = model.decode(memory, step.before, ledger)
    return smoothed_cross_entropy(hidden, model.embedding, step.targets, smoothing=smoothing)


class TranslationObjective:
    """Is the loss of a translator over training pairs, an `Objective` of the gradient loop.

    It is the mean over target tokens of the cross-entropy with `smoothing`, plus `balance` times the sum over gates of
    N Σ f P. An epoch is `sampling.updates` batches. Of several processes each takes every so many-th pair of a batch,
    and balances its own part. tasks: those that are learned, None for all. Raises ValueError for one of them without
    pairs, pairs that no batch can hold, a temperature below 1, and a balance below 0.
    """

    def __init__(
        self,
        model: TranslationNetwork,
        pairs: EncodedPairs,
        *,
        sampling: Sampling,
        balance: float = 0.01,
        smoothing: float = 0.1,
        tasks: Sequence[int] | None = None,
    ) -> None:
        self.model, self.pairs, self.sampling, self.balance, self.smoothing = model, pairs, sampling, balance, smoothing
        if not sampling.temperature >= 1 or sampling.updates < 1 or not balance >= 0:
            raise ValueError(
                f"temperature and updates must be at least 1 and balance at least 0, got {sampling.temperature}, "
                f"{sampling.updates} and {balance}"
            )
        counts = torch.bincount(pairs.task, minlength=model.architecture.tasks)
        wanted = range(model.architecture.tasks) if tasks is None else tasks
        empty = next((task for task in wanted if not counts[task]), None)
        if empty is not None:
            raise ValueError(f"task {empty} has no pairs; give some, or leave it out")
        if (longest := int(pairs.lengths.max())) > sampling.tokens:
            raise ValueError(f"a pair has {longest} tokens, and a batch may have {sampling.tokens}; drop longer pairs")
        self._order, self._counts = pairs.task.argsort(stable=True), counts
        self._shares = counts.double() ** (1 / sampling.temperature)
        whole = batches_by_tokens(pairs.lengths, most=sampling.tokens, generator=torch.Generator().manual_seed(0))
        self._in_batch, self._epoch = pairs.count / len(whole), 0

    def parameters(self) -> list[nn.Parameter]:
        """Returns those that the gradient trains."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def begins(self, epoch: int) -> None:
        """Takes the number of the epoch, which says where in their orders its pairs begin."""
        self._epoch = epoch

    def batches(self, generator: torch.Generator) -> Iterator[Tensor]:
        """Yields the row numbers of each batch of an epoch, drawn one window of pairs after the other.

        So much of the orders of pairs counts as met before as the epochs before it take on the average, so that an
        epoch goes on about where the last one ended, and hangs on none of what was drawn there.
        """
        left = self.sampling.updates
        met = (self._epoch * left * self._in_batch * self._shares / self._shares.sum()).long()
        while left:
            rows = self._drawn(met, min(WINDOW, math.ceil(left * self._in_batch)), generator)
            for places in batches_by_tokens(
                self.pairs.lengths[rows], most=self.sampling.tokens, generator=generator, window=WINDOW
            )[:left]:
                left -= 1
                yield rows[places]

    def loss(self, batch: Tensor) -> Loss:
        """Returns the sum of losses over the target tokens of a batch, with their number."""
        rows = batch[rank() :: world()]
        if not len(rows):
            return no_loss(self.parameters())
        ledger = Ledger()
        step = step_of(self.pairs, rows, self.model.embedding.device)
        found = losses_of(self.model, step, ledger, smoothing=self.smoothing).loss
        terms = list(ledger.named("balance").values())
        if not self.balance or not terms:
            return found
        return Loss(found.total + self.balance * torch.stack(terms).sum() * found.weight, found.weight)

    def _drawn(self, met: Tensor, window: int, generator: torch.Generator) -> Tensor:
        """Returns the row numbers of a window of pairs, int64 (row,): of each task those behind the ones that were
        met, to whose numbers (task,) they are added in place."""
        tasks = torch.multinomial(self._shares, window, replacement=True, generator=generator)
        rows = torch.empty_like(tasks)
        for task, count in enumerate(torch.bincount(tasks, minlength=len(met)).tolist()):
            if count:
                rows[tasks == task] = self._behind(task, int(met[task]), count)
                met[task] += count
        return rows

    def _behind(self, task: int, met: int, count: int) -> Tensor:
        """Returns the row numbers of so many pairs of a task behind the first `met`, int64 (count,)."""
        own = self._order[self._counts[:task].sum() :][: self._counts[task]]
        passes = range(met // len(own), (met + count - 1) // len(own) + 1)
        chances = [named_generator(self.sampling.seed, f"experts/order/{task}/{number}") for number in passes]
        ordered = torch.cat([own[torch.randperm(len(own), generator=chance)] for chance in chances])
        return ordered[met % len(own) :][:count]


class Measured(NamedTuple):
    """Holds what a network does on pairs: −log p per target token in nats by task, for tasks that have pairs; and how
    often each expert and adapter was chosen, int64 (task, expert), by layer, as "encoder.0" and "encoder.0.adapter"."""

    nats: dict[int, float]
    counts: dict[str, Tensor]

    @property
    def mean(self) -> float:
        """Returns the mean over tasks of their nats."""
        return sum(self.nats.values()) / len(self.nats)


@torch.no_grad()
def measure(model: TranslationNetwork, pairs: EncodedPairs, *, tokens: int = 4096) -> Measured:
    """Returns what the network does on pairs under teacher forcing, in evaluation mode.

    tokens: padded ones of a batch on each side at most. Raises ValueError without pairs.
    """
    if not pairs.count:
        raise ValueError("there are no pairs to measure")
    was, tasks = model.training, model.architecture.tasks
    model.eval()
    sums, counts = torch.zeros(2, tasks, dtype=torch.float64), dict[str, Tensor]()
    most = max(tokens, int(pairs.lengths.max()))
    for rows in batches_by_tokens(pairs.lengths, most=most, generator=torch.Generator().manual_seed(0)):
        step, ledger = step_of(pairs, rows, model.embedding.device), Ledger()
        nats = losses_of(model, step, ledger, smoothing=0.0).nats.double().cpu()
        task = step.task[step.before.places.sequence].cpu()
        sums.index_add_(1, task, torch.stack([nats, torch.ones_like(nats)]))
        for name, each in ledger.named("counts").items():
            counts[name] = counts.get(name, 0) + each.cpu()
    model.train(was)
    return Measured({task: float(sums[0, task] / sums[1, task]) for task in range(tasks) if sums[1, task]}, counts)
