"""Sentence pairs as a network learns from them: a vocabulary learned from training texts, and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from data.base import DataError
from data.text_pairs import Part, Task, TextPairs
from models.experts.objective import EncodedPairs, encode_targets
from models.experts.tags import sources_of, tag_names, tags_of
from models.runtime.collectives import rank, text_of_first_rank
from models.sequence.tokens import TokenLists
from models.sequence.vocabulary import Vocabulary
from pipeline.host.errors import PipelineError
from pipeline.job.shortened import say_shortened
from pipeline.job.vocabulary import learned, shared_vocabulary
from pipeline.settings.build import build
from pipeline.systems.experts.arms import tag_of
from pipeline.systems.experts.config import ExpertsConfig

MOST_DROPPED = 0.2  # of the training pairs of a task


class Encoded(NamedTuple):
    """Holds the parts of the data as numbers, and how many training pairs of each task were too long."""

    parts: Mapping[str, EncodedPairs]
    dropped: Mapping[str, int]


class Loaded(NamedTuple):
    """Holds the data, the vocabulary of their training texts, the data as numbers, and where to compute."""

    data: TextPairs
    vocabulary: Vocabulary
    encoded: Encoded
    device: torch.device


def load(settings: ExpertsConfig) -> TextPairs:
    """Returns the data, cut as `size` says, which is printed. Raises PipelineError where data= names no sentence
    pairs."""
    data = build("data", settings.data, settings.extensions)
    if not isinstance(data, TextPairs):
        raise PipelineError(
            "recipe=experts takes pairs of texts; choose data=text_pairs (your own), mt_small or ciphers"
        )
    most = settings.size.sequences
    found = data.shortened(train=most, held=most)
    kept, there = count_of(found), count_of(data)
    unit = "pairs, at most so many of a task in a part"
    say_shortened(data.name, kept=kept, there=there, most=most, unit=unit)
    return found


def count_of(data: TextPairs) -> int:
    """Returns the number of pairs of all tasks in all parts."""
    return sum(len(pairs) for part in data.parts.values() for pairs in part)


def vocabulary_of(settings: ExpertsConfig, data: TextPairs, tasks: Sequence[Task] = ()) -> Vocabulary:
    """Returns the vocabulary of the training texts; it is learned once for all runs that want it.

    tasks: further ones that have tags. Of several processes the first learns it. Raises PipelineError for fewer pieces
    than the bytes need, and, but for generated stand-ins and under a limit of `size`, for more than the texts allow.
    """
    text = ""
    if rank() == 0:
        tags = tag_names((*data.tasks, *tasks))
        follows_from = (data.checksum, settings.vocabulary.pieces, tags, settings.vocabulary.prefix_space)
        text = shared_vocabulary(follows_from, lambda: learned_of(settings, data, tags), kept=settings.tracking.enabled)
    return Vocabulary.from_json(text_of_first_rank(text))


def learned_of(settings: ExpertsConfig, data: TextPairs, tags: Sequence[str]) -> Vocabulary:
    """Returns the vocabulary of the training texts, each counted once."""
    texts = dict.fromkeys(text for pairs in data.parts["train"] for pair in pairs for text in pair)
    return learned(
        texts, settings.vocabulary.pieces, key="vocabulary.pieces", tags=tags,
        prefix_space=settings.vocabulary.prefix_space,
        may_be_fewer=data.stand_in or settings.size.sequences is not None,
    )  # fmt: skip


def encoded(settings: ExpertsConfig, data: TextPairs, vocabulary: Vocabulary) -> Encoded:
    """Returns all parts as numbers. Training pairs with a side longer than `vocabulary.longest` are left out, sources
    of other parts are cut there.

    Raises DataError, naming the task, where more than a fifth of its pairs are too long.
    """
    longest = settings.vocabulary.longest
    parts = {
        name: encoded_part(settings, data, vocabulary, part, cut=None if name == "train" else longest)
        for name, part in data.parts.items()
    }
    train = parts["train"]
    kept = train.within(longest)
    sizes, left = (torch.bincount(each.task, minlength=len(data.tasks)).tolist() for each in (train, kept))
    for task, size, some in zip(data.tasks, sizes, left, strict=True):
        if size - some > MOST_DROPPED * size:
            raise DataError(
                f"{data.name}: {size - some} of {size} training pairs of {task.name} have more than {longest} tokens "
                "on a side (vocabulary.longest); raise it, or cut them into sentences"
            )
    dropped = {task.name: size - some for task, size, some in zip(data.tasks, sizes, left, strict=True)}
    return Encoded(parts | {"train": kept}, dropped)


def encoded_part(
    settings: ExpertsConfig, data: TextPairs, vocabulary: Vocabulary, part: Part, *, cut: int | None
) -> EncodedPairs:
    """Returns the pairs of a part as numbers, those of one task after the other."""
    sources, targets = list[TokenLists](), list[TokenLists]()
    for task, pairs in zip(data.tasks, part, strict=True):
        tags = tags_of(vocabulary, task, tag_of(settings))
        sources.append(sources_of(vocabulary, [source for source, _ in pairs], [tags] * len(pairs), longest=cut)[0])
        targets.append(encode_targets(vocabulary, [target for _, target in pairs]))
    counts = torch.tensor([len(pairs) for pairs in part])
    return EncodedPairs(joined(sources), joined(targets), torch.arange(len(part)).repeat_interleave(counts))


def joined(lists: list[TokenLists]) -> TokenLists:
    """Returns lists of numbers one after the other."""
    return TokenLists(torch.cat([own.values for own in lists]), torch.cat([own.lengths for own in lists]))
