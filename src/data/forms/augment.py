"""Changed copies of images for training: noise, thinner and thicker ink, mirrored forms (thesis, 2.2.4.2).

Each copy has a generator of its own, of the seed, the epoch and the image's number, so that a run that goes on after a
fault sees the same images, in whatever order and by however many workers they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from data.base import DataError
from data.greys import PAPER

KINDS = ("none", "noise", "shape", "thesis", "flip")
MOST_PEPPER, MOST_DEVIATION, MOST_STROKES = 0.01, 16.0, 3
FOOTPRINTS = ((1, 2), (2, 1), (2, 2), (1, 3), (3, 1))  # height and width in pixels

DRAWS = 9  # copies of which the one that differs most is shown

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def peppered(grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns an image with a share of up to 1 % of its pixels black."""
    hit = generator.random(grey.shape, np.float32) < generator.uniform(0, MOST_PEPPER)
    return np.where(hit, np.uint8(0), grey)


def stroked(grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns an image with up to three thin straight strokes, dark or as light as paper."""
    image = Image.fromarray(grey)
    brush = ImageDraw.Draw(image)
    height, width = grey.shape
    for _ in range(int(generator.integers(1, MOST_STROKES + 1))):
        ends = generator.uniform(-0.2, 1.2, 4) * (width, height, width, height)
        shade = PAPER if generator.random() < 0.3 else int(generator.integers(40, 200))
        brush.line(np.rint(ends).tolist(), fill=shade, width=1)
    return np.array(image)


def grained(grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns an image with Gaussian noise."""
    deviation = generator.uniform(2, MOST_DEVIATION)
    noisy = grey + deviation * generator.standard_normal(grey.shape, np.float32)
    return np.clip(np.rint(noisy), 0, PAPER).astype(np.uint8)


def locally(grey: np.ndarray, changed: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns an image that is changed between two columns alone."""
    width = grey.shape[1]
    first, last = np.sort(generator.integers(0, width + 1, 2))
    kept = grey.copy()
    kept[:, first:last] = changed[:, first:last]
    return kept


def thickened(grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns an image with thicker ink between two columns (dilation)."""
    size = FOOTPRINTS[int(generator.integers(len(FOOTPRINTS)))]
    return locally(grey, ndimage.minimum_filter(grey, size, mode="nearest"), generator)


def thinned(grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns an image with thinner ink between two columns (erosion), half as dark as before at least."""
    size = FOOTPRINTS[int(generator.integers(2))]
    thin = ndimage.maximum_filter(grey, size, mode="nearest")
    kept = PAPER - (PAPER - grey.astype(np.int16)) // 2
    return locally(grey, np.minimum(thin, kept).astype(np.uint8), generator)


NOISES: tuple[Change, ...] = (peppered, stroked, grained)
SHAPES: tuple[Change, ...] = (thickened, thinned)
NAMES: dict[Change, str] = {
    peppered: "pepper", stroked: "strokes", grained: "Gaussian noise",
    thinned: "erosion (thinner ink, between two columns)", thickened: "dilation (thicker ink, between two columns)",
}  # fmt: skip
CHANGES: dict[str, tuple[tuple[Change, ...], ...]] = {
    "none": (), "noise": (NOISES,), "shape": (SHAPES,), "thesis": (SHAPES, NOISES), "flip": (SHAPES, NOISES),
}  # fmt: skip


def left_right(grey: np.ndarray, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns a form and its boxes, float32 (box, 4), with left and right exchanged."""
    width = grey.shape[1]
    turned = np.stack([width - boxes[:, 2], boxes[:, 1], width - boxes[:, 0], boxes[:, 3]], axis=1)
    return np.ascontiguousarray(grey[:, ::-1]), turned.astype(np.float32)


def up_down(grey: np.ndarray, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns a form and its boxes, float32 (box, 4), with top and bottom exchanged."""
    height = grey.shape[0]
    turned = np.stack([boxes[:, 0], height - boxes[:, 3], boxes[:, 2], height - boxes[:, 1]], axis=1)
    return np.ascontiguousarray(grey[::-1]), turned.astype(np.float32)


TURNS = {
    "flip, left and right (augment=flip alone)": left_right, "flip, top and bottom (augment=flip alone)": up_down,
}  # fmt: skip


def strongest(change: Change, grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns the copy that differs most from an image, of `DRAWS` copies by one change."""
    copies = [change(grey, generator) for _ in range(DRAWS)]
    return max(copies, key=lambda own: int(np.abs(own.astype(np.int16) - grey).sum()))


@dataclass(frozen=True)
class Augmentation:
    """Changes images for training.

    kind: "none"; "noise": pepper, strokes or Gaussian noise; "shape": thicker or thinner ink; "thesis": both; "flip":
    both, and forms are mirrored too. A mirrored word is another word, so images of words are never mirrored.
    share: of the images that each of them changes. Raises DataError for another kind or share.
    """

    kind: str = "thesis"
    seed: int = 0
    share: float = 0.7

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"augment={self.kind} is unknown; choose one of {', '.join(KINDS)}")
        if not 0 <= self.share <= 1 or self.seed < 0:
            raise DataError(f"augment.share={self.share} must lie between 0 and 1, its seed {self.seed} be at least 0")

    def generator(self, epoch: int, number: int) -> np.random.Generator:
        """Returns the generator of an image in an epoch."""
        return np.random.default_rng([self.seed, epoch, number])

    def word(self, grey: np.ndarray, *, epoch: int, number: int) -> np.ndarray:
        """Returns an image of a word, uint8 of the same shape. number: of the image in its part."""
        return self.changed(grey, self.generator(epoch, number))

    def form(self, grey: np.ndarray, boxes: np.ndarray, *, epoch: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns a form, uint8 of the same shape, and its boxes, float32 (box, 4). number: of the form in its part."""
        generator = self.generator(epoch, number)
        if self.kind == "flip":
            for turn in TURNS.values():
                if generator.random() < 0.5:
                    grey, boxes = turn(grey, boxes)
        return self.changed(grey, generator), boxes

    def changed(self, grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Returns an image with one change of each group, or with none where chance leaves it."""
        for group in CHANGES[self.kind]:
            if generator.random() < self.share:
                grey = group[int(generator.integers(len(group)))](grey, generator)
        return grey

    def each(self, grey: np.ndarray, boxes: np.ndarray | None) -> Iterator[tuple[str, np.ndarray, np.ndarray | None]]:
        """Gives the name of each change, a copy by it alone and the copy's boxes: to be looked at. A change by chance
        is the strongest of `DRAWS`. boxes: of a form, float32 (box, 4); None for a word, which is never mirrored."""
        generator = self.generator(0, 0)
        for change in (own for group in CHANGES[self.kind] for own in group):
            yield NAMES[change], strongest(change, grey, generator), boxes
        if self.kind == "flip" and boxes is not None:
            for name, turn in TURNS.items():
                yield name, *turn(grey, boxes)
