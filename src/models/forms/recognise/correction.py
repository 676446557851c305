"""Correction of what was read by a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz.distance import DamerauLevenshtein
from rapidfuzz.process import cdist


@dataclass(frozen=True)
class Correction:
    """Replaces a text outside a vocabulary by its nearest word, if that is within a Damerau–Levenshtein distance.

    words: the vocabulary, most frequent first. most: the largest distance; a text stays as it is, too, where the
    distance is not smaller than the number of its characters, and so does an empty one. Of words equally near the one
    that stands first in `words` is taken. It makes an open vocabulary closed, and with many unseen words it does harm:
    report scores with and without it. Raises ValueError for an empty vocabulary, and for a word that is empty or comes
    twice.
    """

    words: tuple[str, ...]
    most: int = 2

    def __post_init__(self) -> None:
        if not self.words:
            raise ValueError("a correction needs a vocabulary; give words, or leave the correction out")
        for word, count in Counter(self.words).items():
            if count > 1 or not word:
                raise ValueError(f"in the vocabulary {word!r} {'comes twice' if word else 'is empty'}; leave it out")

    @classmethod
    def of_texts(cls, texts: Sequence[str], *, most: int = 2) -> Correction:
        """Returns the correction by the words of training texts: the most frequent first, then by the alphabet."""
        counts = Counter(texts)
        return cls(tuple(sorted(counts, key=lambda word: (-counts[word], word))), most)

    @cached_property
    def known(self) -> frozenset[str]:
        """Returns the vocabulary as a set."""
        return frozenset(self.words)

    def corrected(self, texts: Sequence[str]) -> list[str]:
        """Returns the texts with those replaced that are not known and have a known word near enough."""
        unknown = sorted(set(texts) - self.known)
        if not unknown:
            return list(texts)
        distances = cdist(unknown, self.words, scorer=DamerauLevenshtein.distance, score_cutoff=self.most)
        nearest = distances.argmin(1)  # the first of equals
        found = {text: self.words[place] for text, place, own in zip(unknown, nearest, distances, strict=True)
                 if own[place] <= min(self.most, len(text) - 1)}  # fmt: skip
        return [found.get(text, text) for text in texts]
