"""The record that loaders of documents return: words with boxes on pages, a label or tags, and a split."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from data.base import DataError, spread

PARTS = ("train", "validation", "test")
OUTSIDE = "O"
SIDES = ("x0", "y0", "x1", "y1")
MOST_WORDS = 1_000_000  # of a document
NO_CUES = np.empty((0, 2), np.int64)
NO_WORD = -1  # in a cue, in the place of the word that asks: the label of the document does
NOWHERE = -2  # in a cue, in the place of the word that tells: none does
SLACK = 0.5  # units by which a box may stand out of its page, as rounded coordinates do
# Control characters that are no white space, zero-width characters, signs of direction, operators that are not seen,
# byte order marks, halves of pairs, and what Unicode calls noncharacters.
UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ud800-\udfff"
    "\ufdd0-\ufdef\ufffe\uffff]"
)


def visible(text: str) -> str:
    """Returns a word in Unicode's form NFC, in which é is one character however it was typed, without what is not seen:
    blanks around it and characters that are no text."""
    return unicodedata.normalize("NFC", UNWANTED.sub("", text)).strip()


def tags_of_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Returns the tags of entities of some kinds, "O" first."""
    return (OUTSIDE, *(f"{mark}-{kind}" for kind in kinds for mark in "BI"))


def tags_of_entity(kind: str, count: int) -> list[str]:
    """Returns the tags of an entity of so many words, in IOB2."""
    return [f"B-{kind}", *[f"I-{kind}"] * (count - 1)][:count]


class Page(NamedTuple):
    """Holds the size of a page, in the unit of its boxes."""

    width: float
    height: float


class Document(NamedTuple):
    """Holds one document.

    words: as they are read. boxes: float32 (word, 4), x0, y0, x1, y1 within the page, y downwards; NaN for a word
    without one. pages: the page of each word, from 0, ascending. sizes: of each page. tags: of each word, empty where
    they are not known. cues: of a generated document, int64 (cue, 2), a word and the one that its tag hangs on, −2
    where nothing tells it; or −1 and the word that the label hangs on. values: kinds and values that the document is
    known to give, in a normal form, whether or not its words say them; empty where they are not known. first_page: what
    messages call the first page, 0 or 1, as where it was read from.
    """

    name: str
    words: tuple[str, ...]
    boxes: np.ndarray
    pages: np.ndarray
    sizes: tuple[Page, ...]
    label: str | None = None
    tags: tuple[str, ...] = ()
    cues: np.ndarray = NO_CUES
    values: tuple[tuple[str, str], ...] = ()
    first_page: int = 1

    def check(self) -> None:
        """Raises DataError, naming document, page and word, for what is no document."""
        count, sizes = len(self.words), np.array(self.sizes, np.float64).reshape(-1, 2)
        if not (self.boxes.shape == (count, 4) and len(self.pages) == count):
            raise DataError(
                f"{self.name}: {count} words need as many boxes and pages, got {self.boxes.shape} and {len(self.pages)}"
            )
        if not 0 < count <= MOST_WORDS:
            raise DataError(f"{self.name}: {count} words; give 1 to {MOST_WORDS}")
        self.refuse(np.array([bool(UNWANTED.search(word)) or not word.strip() for word in self.words]),
                    "is empty or holds a character that is no text; leave the word out")  # fmt: skip
        bad = np.flatnonzero(~(np.isfinite(sizes).all(1) & (sizes > 0).all(1)))
        if len(bad):
            raise DataError(
                f"{self.name}, page {bad[0] + self.first_page}: its size is missing or 0; give width and height"
            )
        self.refuse((self.pages < 0) | (self.pages >= len(sizes)), "is on a page that has no size; give its size")
        self.refuse(np.diff(self.pages, prepend=0) < 0, "is on an earlier page than the word before; put them in order")
        self.check_boxes(sizes[self.pages])
        self.check_tags()

    def check_boxes(self, sizes: np.ndarray) -> None:
        """Raises DataError for boxes that are none. sizes: of the page of each word, (word, 2)."""
        boxes, known = self.boxes.astype(np.float64), ~np.isnan(self.boxes)
        self.refuse(known.any(1) & ~known.all(1), "has a box of which a side is missing; give all four, or none")
        self.refuse(np.isinf(boxes).any(1), "has a box without an end; give finite numbers")
        low, high = boxes[:, :2], boxes[:, 2:]
        self.refuse((high < low).any(1), "has a box whose second corner lies before its first; give x0, y0, x1, y1")
        if len(boxes[known.all(1)]) > 1 and np.nanmax(boxes) <= 1 and sizes.min() > 2:
            raise DataError(
                f"{self.name}: all boxes lie within 1, on pages of {sizes[0][0]:g} × {sizes[0][1]:g}; give boxes and "
                "pages in one unit"
            )
        self.refuse(
            (low < -SLACK).any(1) | (high > sizes + SLACK).any(1), "has a box outside its page; mend box or size"
        )

    def check_tags(self) -> None:
        """Raises DataError for tags that are not IOB2."""
        if not self.tags:
            return
        if len(self.tags) != len(self.words):
            raise DataError(f"{self.name}: {len(self.words)} words and {len(self.tags)} tags; give one a word")
        before = (OUTSIDE, *self.tags)
        faults = [not follows(tag, last) for last, tag in zip(before, self.tags, strict=False)]
        self.refuse(np.array(faults), "has a tag that is not O, B-kind, or I-kind behind B or I of its kind; mend it")

    def refuse(self, faults: Any, said: str) -> None:
        """Raises DataError for the first word that has a fault. faults: bool (word,)."""
        if faults.any():
            word = int(faults.argmax())
            page = int(self.pages[word]) + self.first_page
            raise DataError(f"{self.name}, page {page}, word {word + 1} ({self.words[word]!r}): it {said}")

    @property
    def without_box(self) -> int:
        """Returns how many words have no box."""
        return int(np.isnan(self.boxes[:, 0]).sum())


def follows(tag: str, last: str) -> bool:
    """Returns whether a tag may stand behind another one, by IOB2."""
    begins, _, kind = tag.partition("-")
    if tag == OUTSIDE or (begins == "B" and kind):
        return True
    return bool(begins == "I" and kind) and last in (f"B-{kind}", f"I-{kind}")


@dataclass(frozen=True, eq=False)
class Documents:
    """Holds documents in training, validation and test part.

    parts: by `PARTS`, the documents of each. classes: the labels, in order, or empty; tags: the tags, "O" first, or
    empty. Each document has a label where there are classes, and tags where there are tags.
    source: what `data.source` is tagged with. stand_in: generated in place of real data; no claim is made from it.
    counts: what a loader has to say about its data, by name, as match rates.
    Raises DataError as `Document.check` does, for a document that stands twice, in whatever parts, and for a label or
    tag that is not in the list.
    """

    kind: ClassVar[str] = "documents"

    name: str
    parts: Mapping[str, tuple[Document, ...]]
    source: str
    classes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    stand_in: bool = False
    counts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if tuple(self.parts) != PARTS or not all(self.parts.values()):
            raise DataError(f"{self.name}: training, validation and test part need a document each")
        if self.tags and self.tags[0] != OUTSIDE:
            raise DataError(f"{self.name}: the first tag must be {OUTSIDE}, got {self.tags[0]}")
        seen: dict[str, str] = {}
        for part, document in self.all():
            if document.name in seen:
                where = part if seen[document.name] == part else f"{seen[document.name]} and {part}"
                raise DataError(f"{self.name}: document {document.name} stands twice, in {where}; leave one out")
            seen[document.name] = part
            document.check()
            self.check_answers(document)

    def all(self) -> Iterator[tuple[str, Document]]:
        """Returns every document with the name of its part."""
        return ((part, document) for part, documents in self.parts.items() for document in documents)

    def check_answers(self, document: Document) -> None:
        """Raises DataError for a document without its label or tags, or with one that is not in the list."""
        if self.classes and document.label not in self.classes:
            raise DataError(f"{document.name}: label {document.label!r} is none of {', '.join(self.classes)}")
        if self.tags:
            if not document.tags:
                raise DataError(f"{document.name}: it has no tags; give one a word")
            known = set(self.tags)
            faults = np.array([tag not in known for tag in document.tags])
            document.refuse(faults, f"has a tag that is none of {', '.join(self.tags)}")

    def shortened(self, *, train: int | None = None, held: int | None = None) -> Documents:
        """Returns at most `train` training documents and `held` of every other part, each spread evenly over all; None
        keeps all, which are not copied."""
        if train is None and held is None:
            return self
        most = {part: train if part == "train" else held for part in PARTS}
        return replace(self, parts={
            part: tuple(documents[i] for i in spread(len(documents), most[part]))
            for part, documents in self.parts.items()
        })  # fmt: skip

    def sizes(self) -> list[dict[str, str | int]]:
        """Returns a row a part: `part`, and the numbers of documents, pages, words, words without a box, and words of
        the longest document."""
        return [{"part": part, **sizes_of(documents)} for part, documents in self.parts.items()]

    @cached_property
    def checksum(self) -> str:
        """Returns the SHA-256 over split, words, boxes, pages, labels, tags and values: equal data, equal checksums."""
        digest = hashlib.sha256()
        for part, own in self.all():
            digest.update(repr((part, own.name, own.words, own.sizes, own.label, own.tags, own.values)).encode())
            digest.update(np.ascontiguousarray(own.boxes, np.float32).tobytes())
            digest.update(np.ascontiguousarray(own.pages, np.int16).tobytes())
        return digest.hexdigest()


def held_out(
    documents: Sequence[Document], count: int, *, seed: int, where: str, called: str = "documents"
) -> dict[str, tuple[Document, ...]]:
    """Returns documents as training and validation part, the latter `count` of them, drawn under the seed.

    Raises DataError, beginning with `where`, where none is left to train on.
    """
    if count >= len(documents):
        raise DataError(f"{where}: validation={count} leaves none of {len(documents)} {called}; take fewer")
    held = set(np.random.default_rng(seed).permutation(len(documents))[:count].tolist())
    return {
        "train": tuple(own for i, own in enumerate(documents) if i not in held),
        "validation": tuple(own for i, own in enumerate(documents) if i in held),
    }


def sizes_of(documents: Sequence[Document]) -> dict[str, int]:
    """Returns how much there is in some documents, by name."""
    return {
        "documents": len(documents),
        "pages": sum(len(document.sizes) for document in documents),
        "words": sum(len(document.words) for document in documents),
        "without_box": sum(document.without_box for document in documents),
        "longest": max((len(document.words) for document in documents), default=0),
    }
