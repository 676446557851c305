"""Samples of one's own in three parts, drawn under a seed: groups of samples stay whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from data.base import DataError

Rows = dict[str, np.ndarray]  # the places of the samples of each part, the training part first


class Shares(NamedTuple):
    """Holds the shares of the parts that are held out, and the seed under which they are drawn."""

    validation: float
    test: float
    seed: int

    def counts(self, count: int, called: str) -> dict[str, int]:
        """Returns how many of `count` each part is to hold, at least 1. Raises DataError for shares that are none, and
        for too few of what is `called` so, as "documents"."""
        if not (0 < self.validation < 1 and 0 < self.test < 1 and self.validation + self.test < 1):
            raise DataError(
                f"validation={self.validation} and test={self.test} must lie above 0 and leave a training part"
            )
        validation, test = (max(1, round(share * count)) for share in (self.validation, self.test))
        if validation + test >= count:
            raise DataError(f"{count} {called} cannot be split three ways; give more of them")
        return {"train": count - validation - test, "validation": validation, "test": test}


def drawn(codes: np.ndarray, sizes: np.ndarray, wanted: Mapping[str, int], seed: int) -> Rows:
    """Returns the places of the samples of each part. In random order groups fill the test part and then the validation
    part, as far as they fit in what is still wanted; all others are for training.

    codes: the group of each sample, 0, 1, … sizes: what each group counts for. wanted: what each part is to hold.
    """
    order = np.random.default_rng(seed).permutation(len(sizes))
    pieces = Rows()
    for part in ("test", "validation"):
        taken = fitting(sizes[order], wanted[part])
        pieces[part], order = order[taken], order[~taken]
    pieces["train"] = order
    return {part: np.flatnonzero(np.isin(codes, pieces[part])) for part in ("train", "validation", "test")}


def fitting(sizes: np.ndarray, wanted: int) -> np.ndarray:
    """Returns which groups a part of `wanted` takes, bool (group,): each that fits in what is still wanted, or the
    smallest where none fits."""
    taken = np.zeros(len(sizes), bool)
    for place, size in enumerate(sizes.tolist()):
        if size <= wanted:
            taken[place] = True
            wanted -= size
    if len(sizes) and not taken.any():
        taken[sizes.argmin()] = True
    return taken
