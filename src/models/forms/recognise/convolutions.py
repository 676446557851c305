"""Convolutions over images of unequal width that are padded to one: what lies past an image's end stays 0."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.functional import max_pool2d, pad

from models.forms.recognise.own_group_norm import OwnGroupNorm
from models.sequence.masks import present_steps


class WordMaps(nn.Module):
    """Is a stack of convolutions of 3 × 3, each with group norm, ReLU and a maximum over 2 × 2 or 2 × 1 pixels.

    widths: channels of each layer, multiples of 16. halvings: how many layers halve the width too, the first ones. Each
    layer halves the height. Past the end of an image maps are 0, as a convolution has it past its edge.
    """

    def __init__(self, widths: Sequence[int], *, halvings: int = 1) -> None:
        super().__init__()
        self.halvings = halvings
        inputs = [1, *widths[:-1]]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, 3, padding=1, bias=False) for before, after in zip(inputs, widths, strict=True)
        )
        self.norms = nn.ModuleList(OwnGroupNorm(width) for width in widths)

    def frames(self, widths: Tensor) -> Tensor:
        """Returns how many columns images of so many pixels have, ⌈width / 2^halvings⌉."""
        for _ in range(self.halvings):
            widths = (widths + 1) // 2
        return widths

    def forward(self, ink: Tensor, widths: Tensor) -> Tensor:
        """Returns maps (image, channel, height / 2^layers, frame) of ink (image, 1, height, width)."""
        maps = ink
        for layer, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            maps = norm(convolution(maps), inside(widths, maps.shape[3]))
            across = 2 if layer < self.halvings else 1
            if across == 2:
                maps, widths = pad(maps, (0, maps.shape[3] % 2)), (widths + 1) // 2
            maps = max_pool2d(maps, (2, across)).relu()  # the same as the other way round, over fewer pixels
        return maps


def inside(widths: Tensor, columns: int) -> Tensor:
    """Returns which columns belong to an image, bool (image, 1, 1, column)."""
    return present_steps(widths, columns)[:, None, None]
