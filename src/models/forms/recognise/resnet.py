"""ResNet-18 over images of words (He et al. 2016), with strides as in the thesis (2.2.3.3)."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from models.forms.recognise.convolutions import inside
from models.forms.recognise.own_group_norm import GROUP, OwnGroupNorm
from models.runtime.parameters import whole_number

STAGES = (1, 2, 4, 8)  # channels of each stage, over those of the first one
UNITS = 2  # residual units of a stage


def refuse_odd_sizes(height: int, width: int) -> None:
    """Raises TypeError and ValueError unless the height of images is even, and the first stage has 8 channels or a
    multiple of 16, as group norm needs."""
    whole_number("height", height)
    whole_number("width", width)
    if height % 2 or (width != GROUP // 2 and width % GROUP):
        raise ValueError(f"height={height} must be even, and width={width} must be 8 or a multiple of {GROUP}")


class Residual(nn.Module):
    """Is a residual unit: x → ReLU(N(C(ReLU(N(C(x))))) + S(x)), C a convolution of 3 × 3 of stride 1, N group norm over
    an image's own pixels, S the identity, or N of a convolution of 1 × 1 where the number of channels changes."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(OwnGroupNorm(after) for _ in range(2))
        self.across = nn.Conv2d(before, after, 1, bias=False) if before != after else None
        self.across_norm = OwnGroupNorm(after) if before != after else None

    def forward(self, maps: Tensor, own: Tensor) -> Tensor:
        """Returns maps (image, channel, row, column). own: as of `OwnGroupNorm`."""
        found = self.norms[0](self.first(maps), own).relu()
        found = self.norms[1](self.second(found), own)
        if self.across is not None and self.across_norm is not None:
            maps = self.across_norm(self.across(maps), own)
        return (found + maps).relu()


class ResNet18(nn.Module):
    """Is the trunk of ResNet-18: a convolution of 7 × 7 of stride 2, and four stages of two residual units of stride 1.

    There is no maximum after the first convolution, so maps are half as high and half as wide as the image. width:
    channels of the first stage; the others have 2, 4 and 8 times as many. Past the end of an image maps are 0.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.channels = STAGES[-1] * width
        self.stem, self.norm = nn.Conv2d(1, width, 7, stride=2, padding=3, bias=False), OwnGroupNorm(width)
        widths = [width, *(width * factor for factor in STAGES for _ in range(UNITS))]
        self.units = nn.ModuleList(Residual(before, after) for before, after in pairwise(widths))

    def frames(self, widths: Tensor) -> Tensor:
        """Returns how many columns of maps images of so many pixels have, ⌈width / 2⌉."""
        return (widths + 1) // 2

    def forward(self, ink: Tensor, widths: Tensor) -> Tensor:
        """Returns maps (image, channel, height / 2, ⌈width / 2⌉) of ink (image, 1, height, width)."""
        maps = self.stem(ink)
        own = inside(self.frames(widths), maps.shape[3])
        maps = self.norm(maps, own).relu()
        for unit in self.units:
            maps = unit(maps, own)
        return maps
