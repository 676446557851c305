"""Average precision: how well boxes are found, over all scores at which one may stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from models.forms.detect.boxes import CLASSES, Detections, Truth, overlaps


class Curve(NamedTuple):
    """Holds precision and recall of one class at each score that was given, float64 (score,), highest score first.

    truths: how many true boxes there are, at least 1.
    """

    scores: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    truths: int

    @property
    def last_recall(self) -> float:
        """Returns the recall at the lowest score, 0 where nothing was found; the average precision is not above it."""
        return float(self.recall[-1]) if len(self.recall) else 0.0

    def average(self, *, eleven_points: bool = False) -> float:
        """Returns the area under the curve, made to fall: at a recall counts the best precision there or further on.

        eleven_points: the mean at recalls 0, 0.1, … 1 in place of the area, as VOC 2007 had it.
        """
        best = np.maximum.accumulate(self.precision[::-1])[::-1]
        if not eleven_points:
            return float(np.diff(self.recall, prepend=0.0) @ best)
        # 10 found of n true are compared as whole numbers: 0.1 has no exact form
        hits = np.rint(self.recall * self.truths)
        places = [np.flatnonzero(10 * hits >= tenths * self.truths) for tenths in range(11)]
        return float(np.mean([float(best[place[0]]) if len(place) else 0.0 for place in places]))


class Precision(NamedTuple):
    """Holds the average precision of each class that is there, by name, their mean, and recalls at the lowest score.

    mean: NaN where no class is there. absent: the classes without a true box, which count nowhere.
    """

    by_class: dict[str, float]
    mean: float
    recalls: dict[str, float]
    absent: tuple[str, ...]


def matches(found: Detections, truth: Truth, least_overlap: float) -> np.ndarray:
    """Returns the true box that each detection overlaps most, int64 (detection,), the first of equal ones, and -1 where
    that overlap is below `least_overlap`. Classes are not looked at."""
    if not len(found.boxes) or not len(truth.boxes):
        return np.full(len(found.boxes), -1)
    pairs = overlaps(found.boxes, truth.boxes).cpu().numpy()
    return np.where(pairs.max(1) >= least_overlap, pairs.argmax(1), -1)


def curve(
    found: Sequence[Detections], truths: Sequence[Truth], kind: int, *, least_overlap: float = 0.5
) -> Curve | None:
    """Returns the curve of a class over all forms, None where it has no true box.

    A detection means the true box that it overlaps most, if by `least_overlap` or more. A true box is found once:
    further detections of it are false (Everingham et al. 2010). Detections of equal score count together, so that
    neither their order nor that of the forms matters.
    """
    scores, places, count = list[np.ndarray](), list[np.ndarray](), 0
    for own, truth in zip(found, truths, strict=True):
        own = own.at(own.classes == kind)
        truth = Truth(truth.boxes[truth.classes == kind], truth.classes[truth.classes == kind])
        meant = matches(own, truth, least_overlap)
        places.append(np.where(meant >= 0, meant + count, -1))
        scores.append(own.scores.detach().cpu().double().numpy())
        count += len(truth.boxes)
    return _curve(np.concatenate(scores), np.concatenate(places), count) if count else None


def _curve(scores: np.ndarray, meant: np.ndarray, count: int) -> Curve:
    """Returns the curve of detections with the true box that each means, -1 for none, of `count` true boxes."""
    order = np.argsort(-scores, kind="stable")
    scores, meant = scores[order], meant[order]
    boxes, firsts = np.unique(meant, return_index=True)
    first = np.zeros(len(meant))
    first[firsts[boxes >= 0]] = 1.0
    ends = np.flatnonzero(np.diff(scores, append=-np.inf))
    hits = first.cumsum()[ends]
    return Curve(scores[ends], hits / (ends + 1), hits / count, count)


def hits_of(found: Detections, truth: Truth, *, least_overlap: float = 0.5) -> np.ndarray:
    """Returns which detections of a form are the best to mean a true box of their class, bool (detection,); of equal
    scores the first."""
    hits = np.zeros(len(found.boxes), bool)
    order = found.scores.sort(descending=True, stable=True).indices
    for kind in range(1, len(CLASSES)):
        own, there = order[found.classes[order] == kind], truth.classes == kind
        meant = matches(found.at(own), Truth(truth.boxes[there], truth.classes[there]), least_overlap)
        boxes, first = np.unique(meant, return_index=True)
        hits[own.cpu().numpy()[first[boxes >= 0]]] = True
    return hits


def weighted_average(scores: np.ndarray, hits: np.ndarray, weights: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Returns the average precision of a class where forms count several times or not at all, float64 (draw,).

    scores, hits: (detection,), as `hits_of` gives them, of all forms. weights: (draw, detection), how often the form of
    each counts. truths: (draw,), how many true boxes count. With weights of 1 it is `Curve.average`. NaN where no box
    counts.
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.diff(scores[order], append=-np.inf))
    counted = weights[:, order]
    found, right = counted.cumsum(1)[:, ends], (counted * hits[order]).cumsum(1)[:, ends]
    precision = right / np.maximum(found, 1)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    areas = (np.diff(right, prepend=0.0, axis=1) * best).sum(1)
    return np.where(truths > 0, areas / np.maximum(truths, 1), np.nan)


def precision_of(
    found: Sequence[Detections], truths: Sequence[Truth], *, least_overlap: float = 0.5, eleven_points: bool = False
) -> Precision:
    """Returns average precision of all classes over all forms. Raises ValueError for unequal numbers of forms."""
    curves = {name: curve(found, truths, kind, least_overlap=least_overlap)
              for kind, name in enumerate(CLASSES) if kind}  # fmt: skip
    there = {name: own for name, own in curves.items() if own is not None}
    by_class = {name: own.average(eleven_points=eleven_points) for name, own in there.items()}
    mean = float(np.mean(list(by_class.values()))) if by_class else float("nan")
    recalls = {name: own.last_recall for name, own in there.items()}
    return Precision(by_class, mean, recalls, tuple(name for name in curves if name not in there))
