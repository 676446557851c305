"""Images of words as networks read them: ink in [0, 1], of one height, padded with paper to a common width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

MOST_WIDTH, LEAST_WIDTH = 4096, 8  # pixels of a crop


class Crops(NamedTuple):
    """Holds images of words. ink: float32 (image, 1, height, width), 1 = ink, 0 past the end of an image. widths: int64
    (image,), its own width in pixels."""

    ink: Tensor
    widths: Tensor

    def at(self, rows: Sequence[int] | Tensor) -> Crops:
        """Returns some of them, no wider than they need."""
        chosen = torch.as_tensor(rows)
        widths = self.widths[chosen]
        return Crops(self.ink[chosen][..., : int(widths.max())], widths)

    def to(self, device: torch.device) -> Crops:
        """Returns them on a device."""
        return Crops(self.ink.to(device), self.widths.to(device))


def as_ink(grey: np.ndarray) -> Tensor:
    """Returns the ink of a grey image, float32 (height, width) in [0, 1]; grey: uint8, 0 = black, 255 = paper."""
    writable = grey.astype(np.float32, order="C")  # a copy: Pillow's arrays cannot be written to
    return 1 - torch.from_numpy(writable) / 255


def as_grey(ink: Tensor) -> np.ndarray:
    """Returns the grey image, uint8 (height, width), of ink (height, width) in [0, 1]: the nearest of 256 greys."""
    return ((1 - ink) * 255).round().to(torch.uint8).cpu().numpy()


def of_one_size(images: Sequence[Tensor]) -> Tensor:
    """Returns images of ink (height, width), with paper below and at the right, in the height of the highest and the
    width of the widest of them: (image, height, width)."""
    height, width = (max(own.shape[side] for own in images) for side in (0, 1))
    return torch.stack([pad(own, (0, width - own.shape[1], 0, height - own.shape[0])) for own in images])


def scaled_width(shape: Sequence[int], height: int) -> int:
    """Returns how wide an image of a shape (height, width) is at another height, in pixels: as its shape asks, at least
    1 and at most `MOST_WIDTH`."""
    return min(max(1, round(shape[1] * height / shape[0])), MOST_WIDTH)


def crop_width(shape: Sequence[int], height: int) -> int:
    """Returns how wide the crop of an image of a shape (height, width) is at another height, in pixels, as `crops_of`
    has it: `scaled_width`, at least `LEAST_WIDTH`."""
    return max(scaled_width(shape, height), LEAST_WIDTH)


def scaled(ink: Tensor, height: int) -> Tensor:
    """Returns an image (height, width) at another height, of its `scaled_width`."""
    width = scaled_width(ink.shape, height)
    if ink.shape == (height, width):
        return ink
    return interpolate(ink[None, None], (height, width), mode="bilinear", antialias=True)[0, 0]


def crops_of(images: Sequence[Tensor], height: int) -> Crops:
    """Returns images of ink (height, width) of any size at one height, padded with paper to the widest of them.

    What is narrower than `LEAST_WIDTH` pixels is padded to it. Raises ValueError without an image, and for one without
    pixels.
    """
    return padded(at_height(images, height))


def batches_of(images: Sequence[Tensor], height: int, size: int) -> Iterator[tuple[list[int], Crops]]:
    """Gives the crops of at most so many images of similar width at a time, narrow ones first, and which they are; so
    nothing is padded to the widest of all. Raises as `crops_of` does."""
    found = at_height(images, height)
    order = sorted(range(len(found)), key=lambda place: max(found[place].shape[1], LEAST_WIDTH))
    for first in range(0, len(order), size):
        rows = order[first : first + size]
        yield rows, padded([found[row] for row in rows])


def at_height(images: Sequence[Tensor], height: int) -> list[Tensor]:
    """Returns images of ink at one height, each as wide as it is there. Raises as `crops_of` does."""
    if not images:
        raise ValueError("there is no image; give one at least")
    empty = next((place for place, own in enumerate(images) if own.ndim != 2 or not own.numel()), None)
    if empty is not None:
        raise ValueError(
            f"image {empty} has shape {tuple(images[empty].shape)}; give (height, width), a pixel at least"
        )
    return [scaled(own.float(), height) for own in images]


def padded(images: Sequence[Tensor]) -> Crops:
    """Returns images of one height as crops, as wide as the widest of them."""
    widths = torch.tensor([max(own.shape[1], LEAST_WIDTH) for own in images])
    widest = int(widths.max())
    return Crops(torch.stack([pad(own, (0, widest - own.shape[1])) for own in images])[:, None], widths)
