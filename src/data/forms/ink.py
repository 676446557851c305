"""The ink of one part of the data: its words and digits, and what is made of them for a form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from data.forms.digits import Digits
from data.forms.hand import write_words
from data.forms.layers import of_image, put_on, resized, trimmed
from data.forms.letters import writable
from data.word_images import WordImages

KINDS = ("dhsd", "synthetic", "both")
SYNTHETIC_HANDS, MOST_SYNTHETIC = 37, 2000
LEAST_WIDTH = 2  # of a character in an image of a word, 64 pixels high
SEPARATORS = (".", "/", "-", " ")


class Ink(NamedTuple):
    """Holds the ink of a part: layers of words, what they say, and digits."""

    words: list[np.ndarray]
    texts: tuple[str, ...]
    digits: Digits

    def word(self, generator: np.random.Generator) -> tuple[np.ndarray, str]:
        """Returns the layer of a word, and what it says."""
        number = int(generator.integers(len(self.words)))
        return self.words[number], self.texts[number]

    def date(self, generator: np.random.Generator) -> tuple[np.ndarray, str]:
        """Returns the layer of a date, and what it says."""
        text = date_text(generator)
        parts = [
            separator(own, generator) if not own.isdigit() else self.digits.draw(int(own), generator) for own in text
        ]
        return row_of(parts, generator), text


def date_text(generator: np.random.Generator) -> str:
    """Returns a date in one of many forms."""
    day, month = int(generator.integers(1, 32)), int(generator.integers(1, 13))
    year = int(generator.integers(1950, 2026))
    mark = SEPARATORS[int(generator.integers(len(SEPARATORS)))]
    long = generator.random() < 0.5
    first, second = (f"{day:02d}", f"{month:02d}") if long else (str(day), str(month))
    return mark.join([first, second, str(year) if generator.random() < 0.6 else f"{year % 100:02d}"])


def separator(mark: str, generator: np.random.Generator) -> np.ndarray:
    """Returns the layer, 28 pixels high, of what parts the numbers of a date."""
    layer = np.zeros((28, 8), np.uint8)
    if mark == ".":
        layer[20:23, 3:6] = 255
    elif mark == "-":
        layer[14:16, 1:8] = 255
    elif mark == "/":
        rows = np.arange(3, 26)
        layer[rows, np.clip(7 - rows // 4 + int(generator.integers(0, 2)), 0, 7)] = 255
    return layer


def row_of(parts: list[np.ndarray], generator: np.random.Generator) -> np.ndarray:
    """Returns layers beside each other, each shifted up or down a little."""
    scaled = [
        part if part.shape[0] == 28 else resized(part, 22, round(part.shape[1] * 22 / part.shape[0])) for part in parts
    ]
    gaps = generator.integers(-6, 1, len(parts))
    width = sum(part.shape[1] for part in scaled) + 8
    layer, x = np.zeros((36, width), np.uint8), 4
    for part, gap in zip(scaled, gaps, strict=True):
        y = int(generator.integers(2, 6)) + (28 - part.shape[0]) // 2
        put_on(layer, part, x, y)
        x += part.shape[1] + int(gap)
    return trimmed(layer)


def legible(words: WordImages) -> WordImages:
    """Returns the images with ink enough for their text: at least `LEAST_WIDTH` pixels a character from its left edge
    to its right one. The others show a speck."""
    widths = [of_image(image).shape[1] for image in words.images()]
    pairs = enumerate(zip(widths, words.texts, strict=True))
    return words.at([i for i, (width, text) in pairs if width >= LEAST_WIDTH * len(text)])


def ink_of(words: WordImages, digits: Digits) -> Ink:
    """Returns the ink of images of words."""
    return Ink([of_image(image) for image in words.images()], words.texts, digits)


def joined(first: WordImages, second: WordImages) -> WordImages:
    """Returns the images of both, with their writers where both name them."""
    known = first.writers is not None and second.writers is not None
    writers = [*(first.writers or ()), *(second.writers or ())] if known else None
    return WordImages.of([*first.images(), *second.images()], [*first.texts, *second.texts], writers)


def training_words(words: WordImages, kind: str, *, seed: int, most: int | None = MOST_SYNTHETIC) -> WordImages:
    """Returns what is learned from. kind: "dhsd" takes the images as they are, "synthetic" what the stand-in hand makes
    of their texts, "both" both. most: texts that are written by that hand, the first ones; None for all."""
    if kind == "dhsd":
        return words
    texts = [text for text in words.texts if writable(text)][:most]
    written = write_words(texts, [i % SYNTHETIC_HANDS for i in range(len(texts))], seed=seed, shape=(64, 256))
    return written if kind == "synthetic" else joined(words, written)
