"""What a classifier of documents has to beat: words and pairs of words, weighed by TF-IDF; and the commonest class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

USUAL, AS_THEY_STAND = (
    r"(?u)\b\w\w+\b",
    r"\S+",
)  # words: two letters or figures at least, or whatever stands between blanks


def check_labels(texts: Sequence[Any], labels: Sequence[str]) -> None:
    """Raises ValueError for unequal numbers of documents and labels, and for no document."""
    if len(texts) != len(labels) or not len(labels):
        raise ValueError(f"each document needs its label; got {len(texts)} documents and {len(labels)} labels")


@dataclass(eq=False)
class TextClassifier:
    """Is a logistic regression on TF-IDF of words and of pairs of words that stand together, in small letters.

    Words are runs of two letters or figures at least; where documents have none, as those of single characters, all
    that stands between blanks. penalty: C, the inverse of that of L2. least: documents that a word or pair must stand
    in, 1 where none stands in so many. most: how many words of a document are read, None for all.
    """

    penalty: float = 1.0
    least: int = 2
    most: int | None = None
    model: Any = field(init=False, default=None)

    def fit(self, documents: Sequence[Sequence[str]], labels: Sequence[str]) -> TextClassifier:
        """Learns from the words of documents and their labels, and returns the classifier. Raises ValueError as
        `check_labels`, and for a single label."""
        check_labels(documents, labels)
        if len(set(labels)) < 2:
            raise ValueError("there is one label alone; give documents of two at least")
        texts, linear = self._texts(documents), LogisticRegression(C=self.penalty, max_iter=1000)
        words, rows = weighed(texts, self.least)
        self.model = make_pipeline(words, linear.fit(rows, list(labels)))
        return self

    def classes(self, documents: Sequence[Sequence[str]]) -> list[str]:
        """Returns the class of each document."""
        return [str(own) for own in self.model.predict(self._texts(documents))]

    def _texts(self, documents: Sequence[Sequence[str]]) -> list[str]:
        return [" ".join(words[: self.most]) for words in documents]


def weighed(texts: Sequence[str], least: int) -> tuple[TfidfVectorizer, Any]:
    """Returns TF-IDF of words and pairs that stand in `least` texts, or in one where none stands in so many, and the
    rows of these texts, sparse (text, word or pair)."""
    usual = any(re.search(USUAL, text.lower()) for text in texts)
    pattern = USUAL if usual else AS_THEY_STAND
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=pattern, min_df=least)
    try:
        return words, words.fit_transform(texts)
    except ValueError:  # of so many texts none has a word in common
        return words, words.set_params(min_df=1).fit_transform(texts)


def commonest(labels: Sequence[str]) -> str:
    """Returns the label that most documents have, of equals the first. Raises ValueError without a label."""
    check_labels(labels, labels)
    counts = Counter(labels)
    return max(counts, key=lambda name: counts[name])
