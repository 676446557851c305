"""Boxes strewn over a form, and their overlap written out."""

from __future__ import annotations

import torch
from torch import Tensor


def some_boxes(count: int, seed: int, *, whole: bool = True) -> Tensor:
    """Boxes on a form of 100 pixels; `whole` ones have many equal overlaps."""
    chance = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=chance) * 80
    boxes = torch.cat([corners, corners + 2 + torch.rand(count, 2, generator=chance) * 30], 1)
    return boxes.round() if whole else boxes


def overlap(one: list[float], other: list[float]) -> float:
    """Intersection over union, written out."""
    wide = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    both = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - wide * high
    return wide * high / both if both else 0.0
