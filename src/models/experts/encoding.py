"""Pairs of sentences as the numbers that a translator learns from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from models.experts.objective import EncodedPairs, encode_targets
from models.experts.pairs import Pair, tasks_of
from models.experts.predictor import TranslationPredictor
from models.experts.tags import sources_of, tags_of

MOST_DROPPED = 0.2  # of the pairs to learn from, as too long


def encoded(predictor: TranslationPredictor, pairs: Sequence[Pair]) -> EncodedPairs:
    """Returns pairs as numbers, without those that are too long."""
    vocabulary, tasks = predictor.vocabulary, [predictor.tasks.index(pair.task) for pair in pairs]
    tags = [tags_of(vocabulary, pair.task, predictor.tag) for pair in pairs]
    sources, _ = sources_of(vocabulary, [pair.text for pair in pairs], tags)
    targets = encode_targets(vocabulary, [pair.translation for pair in pairs])
    own = EncodedPairs(sources, targets, torch.tensor(tasks, dtype=torch.int64))
    return own.within(predictor.longest) if pairs else own


def encoded_to_learn(predictor: TranslationPredictor, pairs: Sequence[Pair], *, advice: str) -> EncodedPairs:
    """Returns pairs that are learned from as `encoded` does, and warns of those that are too long. Raises ValueError
    where these are more than `MOST_DROPPED` of them, and for a task of which nothing is left. advice: what to do."""
    found = encoded(predictor, pairs)
    dropped, beyond = len(pairs) - found.count, f"have more than longest={predictor.longest} tokens"
    said = f"{dropped} of the {len(pairs)} pairs to learn from {beyond}"
    if dropped > MOST_DROPPED * len(pairs):
        raise ValueError(f"{said}; {advice}")
    missing = {predictor.tasks.index(task) for task in tasks_of(pairs)} - set(found.task.tolist())
    if missing:
        raise ValueError(f"task {'-'.join(predictor.tasks[min(missing)])}: all of its pairs {beyond}; {advice}")
    if dropped:
        warnings.warn(f"{said} and are left out; {advice}", stacklevel=3)
    return found
