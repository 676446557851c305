"""How images of words, and forms, are drawn into three parts: each by itself, or all of a writer together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.base import DataError
from data.word_images import PARTS, WordImages

WRITERS = ("shared", "disjoint")


def check_writers(name: str, writers: str) -> None:
    """Raises DataError for a `data.writers` that is unknown."""
    if writers not in WRITERS:
        raise DataError(f"{name}: writers={writers} is unknown; choose one of {', '.join(WRITERS)}")


def check_share(name: str, **shares: float) -> None:
    """Raises DataError for shares that are not between 0 and 1, or leave nothing to train on."""
    for key, share in shares.items():
        if not 0 < share < 1:
            raise DataError(f"{name}: {key}={share} must lie between 0 and 1")
    if sum(shares.values()) >= 1:
        raise DataError(f"{name}: {' and '.join(shares)} leave nothing to train on")


def count_of(share: float, total: int) -> int:
    """Returns how many of `total` a share is, at least one."""
    return max(1, round(share * total))


def drawn(groups: Sequence[str], count: int, generator: np.random.Generator) -> np.ndarray:
    """Returns which rows belong to `count` of the different groups, bool (row,)."""
    chosen = generator.permutation(sorted(set(groups)))[:count]
    return np.isin(np.asarray(groups), chosen)


def each_by_itself(count: int) -> list[str]:
    """Returns a group for each of `count` rows."""
    return [f"{row:09d}" for row in range(count)]


def groups_of(words: WordImages, writers: str) -> Sequence[str]:
    """Returns what is kept together, a group a row: the writer with writers=disjoint, else each row by itself."""
    if writers == "shared":
        return each_by_itself(len(words))
    assert words.writers is not None  # noqa: S101
    return words.writers


def held_out(
    groups: Sequence[str], rows: np.ndarray, *, count: int | float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Returns some of the rows as those that stay and those that are held out. groups: what is kept together, by row.
    count: of the groups of these rows, or a share of them."""
    known = [groups[int(row)] for row in rows]
    own = count if isinstance(count, int) else count_of(count, len(set(known)))
    held = drawn(known, own, generator)
    return rows[~held], rows[held]


def three_parts(name: str, words: WordImages, rows: Sequence[np.ndarray]) -> dict[str, WordImages]:
    """Returns the images of the rows of training, validation and test part. Raises DataError for an empty part."""
    for part, own in zip(PARTS, rows, strict=True):
        if not len(own):
            raise DataError(f"{name}: the {part} part has no image; give more images or writers, or another split")
    return {part: words.at(own) for part, own in zip(PARTS, rows, strict=True)}
