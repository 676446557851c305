"""EAST: each cell says whether it is in the middle of a word, and how far its four sides are (Zhou et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.forms.detect.boxes import MOST_GROWTH, Detections, Truth
from models.forms.detect.dense_text import DenseText, DenseTextSettings, Map, hard_entropy, words_at
from models.forms.detect.suppression import suppress
from models.runtime.seeding import drawn

SHRUNK = 0.3  # of the shorter side of a box, by which its middle is narrower on each side
MERGED = 0.5  # overlap of boxes of neighbouring cells that become one
MOST_OVERLAP = 0.3  # of two words


@dataclass(frozen=True, kw_only=True)
class East(DenseTextSettings):
    """`detector=east`, with boxes that are not rotated."""

    def network(self, *, seed: int = 0) -> EastNetwork:
        with drawn(seed, "forms/east"):
            return EastNetwork(self)


class EastNetwork(DenseText):
    """Says a score and logarithms of the distances to the left, upper, right and lower side, in cells."""

    outputs = 5

    def form_losses(self, said: Tensor, words: Truth, lying: Map) -> dict[str, Tensor]:
        middles = lying.owners(shrunk(words.boxes))
        positive = middles >= 0
        negative = ~positive & (lying.owners(words.boxes) < 0)
        found = distances(said[1:])[:, positive]
        true = true_distances(words.boxes[middles[positive]], positive, lying)
        sides = -overlap_logs(found, true).sum() / max(1, found.shape[1])
        return {"score_loss": hard_entropy(said[0], positive.to(said.dtype), negative), "box_loss": sides}

    def found(self, said: Tensor, lying: Map) -> Detections:
        scores = said[0].sigmoid()
        cells = scores >= self.settings.cell_score
        far = distances(said[1:])[:, cells] * lying.stride
        y, x = lying.centres(said.device)
        row, column = cells.nonzero().unbind(1)
        boxes = torch.stack([x[column] - far[0], y[row] - far[1], x[column] + far[2], y[row] + far[3]], 1)
        merged, total, count = merged_along(boxes, scores[cells])
        kept = suppress(words_at(merged, total), most_overlap=MOST_OVERLAP)
        return words_at(merged[kept], total[kept] / count[kept]).to(said.device)


def shrunk(boxes: Tensor) -> Tensor:
    """Returns the middles of boxes, (box, 4)."""
    off = SHRUNK * (boxes[:, 2:] - boxes[:, :2]).amin(1, keepdim=True)
    return torch.cat([boxes[:, :2] + off, boxes[:, 2:] - off], 1)


def distances(said: Tensor) -> Tensor:
    """Returns distances, in cells, of their logarithms."""
    return said.clamp(max=MOST_GROWTH).exp()


def true_distances(boxes: Tensor, positive: Tensor, lying: Map) -> Tensor:
    """Returns distances of the positive cells to the sides of their boxes, (4, cell), in cells."""
    y, x = lying.centres(boxes.device)
    row, column = positive.nonzero().unbind(1)
    x0, y0, x1, y1 = boxes.unbind(1)
    return torch.stack([x[column] - x0, y[row] - y0, x1 - x[column], y1 - y[row]]) / lying.stride


def overlap_logs(found: Tensor, true: Tensor) -> Tensor:
    """Returns ln((I + 1) / (U + 1)), (cell,), I and U the shared and the joint area of boxes around a cell."""
    both = torch.minimum(found, true)
    shared = (both[0] + both[2]) * (both[1] + both[3])
    whole, other = ((own[0] + own[2]) * (own[1] + own[3]) for own in (found, true))
    return torch.log((shared + 1) / (whole + other - shared + 1))


def merged_along(boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns boxes of which each that overlaps the one before was merged with it, by scores, (box, 4), with the sum of
    the scores of each and how many there were: locality-aware suppression, row by row."""
    merged = list[list[float]]()
    for box, score in zip(boxes.double().tolist(), scores.double().tolist(), strict=True):
        last = merged[-1] if merged else None
        if last is not None and overlap(last, box) > MERGED:
            total = last[4] + score
            merged[-1] = [(last[side] * last[4] + box[side] * score) / total for side in range(4)] + [
                total,
                last[5] + 1,
            ]
        else:
            merged.append([*box, score, 1])
    whole = torch.tensor(merged, dtype=torch.float32).reshape(-1, 6)
    return whole[:, :4], whole[:, 4], whole[:, 5]


def overlap(one: list[float], other: list[float]) -> float:
    """Returns intersection over union of two boxes."""
    wide = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return wide * high / (areas - wide * high) if wide * high else 0.0
