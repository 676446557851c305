"""Fills in one form: writes words along lines, adds what disturbs, and notes where all of it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from data.form_images import DATE, NO_ORDER, NOISE, SIGNATURE, STAMP, WORD, Form
from data.forms.ink import Ink
from data.forms.layers import INK, crossed_out, darkened, fading, fitted, ink_box, resized, shifted, slanted, with_gaps
from data.forms.layouts import Line, Plan, print_layer
from data.forms.scribbles import like_words, lost_word, noise, signature
from data.forms.stamps import stamp

LEAST_SEEN, LEAST_WORD_SEEN = 0.5, 0.9  # of the ink of a piece that is cut by the edge of the page
MOST_HIDDEN = 0.5  # of a box that another one may take
TRIES = 8
LEAST_HEIGHT = 0.65  # of its height, to which a word may shrink to fit


class Style(NamedTuple):
    """Holds what a page looks like. stamps, noises: the kinds that it may have. paper: the least and the greatest grey
    of the paper. grain: the same of its noise. table: whether it is a table in place of lines."""

    stamps: tuple[str, ...]
    noises: tuple[str, ...]
    paper: tuple[float, float]
    grain: tuple[float, float]
    table: bool


FIRST = Style(("ring", "frame"), ("blot", "arc", "strokes", "like_words"), (225, 255), (0, 8), table=False)
SECOND = Style(
    ("oval", "bare_words", "frame"), ("smudge", "hole", "arc", "like_words"), (190, 235), (4, 14), table=True
)


class Piece(NamedTuple):
    """Holds a piece of ink on a page: its layer, the place of its upper left corner, its class and what it says. line:
    for words, the number of its line."""

    layer: np.ndarray
    x: int
    y: int
    kind: int
    text: str = ""
    line: int = -1

    def cut(self, shape: tuple[int, int]) -> Piece:
        """Returns the part of the piece that is on a page of this shape (height, width)."""
        top, left = max(0, -self.y), max(0, -self.x)
        layer = self.layer[top : max(top, shape[0] - self.y), left : max(left, shape[1] - self.x)]
        return self._replace(layer=layer, x=self.x + left, y=self.y + top)

    def box(self) -> np.ndarray | None:
        """Returns the box around its ink, float32 (4,), None where there is none."""
        own = ink_box(self.layer) if self.layer.size else None
        return None if own is None else np.array(own, np.float32) + np.array([self.x, self.y] * 2, np.float32)


class Tilt(NamedTuple):
    """Holds how far each column of a page is moved down: a slope and a bow. down: int64 (column,)."""

    down: np.ndarray

    @classmethod
    def draw(cls, width: int, slant: float, generator: np.random.Generator) -> Tilt:
        """Draws a slope of up to `slant` degrees, and a bow."""
        x = np.linspace(-1, 1, width)
        slope = np.tan(np.radians(generator.uniform(-slant, slant) * generator.random())) * width / 2
        bow = generator.normal(0, 0.008) * width
        return cls(np.rint(slope * x + bow * x * x).astype(np.int64))

    def moved(self, layer: np.ndarray) -> np.ndarray:
        """Returns the layer of a whole page with its columns moved; what leaves the page is cut."""
        lowest = min(0, int(self.down.min()))
        return shifted(layer, self.down - lowest)[-lowest:][: layer.shape[0]]

    def at(self, x: int, width: int) -> np.ndarray:
        """Returns how far the columns from `x` on are moved down."""
        return self.down[np.clip(np.arange(x, x + width), 0, len(self.down) - 1)]


class Page:
    """Is a page that is being filled in. shape: height and width. plan: what is printed on it, and its lines."""

    def __init__(
        self,
        shape: tuple[int, int],
        plan: Plan,
        style: Style,
        ink: Ink,
        *,
        slant: float,
        generator: np.random.Generator,
    ) -> None:
        self.shape, self.plan, self.style, self.ink, self.generator = shape, plan, style, ink, generator
        self.scale = shape[0] / 480
        self.tilt = Tilt.draw(shape[1], slant, generator)
        self.height = generator.uniform(24, 40) * self.scale  # of the ink of this form's words
        self.pieces, self.boxes = list[Piece](), list[np.ndarray]()

    def chance(self, share: float) -> bool:
        return bool(self.generator.random() < share)

    def shade(self, layer: np.ndarray) -> np.ndarray:
        """Returns a layer as dark as ink may be: dark as a rule, faint now and then, or fading."""
        darkest = self.generator.uniform(45, 85) if self.chance(0.2) else self.generator.uniform(110, 235)
        own = darkened(layer, darkest)
        return fading(own, self.generator.uniform(0.35, 0.8), self.generator) if self.chance(0.15) else own

    def add(self, piece: Piece) -> bool:
        """Adds what of a piece is on the page, unless too little of it would be seen, or it hides too much."""
        cut = piece.cut(self.shape)
        box = cut.box()
        least = LEAST_WORD_SEEN if piece.kind == WORD else LEAST_SEEN
        if box is None or (cut.layer >= INK).sum() < least * (piece.layer >= INK).sum():
            return False
        if min(box[2] - box[0], box[3] - box[1]) < 3 or any(hides(box, other) for other in self.boxes):
            return False
        self.pieces.append(cut)
        self.boxes.append(box)
        return True

    def on_line(self, layer: np.ndarray, x: float, base: float, slope: float) -> tuple[np.ndarray, int, int]:
        """Returns a layer bent along a line, and the place where it goes. slope: beside that of the page."""
        width = layer.shape[1]
        down = self.tilt.at(round(x), width) + np.rint(slope * np.arange(width)).astype(np.int64)
        lift = int(down.min())
        return shifted(layer, down - lift), round(x), round(base) + lift - layer.shape[0]

    def word(self, room: float) -> tuple[np.ndarray, str] | None:
        """Returns a word that fits into a room, and what it says; None where chance finds only longer ones."""
        height = self.height * self.generator.uniform(0.85, 1.2)
        for _ in range(TRIES):
            layer, text = self.ink.word(self.generator)
            if layer.shape[1] * LEAST_HEIGHT * height <= room * layer.shape[0]:
                return self.as_written(layer, height, room), text
        return None

    def as_written(self, layer: np.ndarray, height: float, room: float) -> np.ndarray:
        """Returns the layer of a word as it is this time: slanted, wider, crossed out once, dark or faint."""
        if self.chance(0.15):
            layer = with_gaps(layer, max(2, layer.shape[0] // 4), self.generator)
        if self.chance(0.3):
            layer = slanted(layer, self.generator.uniform(-0.2, 0.4))
        own = fitted(layer, height, room)
        if self.chance(0.05):
            own = crossed_out(own, 1, self.generator)
        return self.shade(own)

    def fill(self, number: int, line: Line, most: int) -> None:
        """Writes words, and now and then a date or a scribble, on a line, until there are `most` pieces."""
        slope = float(self.generator.normal(0, 0.008))
        for begin, end in line.rooms:
            x = begin + self.generator.uniform(0, 0.25) * (end - begin)
            while end - x > 40 * self.scale and len(self.pieces) < most:
                found = self.written(end - x)
                if found is None:
                    break
                layer, kind, text = found
                sink = self.generator.uniform(-0.05, 0.25) * layer.shape[0]
                placed, left, top = self.on_line(layer, x, line.base + sink, slope)
                self.add(Piece(placed, left, top, kind, text, number if kind == WORD else -1))
                joined = self.chance(0.2)
                x += (
                    layer.shape[1]
                    + (self.generator.uniform(-3, 2) if joined else self.generator.uniform(5, 40)) * self.scale
                )
                if self.chance(0.12):
                    break

    def written(self, room: float) -> tuple[np.ndarray, int, str] | None:
        """Returns what comes next on a line: its layer, its class and what it says; None where nothing fits."""
        kind, height = self.generator.random(), self.height
        if kind < 0.08:
            layer, text = self.ink.date(self.generator)
            return self.shade(fitted(layer, height * self.generator.uniform(0.6, 1), room)), DATE, text
        if kind < 0.14:
            own = like_words(max(8, round(height)), self.generator)
            return self.shade(fitted(own, height, room)), NOISE, ""
        found = self.word(room)
        if found is None:
            return None
        layer, text = found
        return (lost_word(layer, self.generator), NOISE, "") if kind < 0.18 else (layer, WORD, text)

    def strew(self, kind: int) -> None:
        """Adds a signature, a stamp, a date or noise anywhere, partly over the edge now and then."""
        for _ in range(TRIES):
            layer, text = self.loose(kind)
            room = np.array(self.shape[::-1]) - np.array(layer.shape[::-1])
            over = 0.25 * np.array(layer.shape[::-1]) * self.chance(0.25)
            x, y = self.generator.uniform(-over, np.maximum(room + over, -over + 1))
            if self.add(Piece(layer, round(x), round(y), kind, text)):
                return

    def loose(self, kind: int) -> tuple[np.ndarray, str]:
        """Returns the layer of a piece that stands on no line, and what it says."""
        size, draw = self.scale, self.generator
        if kind == DATE:
            layer, text = self.ink.date(draw)
            return self.shade(fitted(layer, draw.uniform(16, 34) * size, 0.4 * self.shape[1])), text
        if kind == STAMP:
            return stamp(self.style.stamps, round(draw.uniform(60, 130) * size), draw), ""
        if kind == SIGNATURE:
            own = signature(round(draw.uniform(30, 60) * size), self.ink.word(draw)[0], draw)
            return self.shade(fitted(own, draw.uniform(28, 75) * size, 0.45 * self.shape[1])), ""
        own = noise(self.style.noises, round(draw.uniform(16, 70) * size), draw)
        return self.shade(fitted(own, own.shape[0], 0.6 * self.shape[1])), ""

    def paper(self) -> np.ndarray:
        """Returns the page with its print and without its ink, float32 (height, width), from 0 to 255."""
        draw, (height, width) = self.generator, self.shape
        low, high = np.sort(draw.uniform(*self.style.paper, 2))
        coarse = draw.uniform(low, high, (4, 5))
        page = resized(np.rint(coarse).astype(np.uint8), height, width).astype(np.float32)
        printed = print_layer(self.plan, self.shape, int(draw.integers(90, 230)))
        page *= 1 - self.tilt.moved(printed).astype(np.float32) / 255
        grain = draw.uniform(*self.style.grain)
        return page + grain * draw.standard_normal(self.shape, np.float32)

    def form(self) -> Form:
        """Returns the page as it is now."""
        page = self.paper()
        for piece in self.pieces:
            height, width = piece.layer.shape
            page[piece.y : piece.y + height, piece.x : piece.x + width] *= 1 - piece.layer.astype(np.float32) / 255
        boxes = np.array(self.boxes, np.float32).reshape(-1, 4)
        classes = np.array([piece.kind for piece in self.pieces], np.int64)
        texts = tuple(piece.text for piece in self.pieces)
        image = np.clip(np.rint(page), 0, 255).astype(np.uint8)
        characters = tuple(equal_parts(box, piece) for box, piece in zip(boxes, self.pieces, strict=True))
        return Form(image, boxes, classes, texts, self.order(boxes), characters)

    def order(self, boxes: np.ndarray) -> np.ndarray:
        """Returns the place of each word: by its line, then from left to right; −1 for what is no word."""
        order = np.full(len(boxes), NO_ORDER, np.int64)
        words = [i for i, piece in enumerate(self.pieces) if piece.kind == WORD]
        by_line = sorted(words, key=lambda i: (self.pieces[i].line, float(boxes[i, 0] + boxes[i, 2])))
        order[by_line] = np.arange(len(by_line))
        return order


def equal_parts(box: np.ndarray, piece: Piece) -> np.ndarray:
    """Returns the boxes of a word's characters, equal parts of its own, float32 (character, 4); else none."""
    if piece.kind != WORD:
        return np.empty((0, 4), np.float32)
    edges = np.linspace(box[0], box[2], len(piece.text) + 1)
    tops, bottoms = (np.full(len(piece.text), side) for side in (box[1], box[3]))
    return np.stack([edges[:-1], tops, edges[1:], bottoms], axis=1).astype(np.float32)


def hides(box: np.ndarray, other: np.ndarray) -> bool:
    """Returns whether one of two boxes takes too much of the other."""
    width, height = (min(box[i + 2], other[i + 2]) - max(box[i], other[i]) for i in (0, 1))
    if width <= 0 or height <= 0:
        return False
    least = min((own[2] - own[0]) * (own[3] - own[1]) for own in (box, other))
    return bool(width * height > MOST_HIDDEN * least)
