"""Group norm over an image's own pixels, not over those that pad it, with a gradient written out.

Autograd would pass over the maps some twenty times.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from models.runtime.by_hand import differentiable_once

GROUP = 16  # channels that are normalised together
EPSILON = 1e-5


class OwnGroupNorm(nn.Module):
    """Is group norm (Wu and He 2018) over the pixels of an image itself, not over those that pad it.

    groups: of `GROUP` channels each, or one of all channels where there are fewer. So no image sees another one, nor
    how far it is padded. Of each group y = w (x − m) / √(v + ε) + b, m and v its mean and variance.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.group = min(GROUP, channels)
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, maps: Tensor, own: Tensor) -> Tensor:
        """Returns maps (image, channel, row, column) of the same shape, 0 where a column is not the image's own: bool
        (image, 1, 1, column)."""
        return Normalise.apply(maps, self.weight, self.bias, own, self.group)


class Normalise(torch.autograd.Function):
    """Is the formula of `OwnGroupNorm` and its gradient, with sums over rows and columns as products of matrices."""

    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, bias: Tensor, own: Tensor, group: int) -> Tensor:
        """Returns the normalised maps."""
        inside = own.to(maps.dtype)
        maps = maps * inside
        each = 1 / (group * maps.shape[2] * inside.sum((2, 3)))  # (image, 1)
        mean = of_group(maps.sum((2, 3)), each, group)
        variance = (of_group(inner(maps, maps), each, group) - mean.square()).clamp_min(0)
        over = (variance + EPSILON).rsqrt()
        ctx.save_for_backward(maps, weight, mean, over, each, inside)
        ctx.group = group
        scale = over * weight
        return torch.addcmul(at_pixels(bias - mean * scale), maps, at_pixels(scale)).mul_(inside)

    @staticmethod
    @differentiable_once("normalise by operations of torch, as the formula of OwnGroupNorm says")
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """Returns the gradients of maps, weight and bias."""
        maps, weight, mean, over, each, inside = ctx.saved_tensors
        given = gradients[0] * inside
        sums = given.sum((2, 3))
        along = (inner(maps, given) - mean * sums) * over  # sums of the gradient times the normalised maps
        slope = -over.square() * of_group(along * weight, each, ctx.group)
        shift = -over * of_group(sums * weight, each, ctx.group) - slope * mean
        given.mul_(at_pixels(over * weight)).addcmul_(maps, at_pixels(slope)).add_(at_pixels(shift))
        return given.mul_(inside), along.sum(0), sums.sum(0), None, None


def inner(one: Tensor, other: Tensor) -> Tensor:
    """Returns the sums over rows and columns of a product of maps, (image, channel)."""
    rows, columns = one.flatten(0, 1).flatten(1).unsqueeze(1), other.flatten(0, 1).flatten(1).unsqueeze(2)
    return torch.bmm(rows, columns).view(one.shape[:2])


def of_group(sums: Tensor, each: Tensor, group: int) -> Tensor:
    """Returns the mean over the pixels of each group of channels, at every channel, (image, channel). each: one over
    the number of these pixels, (image, 1)."""
    return (sums.unflatten(1, (-1, group)).sum(2) * each).repeat_interleave(group, 1)


def at_pixels(values: Tensor) -> Tensor:
    """Returns values of channels as they are multiplied with maps, (image, channel, 1, 1)."""
    return values[:, :, None, None]
