"""The record that loaders of handwritten words return: grey images of any size, what they say, who wrote them, and a
split."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from data.base import DataError, fewer_of
from data.greys import Greys, one_after_the_other, refuse_shared, said_of_file, unseen_share

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class WordImages(Greys):
    """Holds images of words. texts: what each image says. writers: who wrote it, where that is known.

    Raises DataError as `Greys` does, and for texts that are empty or differ in number.
    """

    texts: tuple[str, ...]
    writers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.texts) != len(self) or len(self.writers or self.texts) != len(self):
            raise DataError(f"{len(self)} images need as many texts, and as many writers if these are known")
        blank = next((i for i, text in enumerate(self.texts) if not text.strip()), None)
        if blank is not None:
            raise DataError(f"the text of image {blank + 1} is empty; fill it in, or leave the image out")

    @classmethod
    def of(cls, images: Sequence[np.ndarray], texts: Sequence[str], writers: Sequence[str] | None = None) -> WordImages:
        """Returns the record of images uint8 (height, width)."""
        return cls(*one_after_the_other(images), tuple(texts), None if writers is None else tuple(writers))

    def at(self, rows: Sequence[int] | np.ndarray) -> WordImages:
        """Returns some of the images, in the order of `rows`."""
        chosen = np.asarray(rows, np.int64).tolist()
        writers = None if self.writers is None else [self.writers[i] for i in chosen]
        return WordImages.of([self.image(i) for i in chosen], [self.texts[i] for i in chosen], writers)

    def counts(self) -> dict[str, int]:
        """Returns how many writers there are, 0 where they are not known, and how many characters all texts have."""
        return {"writers": len(set(self.writers or ())), "characters": sum(map(len, self.texts))}


@dataclass(frozen=True, eq=False)
class HandwrittenWords:
    """Holds images of words in training, validation and test part.

    parts: by `PARTS`. source: what `data.source` is tagged with. stand_in: generated in place of real data; no claim is
    made from it. counts: what a loader has to say about its data, by name. files: of each part the file of each
    image, where there are such. invert: as in `data.forms.images.Reading`; "auto" for images that come from no file.
    of_forms: images are cut out of forms, of which no part shares one with another; words of two forms may look equal.
    Raises DataError for a part without an image, parts of which some name no writers, and, but for those of forms, for
    an image that two parts share: what is tested was not trained on.
    """

    kind: ClassVar[str] = "images of words"
    unit: ClassVar[str] = "images"

    name: str
    parts: Mapping[str, WordImages]
    source: str
    stand_in: bool = False
    counts: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    invert: str = "auto"
    of_forms: bool = False

    def __post_init__(self) -> None:
        if tuple(self.parts) != PARTS or not all(map(len, self.parts.values())):
            raise DataError(f"{self.name}: training, validation and test part need an image each")
        if len({part.writers is None for part in self.parts.values()}) > 1:
            raise DataError(f"{self.name}: some parts name the writers of their images and some do not")
        if not self.of_forms:
            refuse_shared(self.name, self.parts, self.called)

    def called(self, part: str, number: int) -> str:
        """Returns which image one is, in words, with its file where there are files."""
        file = said_of_file(self.files, part, number)
        return f"image {number + 1} of the {part} part{file} ({self.parts[part].texts[number]!r})"

    @property
    def tests(self) -> tuple[str, ...]:
        """The name of the test part."""
        return tuple(self.parts)[2:]

    @property
    def unseen(self) -> float:
        """The share of test images that say what no training image says."""
        return unseen_share(self.parts["test"].texts, self.parts["train"].texts)

    def shortened(self, *, train: int | None = None, held: int | None = None) -> HandwrittenWords:
        """Returns at most `train` training images and `held` of every other part, each spread evenly over all; None
        keeps all, which are not copied."""
        if train is None and held is None:
            return self
        return replace(self, **fewer_of(self.parts, files=self.files, train=train, held=held))

    def sizes(self) -> list[dict[str, str | int]]:
        """Returns a row a part: `part`, the numbers of images, different texts and writers (0 where they are not
        known), and the characters of the longest text."""
        return [
            {"part": name, "images": len(own), "texts": len(set(own.texts)), "writers": len(set(own.writers or ())),
             "longest": max(map(len, own.texts))}
            for name, own in self.parts.items()
        ]  # fmt: skip

    @cached_property
    def checksum(self) -> str:
        """Returns the SHA-256 over split, images, texts and writers: equal data, equal checksums."""
        digest = hashlib.sha256()
        for name, own in self.parts.items():
            digest.update(repr((name, own.texts, own.writers)).encode())
            digest.update(np.ascontiguousarray(own.shapes, np.int32).tobytes())
            digest.update(own.pixels.tobytes())
        return digest.hexdigest()
