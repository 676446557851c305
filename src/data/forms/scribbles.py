"""What a pen and a page bring beside words: signatures, scribbles, blots, arcs and smudges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage

from data.forms.hand import Hand, drawn, made_up_name, write
from data.forms.layers import crossed_out, of_image, resized, slanted, trimmed
from data.sigma_lognormal import Stroke, movement

Maker = Callable[[int, np.random.Generator], np.ndarray]


def as_layer(paths: list[np.ndarray], pen: float) -> np.ndarray:
    """Draws ways of a pen, in pixels with y upwards, wherever they are."""
    points = np.concatenate(paths)
    low, high = points.min(0), points.max(0)
    width, height = np.ceil(high - low + 2 * pen + 4).astype(int)
    return of_image(drawn([path - low + pen + 2 for path in paths], (int(height), int(width)), pen=pen, grey=0))


def swings(count: int, size: float, generator: np.random.Generator, *, drift: float, pace: float = 0.55) -> np.ndarray:
    """Returns a movement up and down that goes to the right, by the sigma-lognormal model."""
    strokes = list[Stroke]()
    for number in range(count):
        upwards = 1 if number % 2 else -1
        angle = upwards * generator.uniform(0.9, 1.6) * (1 - drift) + generator.normal(0, 0.25)
        turn = upwards * generator.normal(0.8, 0.7)
        length, time = size * generator.lognormal(-0.2, 0.5), -0.3 + generator.normal(0, 0.1)
        strokes.append(Stroke(pace * number, length, angle - turn, angle + turn, time))
    return movement(strokes, start=(0.0, 0.0))


def flourish(width: float, generator: np.random.Generator) -> np.ndarray:
    """Returns a long stroke to the right, perhaps back again."""
    strokes = [Stroke(0.0, width * generator.uniform(0.7, 1.3), generator.normal(0, 0.2), generator.normal(0, 0.3))]
    if generator.random() < 0.5:
        back = np.pi + generator.normal(0, 0.2)
        strokes.append(Stroke(0.8, width * generator.uniform(0.5, 1), back, back + generator.normal(0, 0.3)))
    return movement(strokes, start=(0.0, 0.0))


def swung(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a signature of swings and a flourish."""
    paths, begin = list[np.ndarray](), 0.0
    for part in range(int(generator.integers(1, 4))):
        height = size * (generator.uniform(0.6, 1.1) if part == 0 else generator.uniform(0.2, 0.5))
        own = swings(int(generator.integers(3, 10)), height, generator, drift=generator.uniform(0.1, 0.5))
        paths.append(own - own.min(0) + (begin, generator.uniform(0, 0.3) * size))
        begin = float(paths[-1][:, 0].max()) + generator.uniform(-0.2, 0.3) * size
    if generator.random() < 0.6:
        paths.append(flourish(max(begin, size), generator) + np.array([0, generator.uniform(-0.2, 0.3) * size]))
    return as_layer(paths, max(1.0, size * generator.uniform(0.02, 0.06)))


def named(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a signature that is a hasty name with a flourish."""
    hand = Hand(
        size=size / 8, width=generator.uniform(0.6, 1.2), slant=generator.uniform(0, 0.8),
        pen=generator.uniform(0.2, 0.6),
        grey=0, jitter=0.6, own=0.6, gap=generator.uniform(-0.6, 0.5), rise=generator.normal(0.05, 0.08),
        pace=generator.uniform(0.2, 0.45), seed=int(generator.integers(2**31)),
    )  # fmt: skip
    paths = list(write(made_up_name(generator)[: int(generator.integers(4, 9))].strip(), hand, generator).paths)
    width = float(np.concatenate(paths)[:, 0].max())
    paths.append(flourish(width, generator) + np.array([0, generator.uniform(-0.1, 0.3) * size]))
    return as_layer(paths, max(1.0, hand.pen * hand.size))


def signature(size: int, word: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns a signature about `size` pixels high: swings, a hasty name, or a slanted piece of a word with a flourish.

    word: the layer of a word.
    """
    kind = generator.random()
    if kind < 0.5:
        return swung(size, generator)
    if kind < 0.75:
        return named(size, generator)
    cut = word[:, : max(8, int(word.shape[1] * generator.uniform(0.3, 0.6)))]
    own = slanted(resized(cut, round(size * 0.7), round(cut.shape[1] * size * 0.7 / cut.shape[0])), 0.5)
    line = as_layer([flourish(own.shape[1], generator)], max(1.0, size * 0.04))
    line = resized(line, min(line.shape[0], size // 3), own.shape[1])
    return trimmed(np.maximum(np.pad(own, ((0, size // 4), (0, 0))), fitted_below(line, own.shape[0] + size // 4)))


def fitted_below(line: np.ndarray, height: int) -> np.ndarray:
    """Returns a layer of that height with a lower one at its bottom."""
    return np.pad(line, ((height - line.shape[0], 0), (0, 0)))


def like_words(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a scribble as long and as high as a word."""
    count = int(generator.integers(8, 24))
    return as_layer(
        [swings(count, size * 0.55, generator, drift=0.3, pace=0.85)], max(1.0, size * generator.uniform(0.04, 0.1))
    )


def blot(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a blot of ink."""
    own = max(8, size)
    cloud = ndimage.gaussian_filter(generator.random((own, own), np.float32), own / 8)
    ys, xs = np.mgrid[-1 : 1 : own * 1j, -1 : 1 : own * 1j]
    inside = cloud - cloud.mean() > 0.12 * (xs**2 + ys**2) - 0.05
    return trimmed(np.where(inside & (xs**2 + ys**2 < 1), 255, 0).astype(np.uint8))


def arc(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns a part of a ring, as a cup leaves it."""
    begin, width = generator.uniform(0, 2 * np.pi), generator.uniform(1.5, 6)
    angles = np.linspace(begin, begin + width, 60)
    path = size * np.column_stack([np.cos(angles), generator.uniform(0.7, 1) * np.sin(angles)])
    return as_layer([path], max(1.5, size * generator.uniform(0.03, 0.12)))


def smudge(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns specks close together."""
    own = max(8, size)
    near = np.exp(-3 * np.square(np.linspace(-1, 1, own, dtype=np.float32)))
    specks = generator.random((own, own), np.float32) < 0.35 * near * near[:, None]
    return trimmed(np.where(specks, 200, 0).astype(np.uint8))


def strokes(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns some long strokes, as of a pen that is tried out, or of a field that is crossed out."""
    paths = [
        flourish(2 * size, generator) + generator.normal(0, size / 5, 2) for _ in range(int(generator.integers(1, 5)))
    ]
    return as_layer(paths, max(1.0, size * generator.uniform(0.02, 0.06)))


def hole(size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns the shadow of a punched hole or of a staple."""
    own = max(6, size // 3)
    if generator.random() < 0.5:
        return np.full((max(2, own // 6), own), 220, np.uint8)
    ys, xs = np.mgrid[-1 : 1 : own * 1j, -1 : 1 : own * 1j]
    return np.where(xs**2 + ys**2 < 1, 200, 0).astype(np.uint8)


MAKERS: dict[str, Maker] = {
    "like_words": like_words, "blot": blot, "arc": arc, "smudge": smudge, "strokes": strokes, "hole": hole,
}  # fmt: skip


def noise(kinds: tuple[str, ...], size: int, generator: np.random.Generator) -> np.ndarray:
    """Returns noise of one of the kinds, about `size` pixels high."""
    return trimmed(MAKERS[kinds[int(generator.integers(len(kinds)))]](size, generator))


def lost_word(word: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Returns a word that is crossed out so often that it counts as noise."""
    return crossed_out(word, int(generator.integers(4, 8)), generator)
