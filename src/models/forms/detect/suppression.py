"""Suppression: of detections that mean the same box, one is kept, or the scores of the others fall."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from models.forms.detect.boxes import Detections, areas, intersections_and_unions, overlaps
from models.runtime.parameters import number

BLOCK = 256  # boxes that are compared at once: memory stays small for thousands of them


def suppress(found: Detections, *, most_overlap: float, most: int | None = None, of_smaller: bool = False) -> Tensor:
    """Returns which detections are kept, int64 (kept,), best first: greedy suppression per class.

    The detections of a class are taken by falling score, equal scores in the order given. One that overlaps a kept one
    of its class by more than `most_overlap` is dropped: their shared area over the joint one, or, with `of_smaller`,
    over that of the smaller box. At most `most` are kept.
    """
    order = found.scores.sort(descending=True, stable=True).indices
    boxes, classes = found.boxes[order], found.classes[order]

    def hits(one: Tensor, other: Tensor) -> Tensor:
        shared, whole = intersections_and_unions(boxes[one], boxes[other])
        if of_smaller:
            whole = torch.minimum(areas(boxes[one].double())[:, None], areas(boxes[other].double()))
        return (shared > most_overlap * whole) & (classes[one][:, None] == classes[other])

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
    boxes, classes, scores = (part.detach().cpu() for part in found)
    if not (boxes.isfinite().all() and scores.isfinite().all()):
        raise ValueError("boxes or scores of detections are not finite")
    taken = list[tuple[int, float]]()
    for kind in classes.unique().tolist():
        own = (classes == kind).nonzero()[:, 0].tolist()
        falling = fallen(boxes[own], scores[own].double().numpy(), decay=decay, least_score=least_score)
        taken += [(own[place], score) for place, score in falling]
    taken = sorted(taken, key=lambda one: (-one[1], one[0]))[:most]
    kept = found.at(torch.tensor([place for place, _ in taken], dtype=torch.int64, device=found.scores.device))
    given = torch.tensor([score for _, score in taken], dtype=torch.float64)
    return kept._replace(scores=given.to(found.scores))


def fallen(boxes: Tensor, scores: np.ndarray, *, decay: float, least_score: float) -> Iterator[tuple[int, float]]:
    """Yields the detections of a class in the order in which soft suppression takes them: the place of each, and the
    score that it has then."""
    factors, left = torch.exp(-overlaps(boxes, boxes).square() / decay).numpy(), scores.copy()
    done = np.zeros(len(left), bool)
    for _ in scores:
        best = int(left.argmax())
        if left[best] < least_score:
            return
        yield best, float(left[best])
        done[best] = True
        left *= factors[best]
        left[done] = -1.0
