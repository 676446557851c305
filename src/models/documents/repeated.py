"""Entities of the same words, which a document has at several places: all of these places are entities, or none is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from models.sequence.entities import OUTSIDE, entities

SIGNS = ".,;:()[]\"'“”‘’"  # at the ends of a word they do not tell it from another


def repeated(words: Sequence[str], tags: Sequence[str], least: float | None) -> tuple[str, ...]:
    """Returns tags in which the words of an entity are one wherever they stand in the document, or nowhere.

    They are one at all their places where at least the share `least` of these is tagged as such, in (0, 1], and else
    nowhere. Words are the same that are the same in small letters and without signs at their ends. Of entities that
    overlap the one of more words stays, then the one at more places, then the one that comes first. With None the tags
    stay as they are.
    """
    if least is None:
        return tuple(tags)
    spelt = [word.lower().strip(SIGNS) or word for word in words[: len(tags)]]
    counts = Counter((tuple(spelt[own.first : own.end]), own.kind) for own in entities(tags))
    firsts, whole = places_by_word(spelt), [OUTSIDE] * len(tags)
    for (own, kind), count in sorted(counts.items(), key=lambda item: (-len(item[0][0]), -item[1])):
        places = [place for place in firsts[own[0]] if tuple(spelt[place : place + len(own)]) == own]
        for place in places if count >= least * len(places) else ():
            stretch = slice(place, place + len(own))
            if all(tag == OUTSIDE for tag in whole[stretch]):
                whole[stretch] = [f"B-{kind}", *[f"I-{kind}"] * (len(own) - 1)]
    return tuple(whole)


def places_by_word(spelt: Sequence[str]) -> Mapping[str, list[int]]:
    """Returns where each word stands, in the order of the text."""
    found = dict[str, list[int]]()
    for place, word in enumerate(spelt):
        found.setdefault(word, []).append(place)
    return found
