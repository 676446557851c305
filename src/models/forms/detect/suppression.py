"""Suppression: of detections that mean the same box, one is kept, or the scores of the others fall."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from models.forms.detect.boxes import Detections, intersections_and_unions
from models.runtime.parameters import number

BLOCK = 256  # boxes that are compared at once: memory stays small for thousands of them


def suppress(found: Detections, *, most_overlap: float, most: int | None = None) -> Tensor:
    """Returns which detections are kept, int64 (kept,), best first: greedy suppression per class.

    The detections of a class are taken by falling score, equal scores in the order given. One that overlaps a kept one
    of its class by more than `most_overlap` is dropped. At most `most` are kept.
    """
    order = found.scores.sort(descending=True, stable=True).indices
    boxes, classes = found.boxes[order], found.classes[order]

    def hits(one: Tensor, other: Tensor) -> Tensor:
        shared, joint = intersections_and_unions(boxes[one], boxes[other])
        return (shared > most_overlap * joint) & (classes[one][:, None] == classes[other])

    kept = order[:0]
    for block in torch.arange(len(order), device=order.device).split(BLOCK):
        left = block[~hits(kept, block).any(0)]
        kept = torch.cat([kept, left[first_come(hits(left, left))]])
        if most is not None and len(kept) >= most:
            break
    return order[kept[:most]]


def first_come(hits: Tensor) -> Tensor:
    """Returns which are kept, bool (box,), of boxes in order of which a kept one drops those later ones that it hits.

    hits: bool (box, box). The answer is the only one that gives itself when it is put in; from all kept it is found in
    as many rounds as the longest chain of boxes that hit each other.
    """
    earlier, kept = hits.triu(1).float(), hits.new_ones(len(hits))
    while True:
        left = kept.float() @ earlier == 0
        if torch.equal(left, kept):
            return kept
        kept = left


def softened(found: Detections, *, decay: float, least_score: float, most: int | None = None) -> Detections:
    """Returns what is left after soft suppression, best first (Bodla et al. 2017, section 3, their Gaussian weights).

    The detections of a class are taken by falling score, equal scores in the order given. When one is taken, the score
    of each that is left in its class is multiplied by exp(−IoU² / decay), so that boxes that lie side by side or cross
    each other may both be found; the smaller `decay`, the more scores fall. What has less than `least_score` when its
    turn comes is dropped; at most `most` are taken. Raises ValueError for a `decay` that is not above 0, and for boxes
    and scores that are not finite.
    """
    number("decay", decay)
    boxes, classes, scores = (part.detach().cpu().numpy() for part in found)
    if not (np.isfinite(boxes).all() and np.isfinite(scores).all()):
        raise ValueError("boxes or scores of detections are not finite")
    corners, left = boxes.astype(np.float64), scores.astype(np.float64)  # copies
    taken, given = list[int](), list[float]()
    count = len(left) if most is None else min(most, len(left))
    while len(taken) < count and left.max() >= least_score:
        best = int(left.argmax())
        taken.append(best)
        given.append(float(left[best]))
        factors = np.exp(-(shares_of(corners, best) ** 2) / decay)
        left *= np.where(classes == classes[best], factors, 1.0)
        left[taken] = -1.0
    kept = found.at(torch.tensor(taken, dtype=torch.int64, device=found.scores.device))
    return kept._replace(scores=torch.tensor(given, dtype=torch.float64).to(found.scores))


def shares_of(boxes: np.ndarray, place: int) -> np.ndarray:
    """Returns intersection over union of one of the boxes (box, 4) with each, float64 (box,); 0 of boxes without
    area."""
    own = boxes[place]
    sides = np.minimum(boxes[:, 2:], own[2:]) - np.maximum(boxes[:, :2], own[:2])
    shared = sides.clip(min=0).prod(1)
    joint = (boxes[:, 2:] - boxes[:, :2]).clip(min=0).prod(1) + (own[2:] - own[:2]).clip(min=0).prod() - shared
    return shared / np.where(joint > 0, joint, 1.0)
