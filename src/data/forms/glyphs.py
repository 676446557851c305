"""Letters cut out of real words, and new words that are composed of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from data.base import DataError
from data.forms.alignment import Spans, learned_widths
from data.forms.layers import darkened, put_on, resized, trimmed
from data.forms.pieces import letters_in
from data.greys import PAPER
from data.word_images import WordImages

LEAST_SURE = 0.6
LEAST_EXAMPLES = 20  # of a letter that words may be composed of
BODY = 18  # pixels from the base line to the top of small letters
STRETCH = (0.5, 2.0)  # how much a glyph may be scaled for that
CROWDED = 0.5  # a row is of the body of a word if it has this share of the ink of the fullest row
GRID, SIEVES, NEAREST = 12, 3, 2
MARGIN = 4


class Glyph(NamedTuple):
    """Holds a letter. layer: its ink, small letters being `BODY` pixels high. below: how many of its rows lie below the
    base line, negative for one that ends above it. writer: who wrote it, "" where that is not known. sure: how surely
    it was cut."""

    layer: np.ndarray
    below: int
    writer: str
    sure: float


def body_of(image: np.ndarray) -> tuple[int, int]:
    """Returns the rows of the small letters of a word: the first, and the first below the base line."""
    rows = letters_in(image).sum(1)
    full = np.flatnonzero(rows >= CROWDED * rows.max())
    return int(full[0]), int(full[-1]) + 1


def glyphs_in(image: np.ndarray, spans: Spans, writer: str) -> list[Glyph]:
    """Returns the letters of a word, in order."""
    top, base = body_of(image)
    scale = float(np.clip(BODY / max(1, base - top), *STRETCH))
    found = list[Glyph]()
    for begin, end, sure in zip(spans.edges, spans.edges[1:], spans.sure, strict=False):
        ink = np.where(letters_in(image)[:, begin:end], PAPER - image[:, begin:end], 0).astype(np.uint8)
        rows, layer = np.flatnonzero(ink.any(1)), trimmed(ink)
        lowest = int(rows[-1]) + 1 if len(rows) else base
        own = resized(layer, round(layer.shape[0] * scale), round(layer.shape[1] * scale))
        found.append(Glyph(own, round((lowest - base) * scale), writer, float(sure)))
    return found


def features(glyph: Glyph) -> np.ndarray:
    """Returns what a letter looks like: its ink on a coarse grid, its size and its place, float64 (feature,)."""
    coarse = resized(darkened(glyph.layer, 255), GRID, GRID) / 255
    height, width = glyph.layer.shape
    return np.concatenate([coarse.ravel() / GRID * 3, [height / BODY, width / BODY, glyph.below / BODY]])


def agreeing(glyphs: dict[str, list[Glyph]]) -> dict[str, list[Glyph]]:
    """Returns the glyphs that look like their letter: the mean of their letter is among the `NEAREST` nearest of all
    letters' means. What an aligner cut at a wrong place looks like another letter, or like none."""
    kept = {letter: [(glyph, features(glyph)) for glyph in own] for letter, own in glyphs.items()}
    for _ in range(SIEVES):
        letters = sorted(letter for letter, own in kept.items() if own)
        means = np.array([np.mean([seen for _, seen in kept[letter]], axis=0) for letter in letters])
        for place, letter in enumerate(letters):
            seen = np.array([own for _, own in kept[letter]])
            distances = np.square(seen[:, None] - means).sum(-1)
            nearer = (distances < distances[:, [place]]).sum(1)
            kept[letter] = [own for own, rank in zip(kept[letter], nearer, strict=True) if rank < NEAREST]
    return {letter: [glyph for glyph, _ in own] for letter, own in kept.items() if own}


class Alphabet(NamedTuple):
    """Holds the glyphs of each letter, and the mean sureness of all letters that were looked at."""

    glyphs: dict[str, list[Glyph]]
    sure: float

    @classmethod
    def of(
        cls, words: WordImages, spans: Sequence[Spans | None] | None = None, *, least: float = LEAST_SURE
    ) -> Alphabet:
        """Cuts letters out of words without blanks, and keeps those that are sure.

        spans: where the letters are, as an aligner found them; None: as `data.forms.alignment` finds them.
        """
        places = learned_widths(words)[1] if spans is None else spans
        glyphs, sure = dict[str, list[Glyph]](), list[float]()
        for row, (text, own) in enumerate(zip(words.texts, places, strict=True)):
            if own is None:
                continue
            sure += own.sure.tolist()
            for letter, glyph in zip(
                text, glyphs_in(words.image(row), own, (words.writers or {row: ""})[row]), strict=True
            ):
                if glyph.sure >= least and min(glyph.layer.shape) > 1:
                    glyphs.setdefault(letter, []).append(glyph)
        return cls(agreeing(glyphs), float(np.mean(sure)) if sure else 0.0)

    def letters(self, least: int = LEAST_EXAMPLES) -> frozenset[str]:
        """Returns the letters with at least so many glyphs."""
        return frozenset(letter for letter, own in self.glyphs.items() if len(own) >= least)

    def chosen(self, text: str, generator: np.random.Generator) -> list[Glyph]:
        """Returns a glyph for each letter, of one writer as far as there is one who has them. Raises DataError for a
        letter without a glyph."""
        lacking = next((letter for letter in text if letter not in self.glyphs), None)
        if lacking is not None:
            raise DataError(f"{text!r} cannot be composed: no glyph of {lacking!r} was cut; leave the word out")
        first = self.glyphs[text[0]]
        writer = first[int(generator.integers(len(first)))].writer
        found = list[Glyph]()
        for letter in text:
            own = [glyph for glyph in self.glyphs[letter] if glyph.writer == writer] or self.glyphs[letter]
            found.append(own[int(generator.integers(len(own)))])
        return found

    def write(self, text: str, generator: np.random.Generator) -> np.ndarray:
        """Returns an image of a word, uint8 (height, width). Raises DataError for a letter without a glyph."""
        glyphs = self.chosen(text, generator)
        gaps = generator.integers(-1, 4, len(glyphs))
        above = max(glyph.layer.shape[0] - glyph.below for glyph in glyphs)
        below = max(0, *(glyph.below for glyph in glyphs)) if len(glyphs) > 1 else max(0, glyphs[0].below)
        width = sum(glyph.layer.shape[1] + max(0, int(gap)) for glyph, gap in zip(glyphs, gaps, strict=True))
        layer, x = np.zeros((above + below + 2 * MARGIN, width + 2 * MARGIN), np.uint8), MARGIN
        dark = generator.uniform(130, 230)
        for glyph, gap in zip(glyphs, gaps.tolist(), strict=True):
            put_on(layer, darkened(glyph.layer, dark), x, MARGIN + above + glyph.below - glyph.layer.shape[0])
            x += glyph.layer.shape[1] + gap
        return PAPER - np.pad(trimmed(layer), MARGIN)
