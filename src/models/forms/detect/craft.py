"""CRAFT: heat maps of the middles of characters and of what joins two of them (Baek et al. 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor
from torch.nn.functional import interpolate

from models.forms.detect.boxes import Detections, Truth, centres_and_sides
from models.forms.detect.dense_text import DenseText, DenseTextSettings, Map, boxes_of, hard_mean, means_of, words_at
from models.runtime.seeding import drawn

PART = 0.5  # width of a character over its height, where characters are not known
DEVIATION = 0.35  # of a heat over the side of its box
WARM = 0.1  # least heat of a cell that counts as positive


@dataclass(frozen=True, kw_only=True)
class Craft(DenseTextSettings):
    """`detector=craft`. It learns from the boxes of characters; a word of which none are known is cut into equal parts,
    half as wide as high. cell_score: heat above which cells are part of a word."""

    cell_score: float = 0.4

    def network(self, *, seed: int = 0) -> CraftNetwork:
        with drawn(seed, "forms/craft"):
            return CraftNetwork(self)


class CraftNetwork(DenseText):
    """Says the heat of characters and that of what is between two of them. Warm cells that touch are a word."""

    outputs = 2

    def form_losses(self, said: Tensor, words: Truth, lying: Map) -> dict[str, Tensor]:
        characters = [characters_of(words, place) for place in range(len(words.boxes))]
        between = [between_of(own) for own in characters]
        found = said.sigmoid()
        names = {"region_loss": characters, "affinity_loss": between}
        return {name: heat_loss(heat, heats(torch.cat([words.boxes[:0], *boxes]), lying))
                for heat, (name, boxes) in zip(found, names.items(), strict=True)}  # fmt: skip

    def found(self, said: Tensor, lying: Map) -> Detections:
        fine = interpolate(said.sigmoid()[None], scale_factor=lying.stride, mode="bilinear")[0]
        region, affinity = fine.cpu().numpy()  # by pixels: edges between the centres of cells count
        least = self.settings.cell_score
        labels: Any = ndimage.label((region >= least) | (affinity >= least), np.ones((3, 3)))[0]  # pyright: ignore[reportIndexIssue]
        labels = np.where(region >= least, labels, 0)
        names = np.unique(labels[labels > 0])
        labels = np.searchsorted(names, labels) * (labels > 0) + (labels > 0)
        boxes = widened(boxes_of(labels, 1), least)
        return words_at(boxes, means_of(region, labels)[: len(names)]).to(said.device)


def characters_of(words: Truth, place: int) -> Tensor:
    """Returns the boxes of the characters of a word, (character, 4): those that are known, else equal parts."""
    if words.characters is not None and len(words.characters[place]):
        return words.characters[place]
    x0, y0, x1, y1 = words.boxes[place].tolist()
    count = max(1, round((x1 - x0) / (PART * (y1 - y0))))
    edges = torch.linspace(x0, x1, count + 1, device=words.boxes.device)
    return torch.stack([edges[:-1], edges[:-1].new_full((count,), y0), edges[1:], edges[1:].new_full((count,), y1)], 1)


def between_of(characters: Tensor) -> Tensor:
    """Returns boxes from the centre of each character to that of the next, of half their mean height, (pair, 4)."""
    centres, sides = centres_and_sides(characters)
    middle, half = (centres[:-1, 1] + centres[1:, 1]) / 2, (sides[:-1, 1] + sides[1:, 1]) / 8
    x0, x1 = torch.minimum(centres[:-1, 0], centres[1:, 0]), torch.maximum(centres[:-1, 0], centres[1:, 0])
    return torch.stack([x0, middle - half, x1, middle + half], 1)


def heats(boxes: Tensor, lying: Map) -> Tensor:
    """Returns the largest at each cell, (row, column), of bells around the centres of boxes, `DEVIATION` of their sides
    wide, and at least half a cell."""
    if not len(boxes):
        return torch.zeros(lying.rows, lying.columns, device=boxes.device)
    centres, sides = centres_and_sides(boxes)
    deviations = (DEVIATION * sides).clamp(min=lying.stride / 2)
    y, x = lying.centres(boxes.device)
    high = (((y - centres[:, 1:]) / deviations[:, 1:]).square() / -2).exp()
    wide = (((x - centres[:, :1]) / deviations[:, :1]).square() / -2).exp()
    return (high[:, :, None] * wide[:, None]).amax(0)


def heat_loss(found: Tensor, true: Tensor) -> Tensor:
    """Returns the mean square error over warm cells and the hardest of the others."""
    losses, warm = (found - true).square(), true >= WARM
    return hard_mean(losses[warm], losses[~warm], torch.ones_like(losses[warm]))


def widened(boxes: Tensor, least: float) -> Tensor:
    """Returns the boxes of words of those of their warm cells, (box, 4).

    A bell is above `least` as far as d = sqrt(-2 ln least) deviations from its centre. So the height is
    1 / (2 · DEVIATION · d) of that of the cells, and at either end half a character lacks the same share of its width.
    """
    share = min(1.0, 2 * DEVIATION * math.sqrt(-2 * math.log(least)))
    _, sides = centres_and_sides(boxes)
    height = sides[:, 1] / share
    off = torch.stack([PART * height * (1 - share) / 2, (height - sides[:, 1]) / 2], 1)
    return torch.cat([boxes[:, :2] - off, boxes[:, 2:] + off], 1)
