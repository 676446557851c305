"""The order in which the words of a form are read: lines from top to bottom, words from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

DIGITS = 6  # of a height on the form, in pixels: coarser than rounding
STEEPEST = 0.36  # slope of a form, 20 degrees; what neighbours of few words say may be far off


def reading_order(boxes: Any) -> np.ndarray:
    """Returns the boxes (box, 4) in the order in which they are read, int64 (box,): their numbers.

    A box is to the right of another one if its centre is, and the two share at least half of the lower one's height.
    Two boxes that are each other's nearest ones, to the right and to the left by the gap between them, follow each
    other; chains of such boxes are lines, which may bend. Lines are read by their mean height on the form, words by
    their centre. All this is done twice: the second time without the slope of the form, which is the median over all
    neighbours of the first lines. Columns side by side are read across, as fields of a form are.
    """
    whole = np.asarray(boxes, np.float64).reshape(-1, 4)
    centres = (whole[:, :2] + whole[:, 2:]) / 2
    falls = slope(centres, chains(*neighbours(whole))) * centres[:, :1]
    whole = (whole - np.concatenate([0 * falls, falls, 0 * falls, falls], 1)).round(DIGITS)
    lines = [sorted(line, key=lambda box: (centres[box, 0], box)) for line in chains(*neighbours(whole))]
    heights = whole[:, 1] + whole[:, 3]
    lines.sort(key=lambda line: (round(float(np.mean(heights[line])), DIGITS), centres[line[0], 0], line[0]))
    return np.array([box for line in lines for box in line], np.int64)


def neighbours(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the nearest box to the right and to the left of each, int64 (box,), -1 for none, the first of equal
    ones."""
    gaps = [gaps_to_the_right(boxes, box) for box in range(len(boxes))]
    right = np.array([int(own.argmin()) if np.isfinite(own).any() else -1 for own in gaps], np.int64)
    left, least = np.full(len(boxes), -1), np.full(len(boxes), np.inf)
    for box, own in enumerate(gaps):
        nearer = own < least
        left[nearer], least[nearer] = box, own[nearer]
    return right, left


def gaps_to_the_right(boxes: np.ndarray, box: int) -> np.ndarray:
    """Returns the gap between a box and each one to its right, (box,), negative where they overlap, and infinity for
    the others."""
    x0, y0, x1, y1 = boxes.T
    lower = np.minimum(y1 - y0, y1[box] - y0[box])
    shared = np.minimum(y1, y1[box]) - np.maximum(y0, y0[box])
    to_the_right = (x0 + x1 > x0[box] + x1[box]) & (2 * shared >= lower)
    return np.where(to_the_right, x0 - x1[box], np.inf)


def chains(right: np.ndarray, left: np.ndarray) -> list[list[int]]:
    """Returns the boxes of each line: those that are each other's nearest follow each other."""
    following = [int(after) if after >= 0 and left[after] == box else -1 for box, after in enumerate(right)]
    lines, firsts = list[list[int]](), sorted(set(range(len(right))) - set(following))
    for box in firsts:
        line = [box]
        while following[line[-1]] >= 0:
            line.append(following[line[-1]])
        lines.append(line)
    return lines


def slope(centres: np.ndarray, lines: Sequence[Sequence[int]]) -> float:
    """Returns how far lines fall for each pixel to the right: the median over neighbours in lines, within `STEEPEST`;
    0 without any."""
    steps = np.array([centres[after] - centres[box] for line in lines for box, after in pairwise(line)])
    return float(np.median(steps[:, 1] / steps[:, 0]).clip(-STEEPEST, STEEPEST)) if len(steps) else 0.0


def pairs_in_order(true: Sequence[Any], found: Sequence[Any]) -> float:
    """Returns the share of neighbours in the true order that follow each other in the order found too, 1 without any.

    Both hold distinct names of words; pairs with a word that was not found are lost.
    """
    after = dict(pairwise(found))
    pairs = list(pairwise(true))
    return sum(first in after and after[first] == second for first, second in pairs) / len(pairs) if pairs else 1.0
