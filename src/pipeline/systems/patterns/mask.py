"""What a kind of attention lets each token of a document see."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.sequence.patterns import Keys

NEITHER, BOTH, KEY, VALUE = 0, 3, 2, 1


class Mask(NamedTuple):
    """Holds what a kind of attention lets each token of a document see.

    seen: int8 (query, token), `NEITHER`, `BOTH`, or `KEY` or `VALUE` alone.
    """

    name: str
    seen: np.ndarray

    @property
    def keys(self) -> np.ndarray:
        """Returns how many keys each token has, (query,)."""
        return (self.seen >= KEY).sum(1)


def mask_of(name: str, keys: Keys, values: Keys) -> Mask:
    """Returns the mask of these lists of keys and of values."""
    return Mask(name, (KEY * keys.matrix().toarray() + VALUE * values.matrix().toarray()).astype(np.int8))
