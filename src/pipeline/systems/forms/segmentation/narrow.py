"""The narrower half of the words of a part: how well small words are found, beside all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from models.forms.detect.average_precision import curve, matches
from models.forms.detect.boxes import WORD, Detections, Truth

NARROW = "narrow_word"  # its average precision among the scores, and its column of tables
LEAST_OVERLAP = 0.5  # by which a detection means a true word, as for average precision


def median_width(truths: Sequence[Truth]) -> float:
    """Returns the median width of the true words in pixels; NaN where there is none."""
    widths = np.concatenate([np.empty(0), *(widths_of(own) for own in truths)])
    return float(np.median(widths)) if len(widths) else float("nan")


def widths_of(boxes: Truth | Detections) -> np.ndarray:
    """Returns the widths of the boxes that are words, float64 (word,)."""
    words = boxes.boxes[boxes.classes == WORD].cpu().double().numpy()
    return words[:, 2] - words[:, 0]


def narrow_of(found: Detections, truth: Truth, limit: float) -> np.ndarray:
    """Returns which detections of a form count among words that are at most `limit` pixels wide, bool (detection,):
    those that mean such a word, and those that mean none and are no wider. One that means a wider word counts
    nowhere."""
    words = found.classes == WORD
    own, there = found.at(words), truth.classes == WORD
    meant = matches(own, Truth(truth.boxes[there], truth.classes[there]), LEAST_OVERLAP)
    wide = np.append(widths_of(truth), np.nan)[meant]  # of -1, which means none, the last
    chosen = np.zeros(len(found.boxes), bool)
    chosen[words.cpu().numpy()] = np.where(meant >= 0, wide, widths_of(own)) <= limit
    return chosen


def narrow_precision(found: Sequence[Detections], truths: Sequence[Truth]) -> float | None:
    """Returns the average precision of the words that are no wider than the median; None where there is no word."""
    limit = median_width(truths)
    few = [own.at(torch.from_numpy(narrow_of(own, truth, limit))) for own, truth in zip(found, truths, strict=True)]
    narrow = [truth_up_to(truth, limit) for truth in truths]
    known = curve(few, narrow, WORD)
    return None if known is None else known.average()


def truth_up_to(truth: Truth, limit: float) -> Truth:
    """Returns the words of a form that are at most `limit` pixels wide."""
    words = truth.boxes[truth.classes == WORD]
    kept = words[words[:, 2].double() - words[:, 0].double() <= limit]
    return Truth(kept, truth.classes.new_full((len(kept),), WORD))
