"""Stamps: rings, ovals and frames with words, and bare words, pressed unevenly and askew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw

from data.forms.layers import darkened, printed, put_on, resized, rotated, smeared, trimmed

WORDS = (
    "EINGEGANGEN", "BEZAHLT", "KOPIE", "GEPRÜFT", "RECEIVED", "ORIGINAL", "APPROVED", "PAID", "ENTWURF", "STADTAMT",
    "BÜRGERBÜRO", "REGISTRY", "POST", "FILED", "ERLEDIGT", "NOTARIAT", "OFFICE", "ARCHIV",
)  # fmt: skip
Maker = Callable[[int, np.random.Generator], np.ndarray]


def word(generator: np.random.Generator) -> str:
    """Returns a word of a stamp."""
    return WORDS[int(generator.integers(len(WORDS)))]


def day(generator: np.random.Generator) -> str:
    """Returns a printed day."""
    year, month, own = 1950 + generator.integers(75), 1 + generator.integers(12), 1 + generator.integers(28)
    return f"{own:02d}.{month:02d}.{year}"


def text_of(text: str, size: float) -> np.ndarray:
    """Returns printed text of that size in pixels, at least 5."""
    return printed(text, max(5, round(size)))


def around(layer: np.ndarray, text: str, radius: float, size: float) -> None:
    """Puts a text around the middle of a layer, upright at its top."""
    middle = layer.shape[0] / 2
    step = min(2 * np.pi / max(1, len(text)), 0.95 * size / radius)
    for number, letter in enumerate(text):
        if letter == " ":
            continue
        angle = (number - (len(text) - 1) / 2) * step
        own = rotated(text_of(letter, size), -np.degrees(angle))
        x, y = middle + radius * np.sin(angle), middle - radius * np.cos(angle)
        put_on(layer, own, round(x - own.shape[1] / 2), round(y - own.shape[0] / 2))


def in_the_middle(layer: np.ndarray, text: str, size: float, y: float = 0.5) -> None:
    """Puts a text into the middle of a layer, at a share of its height."""
    own = text_of(text, size)
    put_on(layer, own, (layer.shape[1] - own.shape[1]) // 2, round(y * layer.shape[0] - own.shape[0] / 2))


def ring(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a round stamp: one or two rings, words around, and a word, a day or a star within."""
    image = Image.new("L", (size, size), 0)
    brush = ImageDraw.Draw(image)
    thick = max(1, round(size * generator.uniform(0.012, 0.035)))
    brush.ellipse((0, 0, size - 1, size - 1), outline=255, width=thick)
    inner = size * generator.uniform(0.24, 0.3)
    if generator.random() < 0.6:
        brush.ellipse((inner, inner, size - inner, size - inner), outline=255, width=max(1, thick // 2))
    layer = np.array(image)
    letters = size * generator.uniform(0.11, 0.15)
    around(layer, f"{word(generator)} {word(generator)}", size * 0.39, letters)
    in_the_middle(layer, day(generator)[:6] if generator.random() < 0.5 else word(generator)[:4], size * 0.13)
    return layer


def oval(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns an oval stamp with a word and a day."""
    layer = ring(size, generator) if generator.random() < 0.3 else bare_ring(size, generator)
    return resized(layer, round(size * generator.uniform(0.5, 0.7)), round(size * 1.3))


def bare_ring(size: int, generator: np.random.Generator) -> np.ndarray:
    image = Image.new("L", (size, size), 0)
    ImageDraw.Draw(image).ellipse((0, 0, size - 1, size - 1), outline=255, width=max(1, size // 30))
    layer = np.array(image)
    in_the_middle(layer, word(generator), size * 0.11, 0.4)
    in_the_middle(layer, day(generator), size * 0.1, 0.62)
    return layer


def frame(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a stamp of one to three lines of words in a frame, single or double."""
    lines = [word(generator), day(generator), word(generator)][: int(generator.integers(1, 4))]
    texts = [text_of(text, size * generator.uniform(0.16, 0.22)) for text in lines]
    edge = max(3, size // 14)
    width = max(text.shape[1] for text in texts) + 4 * edge
    height = sum(text.shape[0] + edge for text in texts) + 3 * edge
    image = Image.new("L", (width, height), 0)
    brush, thick = ImageDraw.Draw(image), max(1, size // 45)
    brush.rectangle((0, 0, width - 1, height - 1), outline=255, width=thick)
    if generator.random() < 0.4:
        brush.rectangle((2 * thick, 2 * thick, width - 1 - 2 * thick, height - 1 - 2 * thick), outline=255)
    layer, y = np.array(image), 2 * edge
    for text in texts:
        put_on(layer, text, (width - text.shape[1]) // 2, y)
        y += text.shape[0] + edge
    return layer


def bare_words(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a stamp of one large word, with or without a line below it."""
    text = text_of(word(generator), size * generator.uniform(0.22, 0.34))
    layer = np.zeros((text.shape[0] + 6, text.shape[1]), np.uint8)
    put_on(layer, text, 0, 0)
    if generator.random() < 0.5:
        layer[-2:] = 255
    return layer


MAKERS: dict[str, Maker] = {"ring": ring, "oval": oval, "frame": frame, "bare_words": bare_words}


def stamp(kinds: tuple[str, ...], size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a stamp of one of the kinds, `size` pixels wide or so: askew, uneven, and often faint."""
    layer = MAKERS[kinds[int(generator.integers(len(kinds)))]](size, generator)
    layer = rotated(layer, float(generator.normal(0, 12)))
    if generator.random() < 0.7:
        layer = smeared(layer, generator)
    if generator.random() < 0.4:  # pressed on one side
        layer = (layer * np.linspace(1, generator.uniform(0.2, 0.7), layer.shape[1], dtype=np.float32)).astype(np.uint8)
    return trimmed(darkened(layer, generator.uniform(60, 210)))
