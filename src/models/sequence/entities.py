"""Entities in sequences of tags, and their F1 by the strict rule: same sequence, same words, same kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


def entity_counts(true: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> dict[str, Counts]:
    """Returns the counts of each kind over sequences of tags. Raises ValueError for tags as `entities`, and for
    sequences that differ in number or length."""
    found: dict[str, Counts] = {}
    for own, other in zip(true, predicted, strict=True):
        if len(own) != len(other):
            raise ValueError(f"a sequence has {len(own)} tags and {len(other)} predicted ones")
        there, named = set(entities(own)), set(entities(other))
        for kind in {entity.kind for entity in there | named}:
            counts = (sum(entity.kind == kind for entity in each) for each in (there, named, there & named))
            found[kind] = found.get(kind, Counts()) + Counts(*counts)
    return dict(sorted(found.items()))


def entity_f1(true: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> float | None:
    """Returns F1 over the entities of all kinds (micro), None where there are none and none were named. Raises as
    `entity_counts`."""
    return sum(entity_counts(true, predicted).values(), Counts()).f1
