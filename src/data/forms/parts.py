"""How images of words are drawn into three parts: each by itself, or all of a writer together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.base import DataError
from data.word_images import PARTS, WordImages

WRITERS = ("shared", "disjoint")


def check_writers(name: str, writers: str) -> None:
    """Raises DataError for a `data.writers` that is unknown."""
    if writers not in WRITERS:
        raise DataError(f"{name}: data.writers={writers} is unknown; choose one of {', '.join(WRITERS)}")


def check_share(name: str, **shares: float) -> None:
    """Raises DataError for shares that are not between 0 and 1, or leave nothing to train on."""
    for key, share in shares.items():
        if not 0 < share < 1:
            raise DataError(f"{name}: data.{key}={share} must lie between 0 and 1")
    if sum(shares.values()) >= 1:
        raise DataError(f"{name}: {' and '.join(f'data.{key}' for key in shares)} leave nothing to train on")


def count_of(share: float, total: int) -> int:
    """Returns how many of `total` a share is, at least one."""
    return max(1, round(share * total))


def drawn(groups: Sequence[str], count: int, generator: np.random.Generator) -> np.ndarray:
    """Returns which rows belong to `count` of the different groups, bool (row,)."""
    chosen = generator.permutation(sorted(set(groups)))[:count]
    return np.isin(np.asarray(groups), chosen)


def groups_of(words: WordImages, rows: np.ndarray, writers: str) -> list[str]:
    """Returns what is kept together of some rows: the writer with writers=disjoint, else each row by itself."""
    if writers == "shared":
        return [f"{row:09d}" for row in rows]
    assert words.writers is not None  # noqa: S101
    return [words.writers[row] for row in rows]


def held_out(
    words: WordImages, rows: np.ndarray, *, writers: str, count: int | float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows as those that stay and those that are held out. count: of groups, or a share of them."""
    groups = groups_of(words, rows, writers)
    own = count if isinstance(count, int) else count_of(count, len(set(groups)))
    held = drawn(groups, own, generator)
    return rows[~held], rows[held]


def three_parts(name: str, words: WordImages, rows: Sequence[np.ndarray]) -> dict[str, WordImages]:
    """Returns the images of the rows of training, validation and test part. Raises DataError for an empty part."""
    for part, own in zip(PARTS, rows, strict=True):
        if not len(own):
            raise DataError(f"{name}: the {part} part has no image; give more images or writers, or another split")
    return {part: words.at(own) for part, own in zip(PARTS, rows, strict=True)}
