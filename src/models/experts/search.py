"""Translations of sentences, in their order, in batches of like lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from models.experts.network import Sentences, TranslationNetwork
from models.sequence.decoding import Rules, Written, beam, greedy, sample
from models.sequence.ledger import Ledger
from models.sequence.tokens import TokenLists, batches_by_tokens
from models.sequence.vocabulary import BEGIN, END


class Chance(NamedTuple):
    """Says that translations are drawn by chance: at which temperature, as `models.sequence.decoding.sample` has it,
    and the generator of each sentence, by its number among the sources."""

    temperature: float
    generator_of: Callable[[int], torch.Generator]


class Search(NamedTuple):
    """Says how translations are found. beam: hypotheses of a sentence; 1 is greedy search. penalty: see
    `models.sequence.decoding.beam`. factor, beyond: a translation of n source tokens has at most factor·n + beyond.
    first: the first number that is a piece of text; signs and tags are not written. tokens: padded ones of a batch, a
    sentence counted once for each of its hypotheses. chance: where it is given, each translation is drawn, and the
    beam is not looked at."""

    first: int
    beam: int = 1
    penalty: float = 1.0
    factor: float = 2.0
    beyond: int = 10
    tokens: int = 4096
    chance: Chance | None = None


@torch.no_grad()
def translate(model: TranslationNetwork, source: TokenLists, task: Tensor, how: Search) -> list[Written]:
    """Returns the translation of each source, in their order, in evaluation mode.

    source: with tags and end, as `models.experts.tags.sources_of` gives them. task: int64 (sentence,). No translation
    depends on the other sentences but for rounding, which may decide between two experts, or two translations, that
    score about the same.
    """
    was, found = model.training, dict[int, Written]()
    model.eval()
    lengths = source.lengths.unsqueeze(1)
    most = max(how.tokens // (how.beam if how.chance is None else 1), int(lengths.max()) if len(lengths) else 0)
    for rows in batches_by_tokens(lengths, most=most, generator=torch.Generator().manual_seed(0)):
        written = batch_of(model, source, task, rows, how)
        found.update(zip(rows.tolist(), written, strict=True))
    model.train(was)
    return [found[row] for row in range(source.count)]


def batch_of(model: TranslationNetwork, source: TokenLists, task: Tensor, rows: Tensor, how: Search) -> list[Written]:
    """Returns the translations of these sources (row,)."""
    device = model.embedding.device
    ids, places = source.pick(rows)
    memory = model.encode(Sentences(ids.to(device), places.to(device)), task[rows].to(device), Ledger())
    allowed = torch.arange(model.architecture.vocabulary, device=device) >= how.first
    allowed[END] = True
    longest = (how.factor * places.lengths.double()).long() + how.beyond
    rules = Rules(BEGIN, END, longest.to(device), allowed)
    if how.chance is not None:
        generators = [how.chance.generator_of(row) for row in rows.tolist()]
        return sample(model, memory, rules, generators=generators, temperature=how.chance.temperature)
    if how.beam == 1:
        return greedy(model, memory, rules)
    return beam(model, memory, rules, size=how.beam, penalty=how.penalty)
