"""YOLO-v3: each cell says at once what is in it, of one scale (Redmon & Farhadi 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from models.forms.detect.anchors import known_shapes
from models.forms.detect.boxes import (
    CLASSES,
    MOST_GROWTH,
    Detections,
    Truth,
    centres_and_sides,
    clipped,
    overlaps,
    refuse_bad,
)
from models.forms.detect.detector import AnchoredSettings, Detector
from models.forms.detect.trunk import head, unit
from models.runtime.seeding import drawn

IGNORED = 0.5  # a box that overlaps a true one by more, and is not the one that means it, does not count
CANDIDATES = 1000  # on a form, before suppression
AT_FIRST = -4.6  # objectness: a hundredth


class CellPredictions(NamedTuple):
    """Holds what a form's cells say, one row a cell and prior, the priors of a cell after each other.

    places: logits of the centre within the cell, (row, 2). growths: logarithms of width and height over those of the
    prior, (row, 2). objectness: logits (row,). kinds: logits (row, class), of classes from 1.
    """

    places: Tensor
    growths: Tensor
    objectness: Tensor
    kinds: Tensor


@dataclass(frozen=True, kw_only=True)
class YoloV3(AnchoredSettings):
    """`detector=yolo_v3`; its anchors are called priors."""

    def network(self, *, seed: int = 0) -> YoloV3Network:
        with drawn(seed, "forms/yolo_v3"):
            return YoloV3Network(self)


class YoloV3Network(Detector):
    """Says at each cell c, for each prior p: b_x = σ(t_x) + c_x, b_w = p_w exp(t_w), y and height alike, whether there
    is a box, and of which class, each by itself."""

    priors: Tensor

    def __init__(self, settings: YoloV3) -> None:
        super().__init__()
        self.settings, self.stride = settings, settings.stride
        self.register_buffer("priors", torch.tensor(known_shapes(settings.anchors)))
        self.trunk, self.look = settings.trunk(), unit(settings.width, settings.width, norm=settings.norm)
        biases = [0.0] * 4 + [AT_FIRST] + [0.0] * (len(CLASSES) - 1)
        self.say = head(settings.width, len(biases) * len(self.priors), bias=biases * len(self.priors))

    def forward(self, images: Tensor) -> tuple[list[CellPredictions], int]:
        """Returns what is said of each form, and how many cells a row of the map has."""
        said = self.say(self.look(self.trunk(images)))
        columns = said.shape[3]
        rows = said.unflatten(1, (len(self.priors), -1)).permute(0, 3, 4, 1, 2).flatten(1, 3)
        return [CellPredictions(own[:, :2], own[:, 2:4], own[:, 4], own[:, 5:]) for own in rows], columns

    def boxes(self, said: CellPredictions, columns: int) -> Tensor:
        """Returns the boxes of a form's rows, (row, 4), in pixels."""
        cells = torch.arange(len(said.places), device=said.places.device) // len(self.priors)
        corners = torch.stack([cells % columns, cells // columns], 1)
        centres = (said.places.sigmoid() + corners) * self.stride
        half = said.growths.clamp(max=MOST_GROWTH).exp() * self.priors.repeat(len(cells) // len(self.priors), 1) / 2
        return torch.cat([centres - half, centres + half], 1)

    def losses(self, images: Tensor, truths: Sequence[Truth]) -> dict[str, Tensor]:
        refuse_bad(truths, *images.shape[2:])
        forms, columns = self(images)
        parts = [self._form(said, truth, columns) for said, truth in zip(forms, truths, strict=True)]
        of_object, of_class, of_box = torch.stack(parts).mean(0)
        return {"object_loss": of_object, "class_loss": of_class, "box_loss": of_box}

    def _form(self, said: CellPredictions, truth: Truth, columns: int) -> Tensor:
        rows, boxes = rows_of(truth.boxes, self.priors, self.stride, columns)
        count, true = max(1, len(rows)), truth.boxes[boxes]
        with torch.no_grad():
            near = overlaps(self.boxes(said, columns), truth.boxes).gt(IGNORED).any(1)
        near[rows] = True
        empty = softplus(said.objectness).masked_fill(near, 0.0).sum()
        of_object = empty + softplus(-said.objectness[rows]).sum()
        kinds = torch.nn.functional.one_hot(truth.classes[boxes] - 1, len(CLASSES) - 1).to(said.kinds.dtype)
        of_class = binary_cross_entropy_with_logits(said.kinds[rows], kinds, reduction="sum")
        centres, sides = centres_and_sides(true)
        priors = self.priors[rows % len(self.priors)]
        off = torch.cat(
            [said.places[rows].sigmoid() - centres / self.stride % 1, said.growths[rows] - (sides / priors).log()], 1
        )
        return torch.stack([of_object, of_class, off.square().sum()]) / count

    @torch.no_grad()
    def detect(self, images: Tensor, least_score: float = 0.05) -> list[Detections]:
        forms, columns = self(images)
        return [self._found(said, columns, images.shape[2:], least_score) for said in forms]

    def _found(self, said: CellPredictions, columns: int, size: Sequence[int], least_score: float) -> Detections:
        scores = said.objectness.sigmoid()[:, None] * said.kinds.sigmoid()
        row, kind = (scores >= least_score).nonzero().unbind(1)
        boxes = clipped(self.boxes(said, columns), size[0], size[1])
        found = Detections(boxes[row], kind + 1, scores[row, kind])
        found = found.at(found.scores.sort(descending=True, stable=True).indices[:CANDIDATES])
        return self.settings.suppressed(found, least_score)


def rows_of(boxes: Tensor, priors: Tensor, stride: int, columns: int) -> tuple[Tensor, Tensor]:
    """Returns the rows that mean true boxes, int64 (row,), and the box that each means.

    A box is meant by the cell of its centre, and there by the prior whose shape overlaps it most, the first of equal
    ones. Of boxes with the same row the first is meant.
    """
    centres, sides = centres_and_sides(boxes)
    cells = (centres / stride).long()
    corner = torch.zeros_like(priors)
    shares = overlaps(torch.cat([torch.zeros_like(sides), sides], 1), torch.cat([corner, priors], 1))
    rows = (cells[:, 1] * columns + cells[:, 0]) * len(priors) + shares.argmax(1)
    firsts = sorted({row: place for place, row in reversed(list(enumerate(rows.tolist())))}.values())
    kept = torch.tensor(firsts, dtype=torch.int64, device=boxes.device)
    return rows[kept], kept
