"""A linear tagger that looks at a word, those around it in the text and, if it may, those around it on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import SGDClassifier

from models.documents.window_features import WindowFeatures
from models.documents.words import Placed
from models.sequence.entities import best_tags

LEAST = 1e-12  # probability


@dataclass(eq=False)
class WindowTagger:
    """Is one linear classifier a tag (logistic loss, L2), of the features of the words around a word.

    around, layout: what is seen of a word, as `WindowFeatures` has it. alpha: of the penalty. passes: over the words.
    seed: of their order. Classifiers are fitted side by side in as many threads as torch has; their number changes no
    result.
    """

    around: int = 4
    layout: bool = False
    alpha: float = 1e-6
    passes: int = 10
    seed: int = 0
    features: WindowFeatures = field(init=False)
    linear: Any = field(init=False, default=None)

    def fit(self, documents: Sequence[Placed], tags: Sequence[Sequence[str]]) -> WindowTagger:
        """Learns from documents with a tag of each word, and returns the tagger. Raises ValueError for unequal numbers
        of them, and where there are not two tags at least."""
        every = joined_tags(documents, tags)
        features = WindowFeatures(self.around, self.layout).fit(documents)
        return self.fit_rows(features, features.rows(documents), every)

    def fit_rows(self, features: WindowFeatures, rows: Any, tags: Sequence[str]) -> WindowTagger:
        """Learns from rows that the features made, sparse (word, feature), with their tags, and returns the tagger. So
        several taggers share them. Raises ValueError where there are not two tags at least."""
        if len(set(tags)) < 2:
            raise ValueError("there are not two tags to tell apart; give documents with tags")
        linear: Any = SGDClassifier
        self.features = features
        self.linear = linear(loss="log_loss", alpha=self.alpha, max_iter=self.passes, tol=None, average=True,
                             random_state=self.seed, n_jobs=torch.get_num_threads())  # fmt: skip
        self.linear.fit(rows, tags)
        return self

    def tags(self, documents: Sequence[Placed]) -> list[tuple[str, ...]]:
        """Returns the tags of the words of each document, the most probable ones that are legal."""
        return [self.tags_of_rows(self.features.of(own)) if len(own.words) else () for own in documents]

    def tags_of_rows(self, rows: Any) -> tuple[str, ...]:
        """Returns the tags of the words of a document, by the rows that the features made of it."""
        shares = self.linear.predict_proba(rows)
        return best_tags(np.log(np.maximum(shares, LEAST)), [str(tag) for tag in self.linear.classes_])


def joined_tags(documents: Sequence[Placed], tags: Sequence[Sequence[str]]) -> list[str]:
    """Returns the tags of all words. Raises ValueError for another number of them than of words."""
    counts = [(len(own.words), len(given)) for own, given in zip(documents, tags, strict=True)]
    unequal = next((place for place, (words, given) in enumerate(counts) if words != given), None)
    if unequal is not None:
        raise ValueError(f"document {unequal} has {counts[unequal][0]} words and {counts[unequal][1]} tags")
    return [tag for own in tags for tag in own]
