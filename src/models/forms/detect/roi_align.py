"""RoIAlign: a map read at points within a box, between the centres of cells (He et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, grid_sample

POINTS = 2  # along each side of a bin


def roi_align(maps: Tensor, boxes: Sequence[Tensor], bins: int) -> Tensor:
    """Returns the mean of `POINTS` x `POINTS` points in each of bins x bins bins, (box, channel, bins, bins), of the
    boxes of all forms, one form after the other.

    maps (form, channel, rows, columns). boxes: of each form, (box, 4), in cells. The value at a point lies between
    those of the four nearest cells, whose centres are at halves; beyond the outermost centres it is theirs. There is a
    gradient for the maps and none for the boxes.
    """
    parts = [aligned(own, form, bins) for own, form in zip(maps.split(1), boxes, strict=True)]
    return torch.cat(parts)


def aligned(maps: Tensor, boxes: Tensor, bins: int) -> Tensor:
    """Returns the bins of the boxes of one form, of its maps (1, channel, rows, columns)."""
    if not len(boxes):
        return maps.new_zeros(0, maps.shape[1], bins, bins)
    steps = (torch.arange(bins * POINTS, device=boxes.device, dtype=boxes.dtype) + 0.5) / (bins * POINTS)
    points = boxes[:, None, :2] + steps[:, None] * (boxes[:, None, 2:] - boxes[:, None, :2])  # (box, step, 2)
    norms = 2 * points / points.new_tensor([maps.shape[3], maps.shape[2]]) - 1
    x, y = norms[:, None, :, 0], norms[:, :, None, 1]
    grid = torch.stack(torch.broadcast_tensors(x, y), -1).flatten(0, 1)[None].to(maps.dtype)
    sampled = grid_sample(maps, grid, padding_mode="border", align_corners=False)
    return avg_pool2d(sampled, POINTS)[0].unflatten(1, (-1, bins)).transpose(0, 1)
