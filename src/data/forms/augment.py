"""Changed copies of images for training: noise, thinner and thicker ink, mirrored forms (thesis, 2.2.4.2), slant.

Each copy has a generator of its own, of the seed, the epoch and the image's number, so that a run that goes on after a
fault sees the same images, in whatever order and by however many workers they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from data.base import DataError
from data.greys import PAPER

KINDS = ("none", "noise", "shape", "affine", "thesis", "flip")
MOST_PEPPER, MOST_DEVIATION, MOST_STROKES = 0.01, 16.0, 3
MOST_SHEAR, MOST_DEGREES, LEAST_SCALE, MOST_SCALE = 0.3, 3.0, 0.8, 1.2
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


def moved_by(grey: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Returns an image whose points are moved by a matrix (2, 2) of rows and columns about its middle: bilinear, uint8.

    Its size is that of the box about the moved image, at least one pixel, so that no ink is cut off. What comes in is
    as grey as the median of the image's outermost pixels.
    """
    shape = np.maximum(np.ceil(np.abs(matrix) @ grey.shape - 1e-6), 1).astype(int)
    edges = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    back = np.linalg.inv(matrix)
    start: Any = (np.array(grey.shape) - 1) / 2 - back @ ((shape - 1) / 2)  # its stubs know numbers alone
    moved = ndimage.affine_transform(
        grey.astype(np.float32), back, start, tuple(shape.tolist()), order=1, mode="grid-constant",
        cval=float(np.median(edges)),
    )  # fmt: skip
    return np.clip(np.rint(moved), 0, PAPER).astype(np.uint8)


def affine_matrix(*, shear: float, degrees: float, height: float, width: float) -> np.ndarray:
    """Returns the matrix (2, 2) of rows and columns that scales height and width, then moves each row to the left by
    `shear` times how far it lies below the middle, so that ink leans to the right, then turns counterclockwise."""
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cosine, -sine], [sine, cosine]]) @ [[1, 0], [-shear, 1]] @ np.diag([height, width])


def drawn_slant(generator: np.random.Generator) -> np.ndarray:
    """Returns the matrix (2, 2) of `affine_matrix` of a slant that is drawn: a shear of up to 0.3 to each side, a turn
    of up to 3 degrees, 0.8 to 1.2 times the height and width."""
    return affine_matrix(
        shear=generator.uniform(-MOST_SHEAR, MOST_SHEAR), degrees=generator.uniform(-MOST_DEGREES, MOST_DEGREES),
        height=generator.uniform(LEAST_SCALE, MOST_SCALE), width=generator.uniform(LEAST_SCALE, MOST_SCALE),
    )  # fmt: skip


def slanted(grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns an image of a word in a size of its own, moved by a `drawn_slant`: as another hand might have written
    it."""
    return moved_by(grey, drawn_slant(generator))


NOISES: tuple[Change, ...] = (peppered, stroked, grained)
SHAPES: tuple[Change, ...] = (thickened, thinned)
AFFINE: tuple[Change, ...] = (slanted,)  # of words alone, as the boxes of a form stay
NAMES: dict[Change, str] = {
    peppered: "pepper", stroked: "strokes", grained: "Gaussian noise",
    thinned: "erosion (thinner ink, between two columns)", thickened: "dilation (thicker ink, between two columns)",
    slanted: "slant, rotation and size (augment=affine alone)",
}  # fmt: skip
CHANGES: dict[str, tuple[tuple[Change, ...], ...]] = {
    "none": (), "noise": (NOISES,), "shape": (SHAPES,), "affine": (AFFINE,),
    "thesis": (SHAPES, NOISES), "flip": (SHAPES, NOISES),
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


def difference(one: np.ndarray, other: np.ndarray) -> int:
    """Returns the sum of the differences of two images' pixels, with paper below and at the right of the smaller."""
    height, width = np.maximum(one.shape, other.shape)
    wide = [np.pad(own.astype(np.int16), ((0, height - own.shape[0]), (0, width - own.shape[1])), constant_values=PAPER)
            for own in (one, other)]  # fmt: skip
    return int(np.abs(wide[0] - wide[1]).sum())


def strongest(change: Change, grey: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns the copy that differs most from an image, of `DRAWS` copies by one change; of slanted ones, whose size
    would decide, the copy that leans most."""
    if change is slanted:
        matrices = [drawn_slant(generator) for _ in range(DRAWS)]
        return moved_by(grey, max(matrices, key=lambda own: abs(own[1, 0] / own[0, 0])))
    copies = [change(grey, generator) for _ in range(DRAWS)]
    return max(copies, key=lambda own: difference(own, grey))


@dataclass(frozen=True)
class Augmentation:
    """Changes images for training.

    kind: "none"; "noise": pepper, strokes or Gaussian noise; "shape": thicker or thinner ink; "affine": images of
    words alone are slanted, turned and scaled, and forms stay as they are; "thesis": noise and shape; "flip": these
    two, and forms are mirrored too. A mirrored word is another word, so images of words are never mirrored.
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
        """Returns an image of a word, uint8 of the same shape, with "affine" of another one. number: of the image in
        its part."""
        return self.changed(grey, self.generator(epoch, number))

    def form(self, grey: np.ndarray, boxes: np.ndarray, *, epoch: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns a form, uint8 of the same shape, and its boxes, float32 (box, 4). number: of the form in its part."""
        generator = self.generator(epoch, number)
        if self.kind == "affine":
            return grey, boxes
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
        is the strongest of `DRAWS`. boxes: of a form, float32 (box, 4), which is never slanted; None for a word, which
        is never mirrored."""
        if self.kind == "affine" and boxes is not None:
            return
        generator = self.generator(0, 0)
        for change in (own for group in CHANGES[self.kind] for own in group):
            yield NAMES[change], strongest(change, grey, generator), boxes
        if self.kind == "flip" and boxes is not None:
            for name, turn in TURNS.items():
                yield name, *turn(grey, boxes)
