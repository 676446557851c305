"""STAND-IN for handwriting: words written by a program. Nothing in them is real.

A hand has a size, a slant, a pen and a way of its own to bend each letter. A letter's way (`data.forms.letters`) is
made of straight pieces; each becomes a stroke of the sigma-lognormal model, and as strokes overlap in time, corners
turn round.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from data.forms.letters import BLANK, movements_of
from data.greys import PAPER
from data.sigma_lognormal import MU, Stroke, movement
from data.word_images import WordImages

FINER = 3  # drawn that much larger, then averaged
MARGIN = 3  # pixels around a word
STAND_IN_HANDS, STAND_IN_EACH = 37, 12
STAND_IN_SIZE = (64, 256)
BEGINNINGS = (
    "Ober", "Unter", "Neu", "Alt", "Groß ", "Klein ", "Bad ", "Sankt ", "Hohen", "Nieder", "Am ", "Zur ", "An der ",
    "Quer", "Süd", "West",
)  # fmt: skip
MIDDLES = (
    "brück", "linden", "mühl", "eich", "buch", "wald", "stein", "rosen", "fisch", "kirch", "bären", "wolf", "jäger",
    "yster", "xanten", "vogel", "gärtner", "zoll", "pappel", "königs",
)  # fmt: skip
ENDS = (
    "hausen",
    "dorf",
    "berg",
    "weg",
    "tal",
    "feld",
    "au",
    "hof",
    "bach",
    "straße",
    "-Platz",
    "heim",
    " (Ost)",
    "stadt",
)

Path = np.ndarray  # float64 (point, 2), x to the right and y upwards


@dataclass(frozen=True, eq=False)
class Hand:
    """Holds how someone writes.

    size: pixels a unit of the letters' grid (small letters are four units high). width: of a unit of x to one of y.
    slant: shift in x per unit of y. pen: the pen's width in units. grey: of the ink. jitter: by how many units points
    are missed each time, own: and always, from a table drawn under `seed`. gap: units between letters. rise: of the
    base line, per unit of x. pace: seconds from stroke to stroke; the less, the rounder.
    """

    size: float
    width: float
    slant: float
    pen: float
    grey: int
    jitter: float
    own: float
    gap: float
    rise: float
    pace: float
    seed: int

    def habit(self, letter: str, points: int) -> np.ndarray:
        """Returns how the hand always bends a letter: shifts of its points, float64 (point, 2)."""
        return np.random.default_rng([self.seed, *map(ord, letter)]).normal(0, self.own, (points, 2))


def draw_hand(generator: np.random.Generator) -> Hand:
    """Draws a hand."""
    between = generator.uniform
    return Hand(
        size=between(3.4, 5.2), width=between(0.7, 1.1), slant=between(-0.15, 0.45), pen=between(0.3, 0.75),
        grey=int(generator.integers(20, 150)), jitter=between(0.08, 0.25), own=between(0.1, 0.45),
        gap=between(0.9, 2.0),
        rise=generator.normal(0, 0.02), pace=between(0.45, 0.85), seed=int(generator.integers(2**31)),
    )  # fmt: skip


def bent(points: np.ndarray, pace: float, generator: np.random.Generator) -> Path:
    """Returns the pen's way along some points by the sigma-lognormal model; a single point stays a dot."""
    steps = np.diff(points, axis=0)
    lengths = np.hypot(steps[:, 0], steps[:, 1])
    steps, lengths = steps[lengths > 0], lengths[lengths > 0]
    if not len(steps):
        return points[:1]
    angles = np.arctan2(steps[:, 1], steps[:, 0])
    turns = generator.normal(0, 0.2, len(angles))
    times = MU + generator.normal(0, 0.08, len(angles))
    strokes = [
        Stroke(pace * i, float(lengths[i]), angles[i] - turns[i], angles[i] + turns[i], float(times[i]))
        for i in range(len(angles))
    ]
    return movement(strokes, start=(float(points[0, 0]), float(points[0, 1])))


class Written(NamedTuple):
    """Holds the ways of a pen in pixels, y upwards, and for each the number of its character in the text."""

    paths: tuple[Path, ...]
    characters: tuple[int, ...]

    def moved(self, scale: float, shift: np.ndarray) -> Written:
        return Written(tuple(path * scale + shift for path in self.paths), self.characters)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the lowest and the highest x and y."""
        points = np.concatenate(self.paths)
        return points.min(0), points.max(0)


def write(text: str, hand: Hand, generator: np.random.Generator) -> Written:
    """Writes a text. Raises DataError for a letter that has no shape."""
    paths, characters, begin = list[Path](), list[int](), 0.0
    for number, letter in enumerate(text):
        if letter == " ":
            begin += BLANK + hand.gap
            continue
        parts = movements_of(letter)
        places = np.concatenate(parts)
        habit = hand.habit(letter, len(places)) + generator.normal(0, hand.jitter, places.shape)
        ends = np.cumsum([len(part) for part in parts])
        for points in np.split(places + habit, ends[:-1]):
            path = bent(points, hand.pace, generator)
            x = (path[:, 0] + begin) * hand.width
            paths.append(np.column_stack([x + hand.slant * path[:, 1], path[:, 1] + hand.rise * x]) * hand.size)
            characters.append(number)
        begin += float(places[:, 0].max()) + hand.gap * generator.lognormal(0, 0.15)
    return Written(tuple(paths), tuple(characters))


def drawn(paths: Sequence[Path], shape: tuple[int, int], *, pen: float, grey: int) -> np.ndarray:
    """Draws ways of a pen as uint8 (height, width). They are in pixels, y upwards from the lower edge. pen: its width
    in pixels."""
    height, width = shape
    image = Image.new("L", (width * FINER, height * FINER), PAPER)
    brush, across = ImageDraw.Draw(image), max(1, round(pen * FINER))
    for path in paths:
        points = np.rint((path * (1, -1) + (0, height)) * FINER).astype(int)
        moved = np.concatenate([[True], np.any(np.diff(points, axis=0) != 0, axis=1)])
        brush.line(points[moved].ravel().tolist(), fill=grey, width=across)
        for x, y in (points[0].tolist(), points[-1].tolist()):
            brush.ellipse((x - across // 2, y - across // 2, x + across // 2, y + across // 2), fill=grey)
    return np.array(image.reduce(FINER))


def write_word(
    text: str, hand: Hand, generator: np.random.Generator, *, shape: tuple[int, int] | None = None
) -> np.ndarray:
    """Returns an image of a word, uint8 (height, width): as large as the word, or of a shape that it is fitted to."""
    written = write(text, hand, generator)
    low, high = written.bounds()
    pen = max(1.0, hand.pen * hand.size)
    border = MARGIN + pen
    if shape is None:
        size = np.ceil(high - low + 2 * border).astype(int)
        return drawn(written.moved(1.0, border - low).paths, (int(size[1]), int(size[0])), pen=pen, grey=hand.grey)
    room = np.array(shape[::-1]) - 2 * border
    scale = min(1.0, *(room / np.maximum(high - low, 1e-9)))
    shift = border + generator.random(2) * (room - (high - low) * scale) - low * scale
    return drawn(written.moved(scale, shift).paths, shape, pen=max(1.0, pen * math.sqrt(scale)), grey=hand.grey)


def made_up_name(generator: np.random.Generator) -> str:
    """Returns a made-up name of a place."""
    begin, middle, end = (str(generator.choice(np.array(own))) for own in (BEGINNINGS, MIDDLES, ENDS))
    if generator.random() < 0.3:
        begin = ""
    if begin[-1:] == " " or not begin:
        middle = middle.capitalize()
    return begin + middle + end


def write_words(
    texts: Sequence[str], writers: Sequence[int], *, seed: int, shape: tuple[int, int] | None = None
) -> WordImages:
    """Returns an image of each text, written by the hand of that number; a hand is the same under the same seed.

    Raises DataError for a letter that has no shape.
    """
    hands: dict[int, Any] = {own: draw_hand(np.random.default_rng([seed, 0, own])) for own in sorted(set(writers))}
    images = [
        write_word(text, hands[own], np.random.default_rng([seed, 1, number]), shape=shape)
        for number, (text, own) in enumerate(zip(texts, writers, strict=True))
    ]
    return WordImages.of(images, texts, [f"hand {own}" for own in writers])


@functools.lru_cache(maxsize=4)  # jobs of a multirun ask for those of the same few seeds
def stand_in_words(*, seed: int, hands: int = STAND_IN_HANDS, each: int = STAND_IN_EACH) -> WordImages:
    """Returns images of 64 × 256 of made-up names, `each` by every one of some hands; kept for the next call."""
    generator = np.random.default_rng([seed, 2])
    writers = [own for own in range(hands) for _ in range(each)]
    return write_words([made_up_name(generator) for _ in writers], writers, seed=seed, shape=STAND_IN_SIZE)
