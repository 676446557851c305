"""Where the letters of a written word stand, without a trained model: by the widths of letters and the valleys of ink.

A word's letters share its width in proportion to how wide each is as a rule, which a regression finds (width of the ink
≈ Σ of the widths of its letters, none negative). Cuts are moved to columns with little ink, at the least total cost

    Σ_i ((w_i − s·v_i) / (SPREAD·s·v_i + 1))² + VALLEY Σ_cuts √(ink at the cut / ink of a usual column)

w_i and v_i being the width of letter i in pixels and as a rule, and s the scale of the word; the best cuts are found
by dynamic programming.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from data.base import spread
from data.forms.pieces import letters_in
from data.word_images import WordImages

SPREAD, VALLEY = 0.35, 2.0
LEAST, MOST = 0.35, 2.2  # of the width of a letter in the word
FLOOR = 0.5  # a letter is at least this share of the mean width
ROUNDS, LEAST_SURE, LEAST_SEEN = 2, 0.4, 5  # of learning widths from letters that are found
MOST_LEARNED = 1500  # words that widths are learned from


class Spans(NamedTuple):
    """Holds where the letters of a word are. edges: int64 (letter + 1,), the columns between them. sure: for each
    letter, how sure it is, in [0, 1]."""

    edges: np.ndarray
    sure: np.ndarray


def extent(image: np.ndarray) -> tuple[int, int]:
    """Returns the first column with ink, and the one behind the last; 0 and 0 without ink."""
    columns = np.flatnonzero(letters_in(image).any(0))
    return (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 0)


def letter_widths(words: WordImages) -> dict[str, float]:
    """Returns how wide each letter is as a rule, as a share of the mean letter, from words at any scale."""
    letters = sorted({letter for text in words.texts for letter in text})
    place = {letter: i for i, letter in enumerate(letters)}
    counts = np.zeros((len(words), len(letters)))
    for row, text in enumerate(words.texts):
        for letter in text:
            counts[row, place[letter]] += 1
    ends = np.array([extent(image) for image in words.images()], np.float64)
    widths = (ends[:, 1] - ends[:, 0]) / words.shapes[:, 0]  # writers differ in size, images hardly in height
    found = nnls(counts, widths)[0]
    mean = float(counts.sum(0) @ found / counts.sum())
    return {letter: max(FLOOR, float(found[place[letter]]) / mean) for letter in letters}


def align(image: np.ndarray, text: str, widths: dict[str, float]) -> Spans | None:
    """Returns where the letters of a text are, None where the image is too narrow for them."""
    begin, end = extent(image)
    rule = np.array([widths.get(letter, 1.0) for letter in text])
    if end - begin < 2 * len(text):
        return None
    expected = rule * (end - begin) / rule.sum()
    ink = np.sqrt(letters_in(image)[:, begin:end].sum(0))  # thin joints weigh nearly as much as thick strokes
    usual = max(float(np.median(ink[ink > 0])), 1e-9)
    height = ink / usual
    found = best_cuts(expected, np.append(height, 0.0))
    if found is None:
        return None
    return Spans(begin + found, sureness(found, expected, height))


def best_cuts(expected: np.ndarray, height: np.ndarray) -> np.ndarray | None:
    """Returns the columns of the cheapest cuts, int64 (letter + 1,), the first 0 and the last the width; None where
    there are none. height: of the ink at each column, (width + 1,)."""
    width = len(height) - 1
    costs, back = np.full(width + 1, np.inf), list[np.ndarray]()
    costs[0] = 0.0
    for number, own in enumerate(expected):
        lengths = np.arange(max(1, int(LEAST * own)), int(MOST * own) + 3)
        starts = np.arange(width + 1)[:, None] - lengths
        into = np.where(starts >= 0, costs[np.maximum(starts, 0)], np.inf)
        into = into + np.square((lengths - own) / (SPREAD * own + 1))
        best = into.argmin(1)
        valley = VALLEY * height if number + 1 < len(expected) else np.zeros(width + 1)
        costs = into[np.arange(width + 1), best] + valley
        back.append(np.arange(width + 1) - lengths[best])
    if not np.isfinite(costs[width]):
        return None
    edges = [width]
    for own in reversed(back):
        edges.append(int(own[edges[-1]]))
    return np.array(edges[::-1])


def sureness(edges: np.ndarray, expected: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Returns how sure each letter is: 1 between two empty columns at its usual width, less where ink is cut."""
    at = np.concatenate([[0.0], height[edges[1:-1]], [0.0]])
    clean = np.clip(1 - at, 0, 1)
    fit = np.exp(-np.square(np.log(np.diff(edges) / expected)))
    return np.minimum(clean[:-1], clean[1:]) * fit


def aligned(words: WordImages, widths: dict[str, float]) -> list[Spans | None]:
    """Returns where the letters of each word are."""
    return [align(image, text, widths) for image, text in zip(words.images(), words.texts, strict=True)]


def learned_widths(words: WordImages) -> tuple[dict[str, float], list[Spans | None]]:
    """Returns how wide each letter is, learned in rounds from letters that are found, and where the letters are."""
    some, widths = words.at(spread(len(words), MOST_LEARNED)), letter_widths(words)
    for _ in range(ROUNDS):
        widths |= widths_in(some, aligned(some, widths))
    return widths, aligned(words, widths)


def widths_in(words: WordImages, found: Sequence[Spans | None]) -> dict[str, float]:
    """Returns the median width of each letter that is found surely and often, as a share of its word's mean."""
    seen = dict[str, list[float]]()
    for text, spans in zip(words.texts, found, strict=True):
        if spans is None:
            continue
        shares = np.diff(spans.edges) * len(text) / (spans.edges[-1] - spans.edges[0])
        for letter, share, sure in zip(text, shares.tolist(), spans.sure.tolist(), strict=True):
            if sure >= LEAST_SURE:
                seen.setdefault(letter, []).append(share)
    return {own: max(FLOOR, float(np.median(all_))) for own, all_ in seen.items() if len(all_) >= LEAST_SEEN}
