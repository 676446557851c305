"""Texts as sequences of the rows of their words in a table of vectors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from data.utterances import Words


def word_steps(texts: Sequence[str], words: Words, *, name: str) -> list[np.ndarray]:
    """Returns for each text the rows of its words, float64 (word, 1); a word that is not known has row 0, whose vector
    is zero. Texts of which no word is known are counted in a warning that begins with `name`."""
    ids = [words.ids(text) for text in texts]
    unknown = sum(not own.any() for own in ids)
    if unknown:
        warnings.warn(f"{name}: {unknown} of {len(texts)} texts have no known word ({words.source})", stacklevel=2)
    return [own[:, np.newaxis].astype(np.float64) for own in ids]
