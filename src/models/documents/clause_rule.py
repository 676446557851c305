"""Which law governs a contract, by rules that read English: the state that is named most often where clauses say so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

BEHIND = 25  # words that a clause reaches
CLAUSES = (("laws", "of"), ("governed",), ("construed",), ("jurisdiction",))
NO_LETTERS = re.compile(r"[\W_]+")

Spelt = tuple[str, ...]


def spelt(text: str) -> Spelt:
    """Returns the words of a text in small letters, without what is no letter or digit."""
    return tuple(own for own in (NO_LETTERS.sub("", word) for word in text.lower().split()) if own)


def places_of(words: Spelt, asked: Spelt) -> Iterator[int]:
    """Yields where these words begin."""
    for place in range(len(words) - len(asked) + 1):
        if words[place : place + len(asked)] == asked:
            yield place


def within_clauses(words: Spelt) -> list[bool]:
    """Returns for each word whether one of `CLAUSES` ends at most `BEHIND` words before it."""
    near = [False] * len(words)
    for clause in CLAUSES:
        for place in places_of(words, clause):
            first = place + len(clause)
            end = min(first + BEHIND, len(words))
            near[first:end] = [True] * (end - first)
    return near


@dataclass(frozen=True)
class NamedState:
    """Says which of some states a document names most often, of equals the one that it names first.

    states: their names; West Virginia does not name Virginia where both are among them. clauses: whether only those
    count that begin within 25 words behind "laws of", "governed", "construed" or "jurisdiction". most: how many words
    of a document are read, None for all. Nothing is learned. Raises ValueError for a name without a letter.
    """

    states: tuple[str, ...]
    clauses: bool = True
    most: int | None = None

    def __post_init__(self) -> None:
        empty = next((name for name in self.states if not spelt(name)), None)
        if empty is not None:
            raise ValueError(f"states: {empty!r} has no letter; give names of states")

    def named(self, words: Spelt) -> Iterator[tuple[int, str]]:
        """Yields where each name begins, and the name: long names first, of equally long ones in the order of the
        text, and none that overlaps one before."""
        taken = [False] * len(words)
        names = [(name, spelt(name)) for name in self.states]
        found = [(len(asked), place, name) for name, asked in names for place in places_of(words, asked)]
        for length, place, name in sorted(found, key=lambda own: (-own[0], own[1])):
            if not any(taken[place : place + length]):
                yield place, name
                taken[place : place + length] = [True] * length

    def state(self, words: Sequence[str]) -> str | None:
        """Returns the state, None where none is named."""
        own = spelt(" ".join(words[: self.most]))
        near = within_clauses(own) if self.clauses else [True] * len(own)
        counts = Counter(name for place, name in sorted(self.named(own)) if near[place])
        return max(counts, key=lambda name: counts[name]) if counts else None
