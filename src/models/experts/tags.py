"""How a sentence tells the network its task: numbers in front of the source, which no text can spell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.runtime.parameters import one_of
from models.sequence.tokens import TokenLists
from models.sequence.vocabulary import END, Vocabulary

TAGS = ("target", "task", "none")
Languages = tuple[str, str]  # of a task: what is translated from, and into


def tag_names(tasks: Sequence[Languages]) -> tuple[str, ...]:
    """Returns the names of all tags of these tasks, "2en" for a target and "de2" for a source, each once.

    They are the same whatever tags are put in front, so that one vocabulary serves all.
    """
    targets, sources = dict.fromkeys(target for _, target in tasks), dict.fromkeys(source for source, _ in tasks)
    return (*(f"2{name}" for name in targets), *(f"{name}2" for name in sources))


def tags_of(vocabulary: Vocabulary, task: Languages, tag: str) -> tuple[int, ...]:
    """Returns the numbers in front of a sentence of a task: with tag "target" that of the target language, with "task"
    that of the source language too, with "none" no number. Raises ValueError for another word."""
    one_of("tag", tag, TAGS)
    source, target = task
    names = {"target": (f"2{target}",), "task": (f"2{target}", f"{source}2"), "none": ()}[tag]
    return tuple(vocabulary.tag(name) for name in names)


def sources_of(
    vocabulary: Vocabulary, texts: Sequence[str], tags: Sequence[Sequence[int]], *, longest: int | None = None
) -> tuple[TokenLists, list[bool]]:
    """Returns each text as its tags, its pieces and an end, and whether it was cut.

    tags: the numbers in front of each text. longest: tokens of a text at most, with tags and end; None cuts nothing.
    """
    lists, cut = list[np.ndarray](), list[bool]()
    for pieces, own in zip(vocabulary.encode(texts), tags, strict=True):
        room = len(pieces) if longest is None else longest - len(own) - 1
        cut.append(len(pieces) > room)
        lists.append(np.concatenate([np.asarray(own, np.int32), pieces[:room], [END]]))
    return TokenLists.of(lists), cut
