"""Grey images of unequal size, held one after the other."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from data.base import DataError

PAPER = 255  # the grey of paper; black ink is 0


@dataclass(frozen=True, eq=False)
class Greys:
    """Holds images. pixels: uint8, 0 is black ink and 255 is paper, the rows of the first image, then those of the
    second, and so on. shapes: int32 (image, 2), height and width.

    Raises DataError for pixels that shapes do not account for, and for an image without pixels.
    """

    pixels: np.ndarray
    shapes: np.ndarray

    def __post_init__(self) -> None:
        if self.shapes.ndim != 2 or self.shapes.shape[1] != 2:
            raise DataError(f"shapes must be height and width of each image, got an array of {self.shapes.shape}")
        if self.pixels.dtype != np.uint8 or self.pixels.shape != (int(self.starts[-1]),):
            raise DataError(f"shapes account for {self.starts[-1]} pixels of uint8, got {self.pixels.shape}")
        empty = np.flatnonzero((self.shapes < 1).any(1))
        if len(empty):
            raise DataError(f"image {empty[0] + 1} has no pixels; leave it out")

    def __len__(self) -> int:
        return len(self.shapes)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first pixel of each image, and the end of the last one, int64 (image + 1,)."""
        return np.concatenate([[0], np.cumsum(self.shapes.astype(np.int64).prod(1))])

    def image(self, number: int) -> np.ndarray:
        """Returns an image, uint8 (height, width), as a view."""
        begin, end = self.starts[number], self.starts[number + 1]
        return self.pixels[begin:end].reshape(self.shapes[number])

    def images(self) -> Iterator[np.ndarray]:
        """Returns every image, as `image` does."""
        return (self.image(number) for number in range(len(self)))

    @cached_property
    def digests(self) -> tuple[bytes, ...]:
        """The SHA-256 of each image, of its size and pixels."""
        return tuple(digest_of(image) for image in self.images())


def one_after_the_other(images: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the pixels and the shapes of images uint8 (height, width)."""
    shapes = np.array([image.shape for image in images], np.int32).reshape(-1, 2)
    pixels = np.concatenate([image.ravel() for image in images]) if len(images) else np.empty(0, np.uint8)
    return pixels, shapes


def refuse_shared(name: str, parts: Mapping[str, Greys], called: Callable[[str, int], str]) -> None:
    """Raises DataError, beginning with `name`, for an image that stands in two parts: a test is of unseen images.

    called: says in words what image a part has at a number.
    """
    seen: dict[bytes, tuple[str, int]] = {}
    for part, greys in parts.items():
        for number, digest in enumerate(greys.digests):
            other, first = seen.setdefault(digest, (part, number))
            if other != part:
                raise DataError(f"{name}: {called(part, number)} is {called(other, first)}; leave one of them out")


def unseen_share(asked: Sequence[str], known: Sequence[str]) -> float:
    """Returns the share of the texts `asked` that are none of `known`; nan without a text."""
    seen = set(known)
    return sum(text not in seen for text in asked) / len(asked) if asked else math.nan


def said_of_file(files: Mapping[str, Sequence[str]], part: str, number: int) -> str:
    """Returns what a message adds to the name of an image of a part: its file, where the part's files are known."""
    return f", file {files[part][number]!r}" if part in files else ""


def digest_of(image: np.ndarray) -> bytes:
    """Returns the SHA-256 of an image's size and pixels."""
    return hashlib.sha256(repr(image.shape).encode() + np.ascontiguousarray(image).tobytes()).digest()
