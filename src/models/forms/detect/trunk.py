"""The trunk of the detectors: an image in, a map of features of a lower resolution out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad

from models.runtime.parameters import one_of, whole_number

STRIDES = (2, 4, 8, 16)
NORMS = ("group", "batch")
GROUP = 8  # channels of a group


def normalisation(norm: str, channels: int) -> nn.Module:
    """Returns group norm, which looks at one form alone, or batch norm, whose running statistics are buffers."""
    if one_of("norm", norm, NORMS) == "batch":
        return nn.BatchNorm2d(channels)
    return nn.GroupNorm(channels // GROUP, channels)


def unit(inputs: int, outputs: int, *, norm: str, dilation: int = 1) -> nn.Sequential:
    """Returns a convolution of 3 x 3, normalisation and ReLU."""
    layer = nn.Conv2d(inputs, outputs, 3, padding=dilation, dilation=dilation, bias=False)
    return nn.Sequential(layer, normalisation(norm, outputs), nn.ReLU())


def halving(inputs: int, outputs: int, *, norm: str) -> nn.Sequential:
    """Returns a convolution of 4 x 4 that halves even sides, normalisation and ReLU. Its cells lie over the middle of
    what they see, where one of 3 x 3 would see half a cell too far up and left."""
    layer = nn.Conv2d(inputs, outputs, 4, 2, padding=1, bias=False)
    return nn.Sequential(layer, normalisation(norm, outputs), nn.ReLU())


def refuse_odd_trunk(stride: int, width: int, depth: int) -> None:
    """Raises TypeError and ValueError for a trunk that cannot be."""
    if stride not in STRIDES:
        raise ValueError(f"stride must be one of {', '.join(map(str, STRIDES))}, got {stride}")
    if whole_number("width", width) % (2 * GROUP):
        raise ValueError(f"width must be a multiple of {2 * GROUP}, got {width}")
    whole_number("depth", depth, most=8)


class Residual(nn.Module):
    """Is x + unit(unit(x))."""

    def __init__(self, width: int, *, norm: str, dilation: int) -> None:
        super().__init__()
        self.both = nn.Sequential(*(unit(width, width, norm=norm, dilation=dilation) for _ in range(2)))

    def forward(self, maps: Tensor) -> Tensor:
        return maps + self.both(maps)


class Trunk(nn.Module):
    """Halves the resolution until a cell is `stride` pixels wide, then sees farther by residual units whose dilation
    doubles from 1.

    width: channels of the map, a multiple of 16; the first convolution has half of them. depth: residual units.
    Raises TypeError and ValueError for what cannot be.
    """

    def __init__(self, *, stride: int = 8, width: int = 48, depth: int = 4, norm: str = "group") -> None:
        super().__init__()
        refuse_odd_trunk(stride, width, depth)
        self.stride, self.width = stride, width
        self.stem = stem(stride, width, norm=norm)
        self.body = nn.Sequential(*(Residual(width, norm=norm, dilation=2**place) for place in range(depth)))

    def forward(self, images: Tensor) -> Tensor:
        """Returns (form, width, ⌈rows / stride⌉, ⌈columns / stride⌉). Raises ValueError for what is no ink."""
        return self.body(self.stem(whole_cells(images, self.stride)))


class UTrunk(nn.Module):
    """Goes down to cells of `stride` pixels, and `depth` halvings farther, and up again to `stride`, adding on the way
    up what it saw on the way down. Raises as `Trunk`."""

    def __init__(self, *, stride: int = 4, width: int = 48, depth: int = 2, norm: str = "group") -> None:
        super().__init__()
        refuse_odd_trunk(stride, width, depth)
        self.stride, self.width = stride, width
        self.stem = stem(stride, width, norm=norm)
        self.down = nn.ModuleList(
            nn.Sequential(halving(width, width, norm=norm), Residual(width, norm=norm, dilation=1))
            for _ in range(depth)
        )
        self.up = nn.ModuleList(unit(width, width, norm=norm) for _ in range(depth))

    def forward(self, images: Tensor) -> Tensor:
        """Returns (form, width, ⌈rows / stride⌉, ⌈columns / stride⌉). Raises ValueError for what is no ink."""
        rows, columns = (-(-side // self.stride) for side in images.shape[2:])
        seen = [self.stem(whole_cells(images, self.stride << len(self.down)))]
        for down in self.down:
            seen.append(down(seen[-1]))
        maps = seen.pop()
        for up in self.up:
            maps = up(seen.pop() + interpolate(maps, scale_factor=2))
        return maps[:, :, :rows, :columns]


def stem(stride: int, width: int, *, norm: str) -> nn.Sequential:
    """Returns what halves the resolution until a cell is `stride` pixels wide."""
    halvings = stride.bit_length() - 1
    widths = [1, width // 2, *[width] * (halvings - 1)] if halvings > 1 else [1, width]
    return nn.Sequential(*(halving(before, after, norm=norm) for before, after in pairwise(widths)))


def whole_cells(images: Tensor, cell: int) -> Tensor:
    """Returns the images with white at the right and below, so that their sides are multiples of a cell's. Raises
    ValueError for what is no ink."""
    if images.ndim != 4 or images.shape[1] != 1 or not images.is_floating_point():
        raise ValueError(f"images must be floats of shape (form, 1, height, width), got {tuple(images.shape)}")
    height, width = images.shape[2:]
    return pad(images, (0, -width % cell, 0, -height % cell))


def head(inputs: int, outputs: int, *, bias: float | Sequence[float] = 0.0) -> nn.Conv2d:
    """Returns a 1 x 1 convolution that says little at first, with that bias."""
    made = nn.Conv2d(inputs, outputs, 1)
    nn.init.normal_(made.weight, std=0.01)
    with torch.no_grad():
        made.bias.copy_(torch.as_tensor(bias).expand(outputs))  # pyright: ignore[reportOptionalMemberAccess]
    return made
