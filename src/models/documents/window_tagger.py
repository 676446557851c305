"""A linear tagger that looks at a word, those around it in the text and, if it may, those around it on the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier

from models.documents.words import Placed
from models.sequence.entities import best_tags

SHAPES = (
    (re.compile(r"[A-Z]"), "X"),
    (re.compile(r"[a-z]"), "x"),
    (re.compile(r"\d"), "9"),
    (re.compile(r"(.)\1+"), r"\1"),
)
BINS = 10  # of a coordinate, along a page
LEAST = 1e-12  # probability
ROWS = 512  # words at a time, whose neighbours are looked for among all of their page


def features_of(word: str) -> list[str]:
    """Returns what is seen of a word: itself in small letters, its first and last three, and its shape."""
    small, shape = word.lower(), word
    for pattern, sign in SHAPES:
        shape = pattern.sub(sign, shape)
    return [f"w={small}", f"<{small[:3]}", f">{small[-3:]}", f"s={shape}"]


def layout_features(document: Placed) -> list[list[str]]:
    """Returns where each word stands and how large it is, in tenths of the page and of the mean height."""
    sizes = np.array(document.sizes, np.float64)[document.pages]
    boxes = np.nan_to_num(document.boxes.astype(np.float64))
    high = boxes[:, 3] - boxes[:, 1]
    shares = high / max(high.mean(), 1e-9) / 2
    relative = np.column_stack(
        [boxes[:, 0] / sizes[:, 0], boxes[:, 1] / sizes[:, 1], boxes[:, 2] / sizes[:, 0], shares]
    )
    bins = np.clip(relative * BINS, 0, 2 * BINS).astype(np.int64)
    return [[f"{name}{number}" for name, number in zip("lurh", own, strict=True)] for own in bins.tolist()]


def neighbours_of(document: Placed) -> np.ndarray:
    """Returns the nearest word to the left, to the right, above and below each word, int64 (word, 4), −1 for none.

    A neighbour beside a word overlaps it in height, one above or below in width; of equally near ones the first.
    """
    found = np.full((len(document.words), 4), -1)
    for page in np.unique(document.pages):
        rows = np.flatnonzero((document.pages == page) & ~np.isnan(document.boxes[:, 0]))
        boxes = document.boxes[rows].astype(np.float64)
        for start in range(0, len(rows), ROWS):
            own = slice(start, start + ROWS)
            near = neighbours_on_page(boxes[own], boxes)
            found[rows[own]] = np.where(near < 0, -1, rows[near])
    return found


def neighbours_on_page(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Returns the neighbours of boxes (row, 4) among others of their page, (row, 4)."""
    x0, y0, x1, y1 = (boxes[:, side, None] for side in range(4))
    left, top, right, bottom = others.T
    beside, stacked = (y0 < bottom) & (top < y1), (x0 < right) & (left < x1)
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    across, along = (left + right) / 2 - x, (top + bottom) / 2 - y
    asked = ((beside, -across), (beside, across), (stacked, -along), (stacked, along))
    steps = [np.where(there & (step > 0), step, np.inf) for there, step in asked]
    return np.column_stack([np.where(np.isinf(step).all(1), -1, step.argmin(1)) for step in steps])


@dataclass(eq=False)
class WindowTagger:
    """Is one linear classifier a tag (logistic loss, L2), of the features of the words around a word.

    around: how many words on each side. layout: also where the word stands, and the words nearest to it on its left,
    right, above and below. alpha: of the penalty. passes: over the words. seed: of their order.
    """

    around: int = 4
    layout: bool = False
    alpha: float = 1e-6
    passes: int = 10
    seed: int = 0
    words: Any = field(init=False, default=None)
    places: Any = field(init=False, default=None)
    linear: Any = field(init=False, default=None)

    def fit(self, documents: Sequence[Placed], tags: Sequence[Sequence[str]]) -> WindowTagger:
        """Learns from documents with a tag of each word, and returns the tagger. Raises ValueError for unequal numbers
        of them, and where there are not two tags at least."""
        counts = [(len(own.words), len(given)) for own, given in zip(documents, tags, strict=True)]
        unequal = next((place for place, (words, given) in enumerate(counts) if words != given), None)
        if unequal is not None:
            raise ValueError(f"document {unequal} has {counts[unequal][0]} words and {counts[unequal][1]} tags")
        every = [tag for own in tags for tag in own]
        if len(set(every)) < 2:
            raise ValueError("there are not two tags to tell apart; give documents with tags")
        self.words = vectoriser().fit([features_of(word) for own in documents for word in own.words])
        self.places = vectoriser().fit([own for each in documents for own in layout_features(each)])
        linear: Any = SGDClassifier
        self.linear = linear(loss="log_loss", alpha=self.alpha, max_iter=self.passes, tol=None, average=True,
                                    random_state=self.seed)  # fmt: skip
        self.linear.fit(self._features(documents), every)
        return self

    def tags(self, documents: Sequence[Placed]) -> list[tuple[str, ...]]:
        """Returns the tags of the words of each document, the most probable ones that are legal."""
        return [self._tags_of(own) if len(own.words) else () for own in documents]

    def _tags_of(self, document: Placed) -> tuple[str, ...]:
        shares = self.linear.predict_proba(self._features_of(document))
        return best_tags(np.log(np.maximum(shares, LEAST)), [str(tag) for tag in self.linear.classes_])

    def _features(self, documents: Sequence[Placed]) -> Any:
        return sp.vstack([self._features_of(own) for own in documents if len(own.words)], format="csr")

    def _features_of(self, document: Placed) -> Any:
        """Returns what is seen of each word of a document, sparse (word, feature)."""
        own, count = self.words.transform([features_of(word) for word in document.words]), len(document.words)
        empty, rows = sp.csr_matrix((1, own.shape[1])), np.arange(count)
        whole: Any = sp.vstack([own, empty], format="csr")  # the last row is that of no word
        steps = [rows + step for step in range(-self.around, self.around + 1)]
        asked = [np.where((step >= 0) & (step < count), step, count) for step in steps]
        if self.layout:
            near = neighbours_of(document)
            asked += list(np.where(near < 0, count, near).T)
        parts = [whole[each] for each in asked]
        parts += [self.places.transform(layout_features(document))] if self.layout else []
        return sp.hstack(parts, format="csr")


def vectoriser() -> CountVectorizer:
    """Returns what makes rows of lists of features."""
    made: Any = CountVectorizer
    return made(analyzer=list, binary=True, dtype=np.float64)
