"""Images of words as networks read them: ink in [0, 1], of one height, padded with paper to a common width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

MOST_WIDTH = 4096  # pixels of a crop


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


def scaled(ink: Tensor, height: int) -> Tensor:
    """Returns an image (height, width) at another height, as wide as its shape asks, at least 1 and at most
    `MOST_WIDTH` pixels."""
    width = min(max(1, round(ink.shape[1] * height / ink.shape[0])), MOST_WIDTH)
    if ink.shape == (height, width):
        return ink
    return interpolate(ink[None, None], (height, width), mode="bilinear", antialias=True)[0, 0]


def crops_of(images: Sequence[Tensor], height: int, *, least_width: int = 8) -> Crops:
    """Returns images of ink (height, width) of any size at one height, padded with paper to the widest of them.

    What is narrower than `least_width` pixels is padded to it. Raises ValueError without an image, and for one without
    pixels.
    """
    if not images:
        raise ValueError("there is no image; give one at least")
    empty = next((place for place, own in enumerate(images) if own.ndim != 2 or not own.numel()), None)
    if empty is not None:
        raise ValueError(
            f"image {empty} has shape {tuple(images[empty].shape)}; give (height, width), a pixel at least"
        )
    found = [scaled(own.float(), height) for own in images]
    widths = torch.tensor([max(own.shape[1], least_width) for own in found])
    widest = int(widths.max())
    return Crops(torch.stack([pad(own, (0, widest - own.shape[1])) for own in found])[:, None], widths)
