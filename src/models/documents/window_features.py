"""What a linear tagger sees of a word: itself, those around it in the text, and perhaps those around it on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from models.documents.spelling import features_of
from models.documents.words import Placed, without_box

BINS = 10  # of a coordinate, along a page
ROWS = 512  # words at a time, whose neighbours are looked for among all of their page


def layout_features(document: Placed) -> list[list[str]]:
    """Returns where each word stands, in tenths of the page, and how high it is, in fifths of the mean height of the
    words that have a box; of a word without a box that it has none."""
    sizes = np.array(document.sizes, np.float64)[document.pages]
    boxes = np.nan_to_num(document.boxes.astype(np.float64))
    high = boxes[:, 3] - boxes[:, 1]
    none = without_box(document)
    known = high[~none]
    shares = high / max(known.mean() if len(known) else 0.0, 1e-9) / 2
    relative = np.column_stack(
        [boxes[:, 0] / sizes[:, 0], boxes[:, 1] / sizes[:, 1], boxes[:, 2] / sizes[:, 0], shares]
    )
    bins = np.clip(relative * BINS, 0, 2 * BINS).astype(np.int64)
    return [
        ["no box"] if lacking else [f"{name}{number}" for name, number in zip("lurh", own, strict=True)]
        for lacking, own in zip(none.tolist(), bins.tolist(), strict=True)
    ]


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
class WindowFeatures:
    """Turns documents into sparse rows, a word each.

    around: how many words on each side are seen. layout: also where the word stands, and the words nearest to it on its
    left, right, above and below.
    """

    around: int = 4
    layout: bool = False
    words: Any = field(init=False, default=None)
    places: Any = field(init=False, default=None)

    def fit(self, documents: Sequence[Placed]) -> WindowFeatures:
        """Takes the features that there are from documents, and returns itself."""
        self.words = vectoriser().fit([features_of(word) for own in documents for word in own.words])
        if self.layout:
            self.places = vectoriser().fit([own for each in documents for own in layout_features(each)])
        return self

    def rows(self, documents: Sequence[Placed]) -> Any:
        """Returns what is seen of the words of all documents together, sparse (word, feature)."""
        return sp.vstack([self.of(own) for own in documents if len(own.words)], format="csr")

    def of(self, document: Placed) -> Any:
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
