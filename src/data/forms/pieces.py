"""Words cut out of images of several: at the widest gaps, and only where these leave no doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from data.base import DataError
from data.forms.layers import INK, trimmed
from data.greys import PAPER
from data.word_images import HandwrittenWords, WordImages

VOCABULARIES = ("strings", "parts")
RULED = 0.6  # a row with ink in more than this share of the columns is a line below the word
LOWER = 0.7  # of the ink is above such a line
MOST_RULED = 0.3  # of the rows with ink: more than this is no line
LEAST_LEAD = 1.35  # how much wider the narrowest gap at a blank must be than the widest one within a word
MOST_STRETCH = 1.6  # of the width of a character in a part to that in the whole
MARGIN = 2  # pixels of paper around a part


def letters_in(image: np.ndarray) -> np.ndarray:
    """Returns where an image has ink that is of no line below the word, bool (height, width)."""
    ink = image <= PAPER - INK
    wide = np.flatnonzero(ink.any(0))
    if not len(wide):
        return ink
    rows = ink.sum(1)
    ruled = rows > RULED * (wide[-1] - wide[0] + 1)
    ruled[: int(np.searchsorted(rows.cumsum(), LOWER * rows.sum())) + 1] = False
    return ink if ruled.sum() > MOST_RULED * ink.any(1).sum() else ink & ~ruled[:, None]


def gaps_of(ink: np.ndarray) -> list[tuple[int, int]]:
    """Returns the columns without ink between others that have some, each gap as begin and end, the widest first."""
    columns = np.flatnonzero(ink.any(0))
    found = [(int(last) + 1, int(first)) for last, first in pairwise(columns) if first > last + 1]
    return sorted(found, key=lambda gap: (gap[0] - gap[1], gap[0]))


def cuts(image: np.ndarray, text: str) -> list[tuple[int, int]] | None:
    """Returns begin and end of the columns of each part of a text, between blanks; None where this is in doubt."""
    parts = text.split(" ")
    ink = letters_in(image)
    columns, gaps = np.flatnonzero(ink.any(0)), gaps_of(ink)
    if not len(columns) or len(gaps) < len(parts) - 1:
        return None
    chosen, rest = gaps[: len(parts) - 1], gaps[len(parts) - 1 :]
    if chosen and rest and chosen[-1][1] - chosen[-1][0] < LEAST_LEAD * (rest[0][1] - rest[0][0]):
        return None
    edges = [int(columns[0]), *(side for gap in sorted(chosen) for side in gap), int(columns[-1]) + 1]
    found = list(zip(edges[::2], edges[1::2], strict=True))
    widths = np.array([end - begin for begin, end in found]) / np.array([len(part) for part in parts])
    mean = sum(end - begin for begin, end in found) / sum(map(len, parts))
    return found if (widths < MOST_STRETCH * mean).all() and (widths * MOST_STRETCH > mean).all() else None


def cropped(image: np.ndarray, begin: int, end: int) -> np.ndarray:
    """Returns some columns of an image, without the paper above, below and beside their ink but for a margin."""
    layer = trimmed(PAPER - image[:, begin:end])
    return PAPER - np.pad(layer, MARGIN)


def parts_of(words: WordImages) -> tuple[WordImages, float]:
    """Returns an image of each part of each text that can be cut out, and the share of the images that can be cut."""
    images, texts, rows = list[np.ndarray](), list[str](), list[int]()
    for row, (image, text) in enumerate(zip(words.images(), words.texts, strict=True)):
        found = cuts(image, text)
        for (begin, end), part in zip(found or (), text.split(" ") if found else (), strict=True):
            images.append(cropped(image, begin, end))
            texts.append(part)
            rows.append(row)
    writers = None if words.writers is None else [words.writers[row] for row in rows]
    return WordImages.of(images, texts, writers), len(set(rows)) / len(words)


def with_texts(words: WordImages, known: set[str]) -> WordImages:
    """Returns the images that say one of some texts."""
    return words.at([i for i, text in enumerate(words.texts) if text in known])


def vocabulary_of(texts: Sequence[str], least: int) -> tuple[str, ...]:
    """Returns the texts that stand at least that often, by the alphabet."""
    return tuple(sorted(text for text, count in Counter(texts).items() if count >= least))


def in_parts(data: HandwrittenWords, least: int) -> HandwrittenWords:
    """Returns the parts between blanks in place of whole strings: of every part of the data those texts that at least
    `least` training images say; 1 keeps all, those too that training lacks.

    Raises DataError where a part of the data keeps no image.
    """
    found = {name: parts_of(own) for name, own in data.parts.items()}
    parts: Mapping[str, WordImages] = {name: words for name, (words, _) in found.items()}
    if least > 1:
        known = set(vocabulary_of(parts["train"].texts, least))
        parts = {name: with_texts(own, known) for name, own in parts.items()}
    if not all(map(len, parts.values())):
        raise DataError(f"{data.name}: least={least} leaves a part of the data without a word; lower it")
    shares = {f"cut_{name}": share for name, (_, share) in found.items()}
    return replace(data, parts=parts, counts={**data.counts, **shares, "vocabulary": len(set(parts["train"].texts))})
