"""Pen movements from the sigma-lognormal model, of which stand-ins for handwriting are made; nothing in them is real.

A movement is a sum of strokes that overlap in time (Plamondon 1995, A kinematic theory of rapid human movements;
O'Reilly and Plamondon 2009). Stroke i begins at t_i, its speed is D_i times a lognormal density, and its direction
turns along an arc from θs_i to θe_i. With z = (ln(t − t_i) − μ_i)/σ_i and Φ the normal distribution function:

    |v_i(t)| = D_i exp(−z²/2) / (σ_i √(2π) (t − t_i))
    φ_i(t)   = θs_i + (θe_i − θs_i) Φ(z)
    p(t)     = p_0 + Σ_i ∫ |v_i| (cos φ_i, sin φ_i) dt

Φ(z) is the share of the stroke's length that is done, and φ_i is linear in it: a circle's arc. So the integral is its
chord, with s = Φ(z) and δ = (θe_i − θs_i) s:   D_i s · sin(δ/2)/(δ/2) · (cos, sin)(θs_i + δ/2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

STEP = 0.1  # s, sampling interval of the tablet
MU, SIGMA = -0.3, 0.3  # of a stroke at pace 1: half of it is done after exp(MU) s
SPACING = 1.0  # s from stroke to stroke at pace 1
Numbers = float | np.ndarray
TAIL = 2.5  # a movement is recorded from z = -TAIL of its first stroke to z = TAIL of its last


class Stroke(NamedTuple):
    """Holds one stroke: begin (s), distance D, angles at start and end (rad), and the lognormal's μ and σ (of the
    time in s)."""

    begin: Numbers
    distance: Numbers
    start_angle: Numbers
    end_angle: Numbers
    mu: Numbers = MU
    sigma: Numbers = SIGMA


class Template(NamedTuple):
    """Holds a pen-down movement: where it starts in the box of 1 × 1, and its strokes as (distance, start, end
    angle in degrees)."""

    start: tuple[float, float]
    strokes: tuple[tuple[float, float, float], ...]


class Hand(NamedTuple):
    """Holds a writer's size (tablet units), slant (shift in x per unit of y) and pace (all times are multiplied by
    it)."""

    size: float
    slant: float
    pace: float


# Own designs: each digit is one or two pen-down movements.
DIGITS: dict[str, tuple[Template, ...]] = {
    "0": (Template((0.5, 0.9), ((0.85, 200, 340), (0.85, 20, 160))),),
    "1": (Template((0.35, 0.7), ((0.3, 50, 45), (0.85, -92, -88))),),
    "2": (Template((0.25, 0.7), ((0.6, 70, -80), (0.6, -110, -140), (0.5, 0, 0))),),
    "3": (Template((0.3, 0.85), ((0.6, 40, -140), (0.7, 10, -200))),),
    "4": (Template((0.5, 0.9), ((0.6, -115, -120), (0.55, 0, 0))), Template((0.6, 0.6), ((0.55, -90, -90),))),
    "5": (Template((0.35, 0.85), ((0.35, -90, -90), (0.95, 40, -210))), Template((0.35, 0.85), ((0.4, 0, 5),))),
    "6": (Template((0.65, 0.9), ((0.9, 215, 300), (0.75, 0, 250))),),
    "7": (Template((0.25, 0.85), ((0.5, 0, 0), (0.85, -110, -115))),),
    "8": (Template((0.5, 0.9), ((0.63, 180, 360), (0.63, 0, -180), (0.63, 180, 0), (0.63, 0, 180))),),
    "9": (Template((0.65, 0.75), ((0.9, 130, 490), (0.75, -88, -100))),),
}


def displacement(stroke: Stroke, times: np.ndarray) -> np.ndarray:
    """Returns the way from the stroke's first point, (time, 2), in the unit of its distance; it is 0 before the
    stroke begins. What the stroke holds may be arrays (stroke, 1) too: the way is then (stroke, time, 2)."""
    passed = np.maximum(times - stroke.begin, np.finfo(float).tiny)
    share = ndtr((np.log(passed) - stroke.mu) / stroke.sigma)
    turned = (stroke.end_angle - stroke.start_angle) * share
    chord = stroke.distance * share * np.sinc(turned / (2 * np.pi))
    direction = stroke.start_angle + turned / 2
    return chord[..., None] * np.stack([np.cos(direction), np.sin(direction)], axis=-1)


def movement(strokes: Sequence[Stroke], *, start: tuple[float, float]) -> np.ndarray:
    """Returns positions (time, 2) every 100 ms while the strokes, in order of their begin, are under way."""
    first, last = strokes[0], strokes[-1]
    begin = float(first.begin + np.exp(first.mu - TAIL * first.sigma))
    times = np.arange(begin, float(last.begin + np.exp(last.mu + TAIL * last.sigma)), STEP)
    together = Stroke(*np.array(strokes).T[:, :, None])
    return np.asarray(start) + displacement(together, times).sum(axis=0)


def draw_hand(generator: np.random.Generator) -> Hand:
    return Hand(generator.uniform(180, 280), generator.uniform(-0.2, 0.3), generator.uniform(1.2, 1.8))


def write_digit(label: str, hand: Hand, generator: np.random.Generator) -> list[np.ndarray]:
    """Writes a digit "0" to "9" as strokes (point, 2) in whole tablet units, one a pen-down movement, jittered anew."""
    corner = generator.uniform(80, 130, size=2)
    size = hand.size * generator.lognormal(0, 0.04)
    drawn = []
    for template in DIGITS[label]:
        strokes = [jittered(part, place, hand.pace, generator) for place, part in enumerate(template.strokes)]
        path = movement(strokes, start=template.start)
        slanted = path + np.outer(path[:, 1], [hand.slant, 0.0])
        drawn.append(np.round(corner + size * slanted))
    return drawn


def jittered(part: tuple[float, float, float], place: int, pace: float, generator: np.random.Generator) -> Stroke:
    """Returns the stroke at `place` of a template. Times stretched by `pace` shift μ by ln(pace) and leave σ."""
    distance, start, end = part
    start_angle, end_angle = np.radians([start, end]) + generator.normal(0, 0.08, size=2)
    mu = MU + math.log(pace) + generator.normal(0, 0.05)
    return Stroke(place * SPACING * pace, distance * generator.lognormal(0, 0.06), start_angle, end_angle, mu)
