"""The text of the nearest training image: what a recogniser that is trained must be ahead of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from models.forms.recognise.recogniser import Reading

SHAPE = (16, 64)  # rows and columns that images are compared at
LEVELS = 255  # of ink: sums of whole numbers are exact, so that equal distances are equal on every machine
BATCH = 256  # images that are compared at once


@dataclass(frozen=True, eq=False)
class NearestImage:
    """Reads an image as the training image that is nearest to it, by the Euclidean distance of their ink.

    pixels: float64 (image, pixel), whole levels of ink from 0 to 255, of training images. texts: of these. shape: rows
    and columns that every image is stretched to.
    """

    pixels: np.ndarray
    texts: tuple[str, ...]
    shape: tuple[int, int] = SHAPE

    @classmethod
    def of(cls, images: Sequence[Tensor], texts: Sequence[str], *, shape: tuple[int, int] = SHAPE) -> NearestImage:
        """Returns the reader by training images of ink (height, width) of any size. Raises ValueError without one, and
        unless each has a text."""
        if not texts or len(images) != len(texts):
            raise ValueError(f"each image needs a text; got {len(images)} images and {len(texts)} texts")
        return cls(levels_of(images, shape), tuple(texts), shape)

    def read_words(self, images: Sequence[Tensor]) -> list[Reading]:
        """Returns the text of the nearest training image of each; of equally near ones that of the first. Its
        probability is 1, the share of the one neighbour that votes."""
        places = list[int]()
        for first in range(0, len(images), BATCH):
            places += nearest(levels_of(images[first : first + BATCH], self.shape), self.pixels).tolist()
        return [Reading(self.texts[place], 1.0) for place in places]


def nearest(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Returns the place in `known` (image, pixel) of the row that is nearest to each of `rows`, int64 (row,); of equals
    the first: argmin_j ‖k_j‖² − 2 x·k_j."""
    return (np.square(known).sum(1) - 2 * rows @ known.T).argmin(1)


def levels_of(images: Sequence[Tensor], shape: tuple[int, int]) -> np.ndarray:
    """Returns the ink of images at one shape, float64 (image, pixel), in whole levels."""
    found = [interpolate(own[None, None].float(), shape, mode="bilinear", antialias=True).flatten() for own in images]
    return torch.stack(found).mul(LEVELS).round().double().cpu().numpy()
