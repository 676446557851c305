"""Anchors: the shapes that boxes of training forms have, and where they stand on a form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from models.forms.detect.boxes import Truth
from models.runtime.parameters import number

Shapes = Sequence[Sequence[float]]  # of each anchor its width and height in pixels
ROUNDS = 100  # of k-means at most; it ends when nothing changes
DIGITS = 2  # of a shape, in pixels: far coarser than rounding


def shape_overlaps(sides: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Returns intersection over union of boxes with a common corner, float64 (box, centre), of widths and heights."""
    shared = np.minimum(sides[:, None], centres).prod(2)
    return shared / (sides.prod(1)[:, None] + centres.prod(1) - shared)


def anchor_shapes(boxes: Tensor | np.ndarray, count: int = 5) -> tuple[tuple[float, float], ...]:
    """Returns widths and heights of `count` anchors for training boxes (box, 4), by area: k-means, a box belonging to
    the shape that it overlaps most (Redmon & Farhadi 2017).

    Nothing is drawn: it begins with boxes evenly spaced by area. Of fewer shapes than `count` all are returned. Raises
    ValueError without boxes or for one without an area.
    """
    whole = np.asarray(boxes, np.float64)
    sides = whole[:, 2:] - whole[:, :2]
    if not len(sides) or not (sides > 0).all():
        raise ValueError("anchors need training boxes, each with an area")
    shapes = np.unique(sides.round(DIGITS), axis=0)
    shapes = shapes[np.lexsort((shapes[:, 0], shapes.prod(1)))]
    places = np.unique(((2 * np.arange(count) + 1) * len(shapes)) // (2 * count))
    found = _means(sides, shapes[places])
    return tuple((float(width), float(height)) for width, height in found[np.lexsort((found[:, 0], found.prod(1)))])


def _means(sides: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Returns where k-means ends that begins at these centres; a centre without a box stays where it is."""
    for _ in range(ROUNDS):
        owner = shape_overlaps(sides, centres).round(9).argmax(1)
        moved = [sides[owner == place].mean(0) if (owner == place).any() else centre
                 for place, centre in enumerate(centres)]  # fmt: skip
        following = np.round(moved, DIGITS)
        if np.array_equal(following, centres):
            break
        centres = following
    return centres


def checked_shapes(anchors: Shapes) -> tuple[tuple[float, float], ...]:
    """Returns shapes of anchors. Raises ValueError without any, or for one that is not two numbers above 0."""
    if not len(anchors) or any(len(shape) != 2 for shape in anchors):
        raise ValueError("anchors must be pairs of width and height, at least one; take anchor_shapes(training boxes)")
    return tuple((number("anchors", shape[0]), number("anchors", shape[1])) for shape in anchors)


def known_shapes(anchors: Shapes | None) -> Shapes:
    """Returns the shapes. Raises ValueError where there are none yet."""
    if anchors is None:
        raise ValueError(
            "anchors are not known yet; take settings.prepared(training images, their boxes), or give them"
        )
    return anchors


def shapes_of(truths: Sequence[Truth], count: int) -> tuple[tuple[float, float], ...]:
    """Returns the shapes of anchors for training forms, see `anchor_shapes`. Raises ValueError without forms."""
    if not len(truths):
        raise ValueError("anchors need training forms, and there are none")
    return anchor_shapes(torch.cat([truth.boxes for truth in truths]), count)


def anchors_on(shapes: Tensor, rows: int, columns: int, stride: int) -> Tensor:
    """Returns boxes of these shapes (shape, 2) around the centre of each cell, (rows · columns · shape, 4), of a map
    whose cells are `stride` pixels wide and high."""
    y = (torch.arange(rows, device=shapes.device, dtype=shapes.dtype) + 0.5) * stride
    x = (torch.arange(columns, device=shapes.device, dtype=shapes.dtype) + 0.5) * stride
    centres = torch.stack(torch.meshgrid(y, x, indexing="ij")[::-1], -1)[:, :, None]
    return torch.cat([centres - shapes / 2, centres + shapes / 2], -1).flatten(0, 2)
