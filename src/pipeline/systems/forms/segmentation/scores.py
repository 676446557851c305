"""How well boxes are found: average precision by class, and every box that was found, for comparisons over forms."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from models.forms.detect.average_precision import hits_of, precision_of
from models.forms.detect.boxes import CLASSES, Detections, Truth
from models.forms.detect.detector import Detector
from models.forms.reader import LEAST_SCORE
from models.forms.tables import SIDES
from pipeline.systems.forms.segmentation.load import Shown
from pipeline.systems.forms.segmentation.narrow import NARROW, median_width, narrow_of, narrow_precision, truth_up_to

GRID = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # least scores that validation chooses from


@torch.no_grad()
def detected(detector: Detector, forms: Shown) -> list[Detections]:
    """Returns what is found on each form."""
    detector.eval()
    return [detector.detect_on(ink, LEAST_SCORE) for ink in forms.inks]


def metrics_of(found: Sequence[Detections], truths: Sequence[Truth], kinds: Collection[str]) -> dict[str, float]:
    """Returns average precision and the recall at the lowest score of every class that is there and that the detector
    finds, the average precision of the narrower half of words, and, of a detector that finds all classes, the mean of
    their average precisions."""
    scores = precision_of(found, truths)
    own = {f"ap_{name}": value for name, value in scores.by_class.items() if name in kinds}
    own |= {f"recall_{name}": value for name, value in scores.recalls.items() if name in kinds}
    narrow = narrow_precision(found, truths)
    own |= {} if narrow is None else {f"ap_{NARROW}": narrow}
    return own | ({"map": scores.mean} if set(kinds) == set(CLASSES[1:]) else {})


def least_score_of(found: Sequence[Detections], truths: Sequence[Truth], kinds: Collection[str]) -> tuple[float, float]:
    """Returns the score of `GRID` from which on boxes have the best F1 = 2 · right / (found + true), and that F1.

    Boxes of the classes `kinds` count together, and others not at all; right is the first box to mean a true one, as in
    average precision (IoU at least 0.5). Of equal scores the least is taken.
    """
    numbers = [CLASSES.index(kind) for kind in kinds]
    counted = np.concatenate([np.isin(own.classes.numpy(), numbers) for own in found])
    scores = np.concatenate([own.scores.double().numpy() for own in found])[counted]
    right = np.concatenate([hits_of(*own) for own in zip(found, truths, strict=True)])[counted]
    true = sum(int(np.isin(truth.classes.numpy(), numbers).sum()) for truth in truths)
    kept = [scores >= least for least in GRID]
    rates = [2 * int(right[own].sum()) / max(int(own.sum()) + true, 1) for own in kept]
    return GRID[int(np.argmax(rates))], max(rates)


def scored_kinds(kinds: Collection[str], scored: str) -> Collection[str]:
    """Returns the classes that are scored of those that a detector finds."""
    return ("word",) if scored == "words" else kinds


def error_of(scores: Mapping[str, float], scored: str) -> float:
    """Returns 1 − average precision of words, or 1 − its mean over classes."""
    return 1.0 - (scores["ap_word"] if scored == "words" else scores["map"])


def hits_table(part: str, found: Sequence[Detections], truths: Sequence[Truth]) -> pd.DataFrame:
    """Returns a row a box that was found: part, form, class, score, whether it was the first to mean a true one,
    whether it counts among the narrower half of words, and its corners in pixels."""
    limit = median_width(truths)
    rows = [form_rows(part, form, *own, limit) for form, own in enumerate(zip(found, truths, strict=True))]
    return pd.concat(rows, ignore_index=True)


def form_rows(part: str, form: int, found: Detections, truth: Truth, limit: float) -> pd.DataFrame:
    """Returns the rows of one form. limit: the width of the widest narrow word."""
    columns = {"part": part, "form": form, "class": [CLASSES[kind] for kind in found.classes.tolist()],
               "score": found.scores.double().numpy(), "hit": hits_of(found, truth).astype(int),
               NARROW: narrow_of(found, truth, limit).astype(int)}  # fmt: skip
    return pd.DataFrame(columns | dict(zip(SIDES, found.boxes.double().numpy().T, strict=True)))


def truth_table(part: str, truths: Sequence[Truth]) -> pd.DataFrame:
    """Returns a row a form: how many true boxes of each class there are, and how many of the narrower half of
    words."""
    counts = np.stack([np.bincount(truth.classes.numpy(), minlength=len(CLASSES)) for truth in truths])
    table = pd.DataFrame(counts[:, 1:], columns=list(CLASSES[1:]))
    limit = median_width(truths)
    narrow = [len(truth_up_to(truth, limit).boxes) for truth in truths]
    return table.assign(**{NARROW: narrow}, part=part, form=range(len(truths)))
