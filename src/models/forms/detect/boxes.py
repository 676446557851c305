"""Boxes on a form: what is true and what was found, how far boxes overlap, and offsets from anchors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

CLASSES = ("background", "word", "signature", "stamp", "date", "noise")
WORD = CLASSES.index("word")
WORDS_ALONE = CLASSES[WORD : WORD + 1]  # of a detector that finds no other class
MOST_GROWTH = math.log(128.0)  # of a side over that of its anchor, so that no offset overflows


class Truth(NamedTuple):
    """Holds the true boxes of a form.

    boxes: float32 (box, 4), x0, y0, x1, y1 in pixels, x1 and y1 exclusive. classes: int64 (box,), numbers of `CLASSES`
    from 1. characters: of each box the boxes of its characters in order, float32 (character, 4), with no row where they
    are not known; None where none is known.
    """

    boxes: Tensor
    classes: Tensor
    characters: tuple[Tensor, ...] | None = None

    def to(self, device: torch.device | str) -> Truth:
        """Returns the same on that device."""
        characters = None if self.characters is None else tuple(own.to(device) for own in self.characters)
        return Truth(self.boxes.to(device), self.classes.to(device), characters)


class Detections(NamedTuple):
    """Holds what was found on a form, best first: boxes and classes as in `Truth`, and scores in [0, 1], (box,)."""

    boxes: Tensor
    classes: Tensor
    scores: Tensor

    def at(self, places: Tensor) -> Detections:
        """Returns those at these places, or where these places are true, in their order."""
        return Detections(*(part[places] for part in self))

    def to(self, device: torch.device | str) -> Detections:
        """Returns the same on that device."""
        return Detections(*(part.to(device) for part in self))


def no_detections(device: torch.device) -> Detections:
    """Returns what is found where there is nothing."""
    empty = torch.zeros(0, device=device)
    return Detections(empty.reshape(0, 4), empty.long(), empty)


def refuse_bad(truths: Sequence[Truth], height: int, width: int) -> None:
    """Raises ValueError, with the form and the box, for boxes that are not numbers, have no area, lie outside of a form
    of that size, or are of a class that is not known."""
    for form, (boxes, classes, *_) in enumerate(truths):
        if boxes.ndim != 2 or boxes.shape[1] != 4 or len(boxes) != len(classes):
            raise ValueError(f"form {form}: boxes must have shape ({len(classes)}, 4), got {tuple(boxes.shape)}")
        x0, y0, x1, y1 = boxes.unbind(1)
        inside = (x0 >= 0) & (y0 >= 0) & (x1 <= width) & (y1 <= height)
        reasons = {
            "has no area or swapped sides": ~((x0 < x1) & (y0 < y1)), f"lies outside of {width} x {height}": ~inside,
            f"has a class that is none of 1 to {len(CLASSES) - 1}": (classes < 1) | (classes >= len(CLASSES)),
        }  # fmt: skip
        for reason, bad in reasons.items():
            if bad.any():
                box = int(bad.nonzero()[0])
                raise ValueError(
                    f"form {form}, box {box}: {boxes[box].tolist()}, class {int(classes[box])}: it {reason}"
                )


def areas(boxes: Tensor) -> Tensor:
    """Returns the area of each box, (box,), 0 where sides are swapped."""
    sides = (boxes[:, 2:] - boxes[:, :2]).clamp(min=0)
    return sides[:, 0] * sides[:, 1]


def intersections_and_unions(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the shared and the joint area of each pair of boxes, float64 (box of one, box of the other).

    Sums and products of pixels are exact in float64, so that equal overlaps are equal numbers.
    """
    one, other = one.double(), other.double()
    shared = shared_side(one, other, 0) * shared_side(one, other, 1)
    return shared, areas(one)[:, None] + areas(other) - shared


def shared_side(one: Tensor, other: Tensor, axis: int) -> Tensor:
    """Returns how far the boxes of each pair overlap along an axis, (box of one, box of the other), 0 where they do
    not."""
    first = torch.maximum(one[:, None, axis], other[:, axis].contiguous())
    return torch.minimum(one[:, None, axis + 2], other[:, axis + 2].contiguous()).sub_(first).clamp_(min=0)


def overlaps(one: Tensor, other: Tensor) -> Tensor:
    """Returns intersection over union of each pair, float64 (box of one, box of the other); 0 of boxes without area."""
    shared, joint = intersections_and_unions(one, other)
    return shared / torch.where(joint > 0, joint, 1.0)


def centres_and_sides(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the centre, (box, 2), and width and height, (box, 2), of each box."""
    return (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]


def encode(boxes: Tensor, anchors: Tensor) -> Tensor:
    """Returns the offsets of boxes from anchors, both (box, 4): t_x = (x - x_a) / w_a and t_y alike, of centres;
    t_w = ln(w / w_a) and t_h alike."""
    (centres, sides), (own_centres, own_sides) = centres_and_sides(boxes), centres_and_sides(anchors)
    return torch.cat([(centres - own_centres) / own_sides, (sides / own_sides).log()], 1)


def decode(offsets: Tensor, anchors: Tensor) -> Tensor:
    """Returns the boxes at these offsets from anchors, (box, 4): what `encode` was given. Sides grow `MOST_GROWTH`-fold
    in logarithms at most."""
    centres, sides = centres_and_sides(anchors)
    centres = centres + offsets[:, :2] * sides
    half = offsets[:, 2:].clamp(max=MOST_GROWTH).exp() * sides / 2
    return torch.cat([centres - half, centres + half], 1)


def clipped(boxes: Tensor, height: int, width: int) -> Tensor:
    """Returns what of each box lies on a form of that size."""
    return torch.minimum(boxes.clamp(min=0), boxes.new_tensor([width, height, width, height]))
