"""Entities of the same words, which a document has at several places: all of these places are entities, or none is."""

from __future__ import annotations

from collections.abc import Sequence, Set

from models.sequence.entities import OUTSIDE, entities

Kind = tuple[tuple[str, ...], str]  # the words of an entity, and what it is
SIGNS = ".,;:()[]\"'“”‘’"  # at the ends of a word they do not tell it from another


def repeated(words: Sequence[str], tags: Sequence[str], least: float | None) -> tuple[str, ...]:
    """Returns tags in which the words of an entity are one wherever they stand in the document, or nowhere.

    They are one at all their places where at least the share `least` of these is tagged as such, in (0, 1], and else
    nowhere. Words are the same that are the same in small letters and without signs at their ends. Of entities that
    overlap the one of more words stays, then the one at more places, then the one that comes first. Places within
    an entity that stays are none of another, and of places that overlap one counts: one that is tagged, else the first.
    With None the tags stay as they are.
    """
    if least is None:
        return tuple(tags)
    spelt, named = [word.lower().strip(SIGNS) or word for word in words[: len(tags)]], dict[Kind, list[int]]()
    for own in entities(tags):
        named.setdefault((tuple(spelt[own.first : own.end]), own.kind), []).append(own.first)
    everywhere, whole = places_of({own for own, _ in named}, spelt), [OUTSIDE] * len(tags)
    for (own, kind), tagged in sorted(named.items(), key=lambda item: (-len(item[0][0]), -len(item[1]))):
        places = free([*tagged, *everywhere[own]], len(own), whole)
        if places and len(free(tagged, len(own), whole)) / len(places) >= least:
            for place in places:
                whole[place : place + len(own)] = [f"B-{kind}", *[f"I-{kind}"] * (len(own) - 1)]
    return tuple(whole)


def places_of(asked: Set[tuple[str, ...]], spelt: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """Returns where each of the stretches of words begins, in the order of the text."""
    found: dict[tuple[str, ...], list[int]] = {own: [] for own in asked}
    for length in {len(own) for own in asked}:
        for place in range(len(spelt) - length + 1):
            own = tuple(spelt[place : place + length])
            if own in found:
                found[own].append(place)
    return found


def free(places: Sequence[int], length: int, tags: Sequence[str]) -> list[int]:
    """Returns those of the places at which so many words have no tag, without those that overlap one before them."""
    chosen, taken = list[int](), set[int]()
    for place in places:
        stretch = range(place, place + length)
        if all(tags[word] == OUTSIDE and word not in taken for word in stretch):
            chosen.append(place)
            taken.update(stretch)
    return chosen
