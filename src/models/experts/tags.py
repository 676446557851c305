"""How a sentence tells the network its task: numbers in front of the source, which no text can spell."""

from __future__ import annotations

from collections.abc import Sequence

from models.runtime.parameters import one_of
from models.sequence.vocabulary import Vocabulary

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
