"""What simple baselines are given: sequences, texts and labels in their own units."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

WORD = r"[a-z0-9']+"  # of a text in lower case
OWN_WORDS = "own words"  # the modality of word vectors that were learned from the training texts alone


@dataclass(frozen=True, eq=False)
class Observed:
    """Holds samples in their own units.

    modalities: by name one array (step, number) a sample, of 0 steps where the sample lacks it. labels: (sample,)
    scores, or numbers of classes; None where they are not known. texts: what was said, where it is known. classes: how
    many there are, 0 for scores.
    """

    modalities: Mapping[str, Sequence[np.ndarray]]
    labels: np.ndarray | None = None
    texts: Sequence[str] | None = None
    classes: int = 0

    def __len__(self) -> int:
        """Returns how many samples there are."""
        counted = self.texts if self.texts is not None else next(iter(self.modalities.values()), self.labels)
        return 0 if counted is None else len(counted)

    def pick(self, rows: np.ndarray) -> Observed:
        """Returns the samples of these numbers, in this order."""
        modalities = {name: [own[row] for row in rows] for name, own in self.modalities.items()}
        labels, texts = (None if own is None else [own[row] for row in rows] for own in (self.labels, self.texts))
        return replace(self, modalities=modalities, labels=None if labels is None else np.array(labels), texts=texts)

    def readable(self, modalities: Sequence[str]) -> np.ndarray:
        """Returns the numbers of the samples that have a step of each of these modalities, (sample,); where there is no
        modality text, those whose text holds a word."""
        known = np.ones(len(self), dtype=bool)
        for name in modalities:
            if name in self.modalities:
                known &= [len(own) > 0 for own in self.modalities[name]]
            elif name == "text" and self.texts is not None:
                known &= [re.search(WORD, text.lower()) is not None for text in self.texts]
        return np.flatnonzero(known)

    def sequences(self, modality: str) -> Sequence[np.ndarray]:
        """Returns the arrays of a modality. Raises ValueError, with the names there are, where it is none of them."""
        if modality not in self.modalities:
            known = ", ".join(self.modalities) or "none"
            raise ValueError(f"this baseline reads modality {modality}, and there are: {known}; choose another one")
        return self.modalities[modality]

    def spoken(self) -> Sequence[str]:
        """Returns the texts. Raises ValueError where they are not known."""
        if self.texts is None:
            raise ValueError("this baseline reads what was said, and these samples have no texts; choose another one")
        return self.texts

    def targets(self) -> np.ndarray:
        """Returns what is regressed on, (sample, 1) scores or (sample, class) ones and zeros. Raises ValueError without
        labels."""
        if self.labels is None:
            raise ValueError("samples to learn from need labels")
        return np.eye(self.classes)[self.labels] if self.classes else self.labels.astype(np.float64)[:, np.newaxis]
