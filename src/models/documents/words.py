"""Words and where they stand on their pages, as networks and baselines read them: checked, with a centre each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from models.runtime.parameters import shown

MOST_WORDS = 1_000_000  # of a document
SLACK = 0.5  # units by which a box may stand out of its page, as rounded coordinates do
# Control characters that are no white space, zero-width characters, signs of direction, operators that are not seen,
# byte order marks, halves of pairs, and what Unicode calls noncharacters.
UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ud800-\udfff"
    "\ufdd0-\ufdef\ufffe\uffff]"
)


class Placed(Protocol):
    """Is a document: words as they are read, their boxes (word, 4) as x0, y0, x1, y1, y downwards and NaN for a word
    without one, the page of each word, from 0 and ascending, and width and height of each page, (page, 2)."""

    @property
    def words(self) -> Sequence[str]: ...
    @property
    def boxes(self) -> np.ndarray: ...
    @property
    def pages(self) -> np.ndarray: ...
    @property
    def sizes(self) -> Sequence[tuple[float, float]]: ...


class PageWords(NamedTuple):
    """Holds a document, see `Placed`, its name, and what messages call the first page, 0 or 1."""

    words: tuple[str, ...]
    boxes: np.ndarray
    pages: np.ndarray
    sizes: tuple[tuple[float, float], ...]
    name: str = ""
    first_page: int = 0


def visible(text: str) -> str:
    """Returns a word in Unicode's form NFC, in which é is one character however it was typed, without what is not seen:
    blanks around it and characters that are no text."""
    return unicodedata.normalize("NFC", UNWANTED.sub("", text)).strip()


def without_box(document: Placed) -> np.ndarray:
    """Returns which words have no box, bool (word,)."""
    return np.isnan(document.boxes[:, 0])


def single(boxes: np.ndarray) -> np.ndarray:
    """Returns boxes rounded to single precision, float64 (word, 4). Records of files have such boxes; doubles beside
    them would be rounded to other thousandths of the page, and be as far apart only nearly."""
    return boxes.astype(np.float32).astype(np.float64)


def centres_of(document: Placed) -> np.ndarray:
    """Returns the centre of each word on the pages stacked one below the other, float64 (word, 2).

    y ← y + Σ of the heights of the pages before (thesis, 2.3.3.2). A word without a box takes the centre of the nearest
    earlier word of its page that has one, else of the next such word; NaN where the page has none. Boxes count in
    single precision.
    """
    boxes, pages = single(document.boxes), document.pages
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    above = np.concatenate([[0.0], np.cumsum([height for _, height in document.sizes])])
    centres[:, 1] += above[pages]
    for page in np.unique(pages[np.isnan(centres[:, 0])]):
        rows = np.flatnonzero(pages == page)
        there = rows[~np.isnan(centres[rows, 0])]
        if len(there):
            centres[rows] = centres[there[np.maximum(np.searchsorted(there, rows, side="right") - 1, 0)]]
    return centres


def check(document: PageWords) -> None:
    """Raises ValueError, in one line with document, page and word, for what is no document. One without words is."""
    name, count = f"document {document.name}", len(document.words)
    if not (document.boxes.shape == (count, 4) and len(document.pages) == count and count <= MOST_WORDS):
        raise ValueError(f"{name}: {count} words need as many boxes of 4 numbers, and pages; at most {MOST_WORDS}")
    sizes = np.array(document.sizes, np.float64).reshape(-1, 2)
    bad = np.flatnonzero(~(np.isfinite(sizes).all(1) & (sizes > 0).all(1)))
    if len(bad):
        raise ValueError(
            f"{name}, page {bad[0] + document.first_page}: its size is missing or 0; give width and height"
        )
    for faults, said in word_faults(document, sizes):
        if faults.any():
            word = int(faults.argmax())
            page, text = int(document.pages[word]) + document.first_page, shown(document.words[word])
            raise ValueError(f"{name}, page {page}, word {word + 1} ({text}): it {said}")
    if count > 1 and len(sizes) and np.nanmax(document.boxes, initial=-np.inf) <= 1 and sizes.min() > 2:
        if (~without_box(document)).sum() < 2:
            return
        raise ValueError(
            f"{name}: all boxes lie within 1, on pages of {sizes[0][0]:g} × {sizes[0][1]:g}; give boxes and pages in "
            "one unit"
        )


def word_faults(document: PageWords, sizes: np.ndarray) -> Iterator[tuple[Any, str]]:
    """Yields what may be wrong with words: bool (word,), and words about it. sizes: (page, 2)."""
    boxes, pages = document.boxes.astype(np.float64), document.pages
    texts = np.array([not word.strip() or bool(UNWANTED.search(word)) for word in document.words], bool)
    yield texts, "is empty or holds a character that is no text; leave the word out"
    yield (pages < 0) | (pages >= len(sizes)), "is on a page that has no size; give its size"
    yield np.diff(pages, prepend=0) < 0, "is on an earlier page than the word before; put them in order"
    known, own = ~np.isnan(boxes), sizes[pages]
    yield known.any(1) & ~known.all(1), "has a box of which a side is missing; give all four, or none"
    yield np.isinf(boxes).any(1), "has a box without an end; give finite numbers"
    low, high = boxes[:, :2], boxes[:, 2:]
    yield (high < low).any(1), "has a box whose second corner lies before its first; give x0, y0, x1, y1"
    yield (low < -SLACK).any(1) | (high > own + SLACK).any(1), "has a box outside its page; mend box or size"
