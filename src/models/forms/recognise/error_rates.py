"""How wrong texts are that were read: word accuracy, and error rates by the unrestricted Damerau–Levenshtein distance.

That distance counts insertions, deletions, replacements and swaps of neighbours, so that D(ca, abc) = 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import DamerauLevenshtein


def distance(read: Sequence[str] | str, true: Sequence[str] | str) -> int:
    """Returns D of two texts, by characters, or of two lists, by words."""
    return DamerauLevenshtein.distance(read, true)


def check(read: Sequence[str], true: Sequence[str]) -> None:
    """Raises ValueError for unequal numbers of texts, without a text, and for a true text without a character."""
    if len(read) != len(true) or not true:
        raise ValueError(f"each text needs what was read; got {len(true)} texts and {len(read)} readings")
    empty = next((place for place, text in enumerate(true) if not text), None)
    if empty is not None:
        raise ValueError(f"text {empty} is empty; leave it out")


def word_accuracy(read: Sequence[str], true: Sequence[str]) -> float:
    """Returns the share of texts that were read without a fault. Raises ValueError as `check`."""
    check(read, true)
    return sum(own == other for own, other in zip(read, true, strict=True)) / len(true)


def character_error_rate(read: Sequence[str], true: Sequence[str]) -> float:
    """Returns 100 Σ D(ŵ, w) / Σ |w|, which may exceed 100. Raises ValueError as `check`."""
    check(read, true)
    return 100 * sum(map(distance, read, true)) / sum(map(len, true))


def mean_character_error_rate(read: Sequence[str], true: Sequence[str]) -> float:
    """Returns the mean of 100 D(ŵ, w) / |w| (thesis, 2.2.4), which may exceed 100. Raises ValueError as `check`."""
    check(read, true)
    return 100 * sum(distance(own, other) / len(other) for own, other in zip(read, true, strict=True)) / len(true)


def word_error_rate(read: Sequence[Sequence[str]], true: Sequence[Sequence[str]]) -> float:
    """Returns 100 Σ D / Σ |words| over forms, D counting words. Raises ValueError for unequal numbers of forms, and
    where there is no true word."""
    if len(read) != len(true) or not sum(map(len, true)):
        raise ValueError(f"{len(true)} forms with {sum(map(len, true))} words and {len(read)} readings; give as many")
    return 100 * sum(map(distance, read, true)) / sum(map(len, true))
