"""Ink apart from paper: what happens to a piece of writing before it is put onto a page.

A layer is how dark each pixel is, uint8 (height, width): 0 is no ink, 255 is black. What is below `INK` is too light to
be seen and counts for no box.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from data.greys import PAPER

INK = 24
Box = tuple[int, int, int, int]


def ink_box(layer: np.ndarray) -> Box | None:
    """Returns the box that touches the ink on every side, x0, y0, x1, y1, the last two exclusive; None without ink."""
    seen = layer >= INK
    rows, columns = np.flatnonzero(seen.any(1)), np.flatnonzero(seen.any(0))
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def trimmed(layer: np.ndarray) -> np.ndarray:
    """Returns a layer without the edges that have no ink; one without any ink is a single pixel."""
    box = ink_box(layer)
    if box is None:
        return np.zeros((1, 1), np.uint8)
    x0, y0, x1, y1 = box
    return layer[y0:y1, x0:x1]


def of_image(grey: np.ndarray) -> np.ndarray:
    """Returns the ink of an image of dark writing on white paper."""
    return trimmed(PAPER - grey)


def resized(layer: np.ndarray, height: int, width: int) -> np.ndarray:
    """Returns a layer of another size; pixels that are lost are averaged."""
    return np.array(Image.fromarray(layer).resize((max(1, width), max(1, height)), Image.Resampling.BILINEAR))


def fitted(layer: np.ndarray, height: float, most_width: float) -> np.ndarray:
    """Returns a layer of a height, or lower so that it is not too wide; its shape stays."""
    scale = min(height / layer.shape[0], most_width / layer.shape[1])
    return resized(layer, round(layer.shape[0] * scale), round(layer.shape[1] * scale))


def darkened(layer: np.ndarray, darkest: float) -> np.ndarray:
    """Returns a layer whose darkest pixel is that dark."""
    return np.minimum(layer * (darkest / max(1, int(layer.max()))), 255).astype(np.uint8)


def fading(layer: np.ndarray, least: float, generator: np.random.Generator) -> np.ndarray:
    """Returns a layer that fades to a share of its darkness towards one of its sides."""
    height, width = layer.shape
    along = np.linspace(1.0, least, width if generator.random() < 0.5 else height, dtype=np.float32)
    along = along[::-1] if generator.random() < 0.5 else along
    return (layer * (along if len(along) == width else along[:, None])).astype(np.uint8)


def shifted(layer: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Returns a layer of which each column is moved down by that many pixels, and as much higher as this needs.

    down: whole numbers of at least 0 (column,).
    """
    height, width = layer.shape
    moved = np.zeros((height + int(down.max()), width), np.uint8)
    rows = np.arange(height)[:, None] + down
    moved[rows, np.arange(width)] = layer
    return moved


def slanted(layer: np.ndarray, shear: float) -> np.ndarray:
    """Returns a layer whose rows are moved to the right by `shear` pixels a row, from the lowest one upwards."""
    right = np.rint(shear * np.arange(layer.shape[0])[::-1]).astype(int)
    return shifted(layer.T, right - right.min()).T


def rotated(layer: np.ndarray, degrees: float) -> np.ndarray:
    """Returns a layer turned against the clock, as much larger as this needs."""
    return np.array(Image.fromarray(layer).rotate(degrees, Image.Resampling.BILINEAR, expand=True))


def with_gaps(layer: np.ndarray, most: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a word with up to three of the gaps between its letters widened, each by up to `most` pixels."""
    empty = np.flatnonzero((layer < INK).all(0))
    if not len(empty):
        return layer
    places = generator.choice(empty, min(3, len(empty)), replace=False)
    counts = generator.integers(1, most + 1, len(places))
    return np.insert(layer, np.repeat(places, counts), 0, axis=1)


def crossed_out(layer: np.ndarray, strokes: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a word with strokes through it."""
    image = Image.fromarray(layer)
    brush = ImageDraw.Draw(image)
    height, width = layer.shape
    for _ in range(strokes):
        y0, y1 = generator.uniform(0.2, 0.85, 2) * height
        x0, x1 = generator.uniform(0, 0.15) * width, generator.uniform(0.85, 1) * width
        brush.line([x0, y0, x1, y1], fill=int(layer.max()), width=max(1, round(height / 16)))
    return np.array(image)


def smeared(layer: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns a layer with holes: ink that did not take everywhere."""
    height, width = layer.shape
    coarse = generator.random((height // 5 + 2, width // 5 + 2), np.float32)
    holes = resized((coarse * 255).astype(np.uint8), height, width)
    return np.where(holes < generator.uniform(50, 110), layer // 6, layer)


def put_on(layer: np.ndarray, other: np.ndarray, x: int, y: int) -> None:
    """Puts a layer onto another one with its corner there; what lies outside is cut, the darker of both is kept."""
    x0, y0 = max(0, x), max(0, y)
    x1, y1 = min(layer.shape[1], x + other.shape[1]), min(layer.shape[0], y + other.shape[0])
    if x1 > x0 and y1 > y0:
        own = layer[y0:y1, x0:x1]
        np.maximum(own, other[y0 - y : y1 - y, x0 - x : x1 - x], out=own)


@cache
def font_of(size: int) -> Any:
    """Returns Pillow's own font of a size in pixels."""
    return ImageFont.load_default(size)


@lru_cache(maxsize=20_000)
def printed(text: str, size: int) -> np.ndarray:
    """Returns black printed text, in Pillow's own font of that size in pixels; not to be written to."""
    font = font_of(size)
    left, top, right, bottom = (round(side) for side in font.getbbox(text))
    image = Image.new("L", (max(1, right - left), max(1, bottom - top)), 0)
    ImageDraw.Draw(image).text((-left, -top), text, fill=255, font=font)
    layer = np.array(image)
    layer.setflags(write=False)
    return layer
