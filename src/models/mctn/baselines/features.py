"""What simple baselines read of a sample: a row of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from models.mctn.baselines.samples import WORD, Observed

MOST_TERMS = 5000  # where there are more samples than that
INSTALL = "pip install -c constraints.txt -e '.[vader]'"

Rows = Any  # numpy array (sample, number), or the same as a scipy.sparse array


class Features(Protocol):
    """Makes a row of numbers of each sample. reads: the modalities that it looks at."""

    @property
    def reads(self) -> tuple[str, ...]: ...

    def fit(self, train: Observed) -> Self:
        """Learns what it needs from the training samples."""
        ...

    def rows(self, part: Observed) -> Rows:
        """Returns (sample, number)."""
        ...


@dataclass
class Steps:
    """Averages the steps of a modality, of which each sample has one at least. deviations: with their standard
    deviation beside it."""

    modality: str
    deviations: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.modality,)

    def fit(self, train: Observed) -> Self:
        """Learns nothing. Raises ValueError where there is no training sample with the modality."""
        if not len(train.sequences(self.modality)):
            raise ValueError(f"no training sample has a step of {self.modality}; choose another baseline")
        return self

    def rows(self, part: Observed) -> Rows:
        """Returns (sample, number)."""
        return np.array([self._row(own) for own in part.sequences(self.modality)])

    def _row(self, steps: np.ndarray) -> np.ndarray:
        mean = steps.mean(0, dtype=np.float64)
        if not self.deviations:
            return mean
        varies = np.ptp(steps, axis=0) > 0  # where none does, the deviation is the rounding of the mean
        return np.concatenate([mean, np.where(varies, steps.std(0, dtype=np.float64), 0.0)])


@dataclass
class Lexicon:
    """Gives the negative, neutral, positive and compound score of the lexicon VADER (C. Hutto and E. Gilbert 2014) for
    the text in lower case. Nothing is learned."""

    reads: tuple[str, ...] = ("text",)

    def fit(self, train: Observed) -> Self:
        """Raises ValueError where the package is not installed, or samples have no texts."""
        train.spoken()
        analyser()
        return self

    def rows(self, part: Observed) -> Rows:
        """Returns (sample, 4)."""
        scored = analyser()
        found = [scored.polarity_scores(text.lower()) for text in part.spoken()]
        return np.array([[each[name] for name in ("neg", "neu", "pos", "compound")] for each in found])


def analyser() -> Any:
    """Returns VADER's analyser. Raises ValueError where the package is not installed."""
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError as error:
        raise ValueError(f"this baseline needs the lexicon of vaderSentiment: {INSTALL}") from error
    return SentimentIntensityAnalyzer()


@dataclass
class Terms:
    """Gives the TF-IDF of words and pairs of words, rows of Euclidean length 1 (scikit-learn's `TfidfVectorizer`).

    All terms of the training texts are known; with more than `MOST_TERMS` texts, as many of the most frequent ones.
    """

    reads: tuple[str, ...] = ("text",)
    vectorizer: Any = field(default=None, init=False)

    def fit(self, train: Observed) -> Self:
        """Learns terms and their weights. Raises ValueError where texts are missing, or hold no word."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = train.spoken()
        most = None if len(texts) <= MOST_TERMS else MOST_TERMS
        self.vectorizer = TfidfVectorizer(ngram_range=(1, 2), token_pattern=WORD, max_features=most)
        if not any(map(self.vectorizer.build_analyzer(), texts)):
            raise ValueError("no training text holds a word; choose another baseline")
        self.vectorizer.fit(texts)
        return self

    def rows(self, part: Observed) -> Rows:
        """Returns (sample, term), sparse."""
        return self.vectorizer.transform(part.spoken())


@dataclass
class Together:
    """Gives the numbers of several features beside each other."""

    parts: Sequence[Features]

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.reads))

    def fit(self, train: Observed) -> Self:
        """Fits each of them. Raises ValueError as they do."""
        for part in self.parts:
            part.fit(train)
        return self

    def rows(self, part: Observed) -> Rows:
        """Returns (sample, number)."""
        return np.concatenate([own.rows(part) for own in self.parts], axis=1)
