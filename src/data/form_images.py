"""The record that loaders of forms return: grey images with boxes of words, signatures, stamps, dates and noise."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from data.base import DataError, fewer_of
from data.greys import Greys, refuse_shared, said_of_file, unseen_share

PARTS = ("train", "validation", "test")
CLASSES = ("background", "word", "signature", "stamp", "date", "noise")
WORD, SIGNATURE, STAMP, DATE, NOISE = range(1, len(CLASSES))
NO_ORDER = -1
MOST_BOXES = 5000  # of a form


class Form(NamedTuple):
    """Holds a form.

    image: uint8 (height, width), 0 for black ink. boxes: float32 (box, 4), x0, y0, x1, y1 in pixels; x1 and y1 are the
    first that no longer belong to it. classes: int64 (box,), numbers of `CLASSES`. texts: what each box says, "" where
    it says nothing or that is not known. order: int64 (box,), the place of each word in reading order from 0 on, −1
    for what is no word. characters: for each box the boxes of its characters, float32 (character, 4); None where they
    are not known.
    """

    image: np.ndarray
    boxes: np.ndarray
    classes: np.ndarray
    texts: tuple[str, ...]
    order: np.ndarray
    characters: tuple[np.ndarray, ...] | None = None

    def reading(self) -> np.ndarray:
        """Returns the numbers of the words' boxes, in reading order."""
        words = np.flatnonzero(self.classes == WORD)
        return words[np.argsort(self.order[words], kind="stable")]

    def text(self) -> str:
        """Returns the words in reading order, joined by blanks."""
        return " ".join(self.texts[i] for i in self.reading())

    def crop(self, number: int) -> np.ndarray:
        """Returns the part of the image that a box takes, every pixel that it touches."""
        x0, y0 = np.floor(self.boxes[number, :2]).astype(int)
        x1, y1 = np.ceil(self.boxes[number, 2:]).astype(int)
        return self.image[y0:y1, x0:x1]

    def check(self, where: str) -> None:
        """Raises DataError, beginning with `where` and naming the box, for what is no form."""
        count = len(self.boxes)
        if self.boxes.shape != (count, 4) or not len(self.classes) == len(self.texts) == len(self.order) == count:
            raise DataError(f"{where}: boxes, classes, texts and order of {count} boxes differ in number")
        if count > MOST_BOXES:
            raise DataError(f"{where}: {count} boxes; {MOST_BOXES} are the most")
        for fault, said in self.faults():
            if fault.any():
                raise DataError(f"{where}, box {int(fault.argmax()) + 1}: {said}")
        words = np.sort(self.order[self.classes == WORD])
        if not np.array_equal(words, np.arange(len(words))):
            raise DataError(f"{where}: the order of its {len(words)} words must be each of 0, 1, 2, … once")

    def faults(self) -> Iterator[tuple[np.ndarray, str]]:
        """Returns for each rule which boxes break it, and the rule in words."""
        x0, y0, x1, y1 = self.boxes.astype(np.float64).T
        height, width = self.image.shape
        yield np.array([not np.isfinite(box).all() for box in self.boxes], bool), "a side is no finite number"
        yield (x1 < x0) | (y1 < y0), "its second corner lies before its first; give x0, y0, x1, y1"
        yield (x1 == x0) | (y1 == y0), "it has no area; drop it"
        yield (x0 < 0) | (y0 < 0) | (x1 > width) | (y1 > height), f"it lies outside the form of {width} × {height}"
        yield (self.classes < 1) | (self.classes >= len(CLASSES)), f"its class is none of {', '.join(CLASSES[1:])}"
        empty = np.array([not text.strip() for text in self.texts], bool)
        yield (self.classes == WORD) & empty, "it is a word without a text; give one, or make it noise"
        yield (self.classes != WORD) & (self.order != NO_ORDER), "it is no word and has a place in the reading order"


@dataclass(frozen=True, eq=False)
class FormImages(Greys):
    """Holds forms, their boxes one after the other.

    offsets: int64 (form + 1,), where the boxes of each form begin. boxes, classes, texts and order: as in `Form`, of
    all boxes. characters: None, or the boxes of all characters, float32 (character, 4), with `letters`, int64
    (box + 1,), where those of each box begin.
    Raises DataError as `Greys` and, naming form and box, as `Form.check` do.
    """

    offsets: np.ndarray
    boxes: np.ndarray
    classes: np.ndarray
    texts: tuple[str, ...]
    order: np.ndarray
    characters: np.ndarray | None = None
    letters: np.ndarray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.offsets) != len(self) + 1 or int(self.offsets[-1]) != len(self.boxes):
            raise DataError(f"offsets account for {self.offsets[-1]} boxes of {len(self)} forms, got {len(self.boxes)}")
        for number in range(len(self)):
            self.form(number).check(f"form {number + 1}")

    @classmethod
    def of(cls, forms: Iterable[Form]) -> FormImages:
        """Returns the record of some forms, one after the other: each may be let go once it is taken. Characters are
        kept where all forms have them."""
        pixels, kept, shapes = bytearray(), list[Form](), list[tuple[int, int]]()
        for form in forms:
            pixels += form.image.tobytes()
            shapes.append((form.image.shape[0], form.image.shape[1]))
            kept.append(form._replace(image=form.image[:0, :0].copy()))
        offsets = np.concatenate([[0], np.cumsum([len(form.boxes) for form in kept])]).astype(np.int64)
        boxes = np.concatenate([np.empty((0, 4)), *(form.boxes for form in kept)]).astype(np.float32)
        classes, order = (
            np.concatenate([np.empty(0), *own]).astype(np.int64)
            for own in ([form.classes for form in kept], [form.order for form in kept])
        )
        texts = tuple(text for form in kept for text in form.texts)
        known = kept and all(form.characters is not None for form in kept)
        own = [box for form in kept for box in form.characters or ()]
        characters, letters = flat_characters(own) if known else (None, None)
        greys, sizes = np.frombuffer(pixels, np.uint8), np.array(shapes, np.int32).reshape(-1, 2)
        return cls(greys, sizes, offsets, boxes, classes, texts, order, characters, letters)

    def form(self, number: int) -> Form:
        """Returns a form; its image and boxes are views."""
        own = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        characters = None
        if self.characters is not None and self.letters is not None:
            ends = self.letters[own.start : own.stop + 1]
            characters = tuple(self.characters[begin:end] for begin, end in pairwise(ends))
        return Form(
            self.image(number), self.boxes[own], self.classes[own], self.texts[own], self.order[own], characters
        )

    def forms(self) -> Iterator[Form]:
        """Returns every form."""
        return (self.form(number) for number in range(len(self)))

    def at(self, rows: Sequence[int] | np.ndarray) -> FormImages:
        """Returns some of the forms, in the order of `rows`."""
        return FormImages.of(self.form(row) for row in np.asarray(rows, np.int64).tolist())

    def counts(self) -> dict[str, int]:
        """Returns how many boxes there are of each class, by its name."""
        found = np.bincount(self.classes, minlength=len(CLASSES))
        return {name: int(found[number]) for number, name in enumerate(CLASSES) if number}

    def words(self) -> list[str]:
        """Returns the texts of all words."""
        return [text for text, kind in zip(self.texts, self.classes.tolist(), strict=True) if kind == WORD]


def flat_characters(boxes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Returns boxes of characters, a list entry a box, as one array with where each entry begins."""
    ends = np.concatenate([[0], np.cumsum([len(own) for own in boxes])]).astype(np.int64)
    return np.concatenate([np.empty((0, 4)), *boxes]).astype(np.float32), ends


@dataclass(frozen=True, eq=False)
class HandwrittenForms:
    """Holds forms in training, validation and test part, and perhaps further test parts.

    parts: by `PARTS`, then by names of one's own. source: what `data.source` is tagged with. stand_in: generated
    without real ink; no claim is made from it. counts: what a loader has to say about its data, by name. files: of
    each part the file of each form, where there are such. writers: of each part who wrote each form, where that is
    known. invert: as in `data.forms.images.Reading`; "auto" for images that come from no file.
    Raises DataError for a part without a form, and for a form that two parts share.
    """

    kind: ClassVar[str] = "images of forms"
    unit: ClassVar[str] = "forms"

    name: str
    parts: Mapping[str, FormImages]
    source: str
    stand_in: bool = False
    counts: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    writers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    invert: str = "auto"

    def __post_init__(self) -> None:
        if tuple(self.parts)[: len(PARTS)] != PARTS or not all(map(len, self.parts.values())):
            raise DataError(f"{self.name}: training, validation and test part need a form each")
        refuse_shared(self.name, self.parts, self.called)

    def called(self, part: str, number: int) -> str:
        """Returns which form one is, in words, with its file where there are files."""
        return f"form {number + 1} of the {part} part{said_of_file(self.files, part, number)}"

    @property
    def tests(self) -> tuple[str, ...]:
        """The names of the test part and of the further ones."""
        return tuple(self.parts)[2:]

    @property
    def unseen(self) -> float:
        """The share of words of the test part that no training form says; nan where it has no word."""
        return unseen_share(self.parts["test"].words(), self.parts["train"].words())

    def shortened(self, *, train: int | None = None, held: int | None = None) -> HandwrittenForms:
        """Returns at most `train` training forms and `held` of every other part, each spread evenly over all; None
        keeps all, which are not copied."""
        if train is None and held is None:
            return self
        named = {"files": self.files, "writers": self.writers}
        return replace(self, **fewer_of(self.parts, **named, train=train, held=held))

    def sizes(self) -> list[dict[str, str | int]]:
        """Returns a row a part: `part`, the number of forms, and of boxes of each class."""
        return [{"part": name, "forms": len(own), **own.counts()} for name, own in self.parts.items()]

    @cached_property
    def checksum(self) -> str:
        """Returns the SHA-256 over split, images, boxes, classes, texts, order and, where they are known, boxes of
        characters and writers: equal data, equal checksums."""
        digest = hashlib.sha256()
        for name, own in self.parts.items():
            digest.update(repr((name, own.texts, own.offsets.tolist())).encode())
            characters = () if own.characters is None or own.letters is None else (own.characters, own.letters)
            for values in (own.shapes, own.boxes, own.classes, own.order, own.pixels, *characters):
                digest.update(np.ascontiguousarray(values).tobytes())
            if name in self.writers:
                digest.update(repr(self.writers[name]).encode())
        return digest.hexdigest()
