"""Entities in sequences of tags, and their F1 by the strict rule: same sequence, same words, same kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

OUTSIDE = "O"


class Entity(NamedTuple):
    """Is a kind and the words from `first` up to but without `end`."""

    kind: str
    first: int
    end: int


class Counts(NamedTuple):
    """Holds how many entities there are, how many were named, and how many of these are right."""

    true: int = 0
    named: int = 0
    right: int = 0

    @property
    def f1(self) -> float | None:
        """Returns 2 right / (true + named), None where there is neither."""
        return 2 * self.right / (self.true + self.named) if self.true + self.named else None

    def __add__(self, other: object) -> Counts:
        """Returns the counts of both together."""
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(*(one + more for one, more in zip(self, other, strict=True)))


def entities(tags: Sequence[str]) -> list[Entity]:
    """Returns the entities of a sequence of tags "O", "B-kind" and "I-kind" (IOB2), in their order.

    An entity begins with B and goes on while I of its kind follows. An I that continues nothing is no entity. Raises
    ValueError for another tag, with its place.
    """
    found, open_ = list[Entity](), False
    for place, tag in enumerate(tags):
        begins, _, kind = tag.partition("-")
        if tag != OUTSIDE and not (begins in ("B", "I") and kind):
            raise ValueError(f"tag {place} is {tag!r}; expected O, B-kind or I-kind")
        goes_on = open_ and begins == "I" and kind == found[-1].kind
        if goes_on:
            found[-1] = found[-1]._replace(end=place + 1)
        elif begins == "B":
            found.append(Entity(kind, place, place + 1))
        open_ = goes_on or begins == "B"
    return found


def best_tags(log_p: np.ndarray, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the most probable tags, log p (word, tag), of those in which every I continues a B or I of its kind; of
    equals those of the lower numbers (Viterbi 1967)."""
    if not len(log_p):
        return ()
    begun = np.array([[follows(name, last) for last in names] for name in names])
    allowed = np.where(begun, 0.0, -np.inf)  # (tag, tag before)
    score = log_p[0] + np.where([follows(name, OUTSIDE) for name in names], 0.0, -np.inf)
    before = np.zeros(log_p.shape, np.int64)
    for place in range(1, len(log_p)):
        whole = score + allowed
        before[place] = whole.argmax(1)
        score = whole.max(1) + log_p[place]
    chosen = [int(score.argmax())]
    for place in range(len(log_p) - 1, 0, -1):
        chosen.append(int(before[place, chosen[-1]]))
    return tuple(names[tag] for tag in reversed(chosen))


def follows(tag: str, last: str) -> bool:
    """Returns whether a tag may stand behind another one."""
    begins, _, kind = tag.partition("-")
    return begins != "I" or last in (f"B-{kind}", f"I-{kind}")


def entity_counts(true: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> dict[str, Counts]:
    """Returns the counts of each kind over sequences of tags. Raises ValueError for tags as `entities`, and for
    sequences that differ in number or length."""
    sets = list[tuple[set[Entity], set[Entity]]]()
    for own, other in zip(true, predicted, strict=True):
        if len(own) != len(other):
            raise ValueError(f"a sequence has {len(own)} tags and {len(other)} predicted ones")
        sets.append((set(entities(own)), set(entities(other))))
    return set_counts(sets)


def set_counts(sets: Iterable[tuple[Set[Any], Set[Any]]]) -> dict[str, Counts]:
    """Returns the counts of each kind over pairs of sets, what there is and what was named: entities, or values as
    (kind, value); what is named twice in a document counts once."""
    found: dict[str, Counts] = {}
    for there, named in sets:
        for kind in {own[0] for own in there | named}:
            counts = (sum(own[0] == kind for own in each) for each in (there, named, there & named))
            found[kind] = found.get(kind, Counts()) + Counts(*counts)
    return dict(sorted(found.items()))


def values_in(words: Sequence[str], tags: Sequence[str], normalised: Callable[[str, str], str]) -> set[tuple[str, str]]:
    """Returns what the entities of a document say, (kind, value), each once. normalised: gives the normal form of a
    kind's value, from its words with blanks between them; "" for a text that says nothing."""
    said = {(kind, normalised(kind, " ".join(words[first:end]))) for kind, first, end in entities(tags)}
    return {(kind, value) for kind, value in said if value}


def entity_f1(true: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> float | None:
    """Returns F1 over the entities of all kinds (micro), None where there are none and none were named. Raises as
    `entity_counts`."""
    return sum(entity_counts(true, predicted).values(), Counts()).f1
