"""A simulated walker: the mocap data set's stand-in where neither its files nor a network are at hand.

Nothing here is real: the numbers are round values near the joint ranges that textbooks give for adult gait (for example
Perry and Burnfield, Gait Analysis, 2010), not a fit to recordings. One phase φ drives all joint angles,

    angle_c(t) = mean_c + drift_c(t) + swing_c(t) · Σ_h amplitude_{c,h} cos(h φ(t) + shift_{c,h}),

with about one stride a second (dφ/dt near 2π Hz); phase speed, swings and drifts vary slowly (second-order
autoregressions), so no two strides are alike. Bone ends follow by forward kinematics; white measurement noise is added.
Axes and features are those of the data set.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from data.mocap.features import BODY_PARTS, stack_features
from data.mocap.kinematics import bone_ends, euler_rotations

RATE = 120.0
SUBJECTS, WALKS = 3, 16
NOISE = 0.0002


class Segment(NamedTuple):
    """Holds one segment of the body. vector: rest pose, in metres, of a person of 1.75 m."""

    name: str
    parent: int
    vector: tuple[float, float, float]


class Channel(NamedTuple):
    """Describes one angle in degrees: rotation of a segment about an axis. harmonics: (order, amplitude, shift in
    radians)."""

    segment: str
    axis: str
    mean: float
    harmonics: tuple[tuple[int, float, float], ...]


SEGMENTS = (
    Segment("root", -1, (0.0, 0.0, 0.0)),
    Segment("left_hip", 0, (0.09, -0.10, 0.02)),
    Segment("left_femur", 1, (0.02, -0.41, 0.0)),
    Segment("left_tibia", 2, (0.01, -0.42, 0.0)),
    Segment("right_hip", 0, (-0.09, -0.10, 0.02)),
    Segment("right_femur", 4, (-0.02, -0.41, 0.0)),
    Segment("right_tibia", 5, (-0.01, -0.42, 0.0)),
    Segment("lowerback", 0, (0.0, 0.115, -0.01)),
    Segment("upperback", 7, (0.0, 0.115, 0.0)),
    Segment("thorax", 8, (0.0, 0.115, 0.005)),
    Segment("neck", 9, (0.0, 0.17, 0.01)),
    Segment("head", 10, (0.0, 0.10, 0.0)),
    Segment("left_clavicle", 9, (0.19, 0.05, -0.02)),
    Segment("right_clavicle", 9, (-0.19, 0.05, -0.02)),
)
ANKLE_TO_FLOOR = 0.08
BOUNCE = ((2, 0.020, 0.6),)
HIP = ((1, 23.0, 0.0), (2, 3.5, 1.0))
KNEE = ((1, 22.0, 1.75), (2, 15.0, 2.6), (3, 3.0, 3.0))


def _mirrored(harmonics: tuple[tuple[int, float, float], ...]) -> tuple[tuple[int, float, float], ...]:
    """Returns the harmonics of the other side of the body, which are half a cycle later."""
    return tuple((order, amplitude, shift + order * np.pi) for order, amplitude, shift in harmonics)


CHANNELS = (
    Channel("root", "Y", 0.0, ((1, 4.0, 0.4),)),
    Channel("root", "X", 2.0, ((2, 1.0, 0.5),)),
    Channel("root", "Z", 0.0, ((1, 3.0, 1.9),)),
    Channel("left_femur", "X", -8.0, tuple((order, -amplitude, shift) for order, amplitude, shift in HIP)),
    Channel("left_femur", "Z", -2.0, ((1, -2.5, 1.9),)),
    Channel("left_tibia", "X", 24.0, KNEE),
    Channel("right_femur", "X", -8.0, tuple((order, -amplitude, shift) for order, amplitude, shift in _mirrored(HIP))),
    Channel("right_femur", "Z", 2.0, ((1, -2.5, 1.9),)),
    Channel("right_tibia", "X", 24.0, _mirrored(KNEE)),
    Channel("lowerback", "X", 2.0, ((2, 1.0, 2.0),)),
    Channel("lowerback", "Y", 0.0, ((1, -4.0, 0.5),)),
    Channel("lowerback", "Z", 0.0, ((1, -3.0, 1.9),)),
    Channel("upperback", "Y", 0.0, ((1, -4.0, 0.5),)),
    Channel("thorax", "X", 0.0, ((2, 1.0, 2.4),)),
    Channel("thorax", "Y", 0.0, ((1, -3.0, 0.6),)),
    Channel("neck", "X", 8.0, ((2, 1.0, 5.0),)),
    Channel("neck", "Y", 0.0, ((1, 4.0, 0.6),)),
    Channel("head", "X", -6.0, ((2, 1.0, 5.5),)),
    Channel("left_clavicle", "Y", 0.0, ((1, 3.0, 0.2), (2, 1.0, 0.4))),
    Channel("left_clavicle", "Z", 3.0, ((2, 1.5, 0.9),)),
    Channel("right_clavicle", "Y", 0.0, ((1, 3.0, 0.2), (2, -1.0, 0.4))),
    Channel("right_clavicle", "Z", -3.0, ((2, -1.5, 0.9),)),
)


class Person(NamedTuple):
    """Holds one subject: bone vectors (segment, 3), stride frequency in Hz, and what is particular to each channel."""

    vectors: np.ndarray
    frequency: float
    means: np.ndarray
    scales: np.ndarray
    shifts: np.ndarray


@functools.lru_cache(maxsize=4)  # jobs of a multirun ask for those of the same few seeds
def walk_tracks(*, seed: int, steps: int) -> tuple[tuple[np.ndarray, ...], tuple[str, ...]]:
    """Simulates 48 walks of three subjects: arrays (steps, 22) in metres at 120 Hz, and names like "walker1_03". They
    are kept for the next call, and cannot be written to.

    The same seed gives the same walks; fewer steps give the beginning of the same walks.
    """
    arrays, names = [], []
    for subject, subject_seed in enumerate(np.random.SeedSequence(seed).spawn(SUBJECTS), start=1):
        person_seed, *walk_seeds = subject_seed.spawn(1 + WALKS)
        person = draw_person(np.random.default_rng(person_seed))
        for walk, walk_seed in enumerate(walk_seeds, start=1):
            arrays.append(simulate_walk(person, steps=steps, seeds=walk_seed.spawn(4)))
            names.append(f"walker{subject}_{walk:02d}")
    for array in arrays:
        array.setflags(write=False)
    return tuple(arrays), tuple(names)


def draw_person(generator: np.random.Generator) -> Person:
    """Draws a subject's body and manner of walking. Left and right limbs differ by a few per cent of a bone's
    length."""
    size = generator.normal(1.0, 0.05)
    lengths = size * generator.normal(1.0, 0.03, size=(len(SEGMENTS), 1))
    count = len(CHANNELS)
    return Person(
        vectors=np.array([segment.vector for segment in SEGMENTS]) * lengths,
        frequency=generator.uniform(0.85, 1.05),
        means=np.array([channel.mean for channel in CHANNELS]) + generator.normal(0.0, 2.0, size=count),
        scales=generator.normal(1.0, 0.12, size=count),
        shifts=generator.normal(0.0, 0.12, size=count),
    )


def simulate_walk(person: Person, *, steps: int, seeds: Sequence[np.random.SeedSequence]) -> np.ndarray:
    """Simulates one walk: (steps, 22) in metres, with white measurement noise of standard deviation NOISE.

    seeds: four, for pace, swings, drifts and noise.
    """
    pace, sway, wander, noise = (np.random.default_rng(child) for child in seeds)
    start, effort = pace.uniform(0.0, 2 * np.pi), pace.normal(1.0, 0.05)
    speed = person.frequency * effort * (1.0 + 0.03 * slow_process(pace, steps=steps, count=1, seconds=1.0)[:, 0])
    phase = start + 2 * np.pi * np.cumsum(speed) / RATE
    swing = effort * (1.0 + 0.05 * slow_process(sway, steps=steps, count=len(CHANNELS) + 1, seconds=1.0))
    drift = slow_process(wander, steps=steps, count=len(CHANNELS) + 1, seconds=1.5)
    angles = joint_angles(person, phase, swing[:, 1:], drift[:, 1:])
    legs = -person.vectors[1:4, 1].sum() + ANKLE_TO_FLOOR
    root = np.zeros((steps, 3))
    root[:, 1] = 0.975 * legs + swing[:, 0] * _waves(BOUNCE, phase) + 0.004 * drift[:, 0]
    clean = features_of(person, angles, root)
    return clean + NOISE * noise.normal(size=clean.shape)


def slow_process(generator: np.random.Generator, *, steps: int, count: int, seconds: float) -> np.ndarray:
    """Draws `count` stationary second-order processes of unit variance, (steps, count), by two equal first-order
    filters.

    y has poles a, a with a = exp(−1 / (RATE · seconds)) and a burn-in of ten time constants.
    """
    pole = np.exp(-1.0 / (RATE * seconds))
    burn_in = int(10 * seconds * RATE)
    filtered = filtered_twice(generator.normal(size=(burn_in + steps, count)), pole)
    variance = (1 + pole**2) / (1 - pole**2) ** 3
    return filtered[burn_in:] / np.sqrt(variance)


def filtered_twice(values: np.ndarray, pole: float) -> np.ndarray:
    """Returns y_t = x_t + 2 a y_{t−1} − a² y_{t−2} of each column of x (time, column), with y = 0 before the first row.

    It solves the triangular system with three diagonals. `scipy.signal.lfilter` does the same, and takes a second of
    processor time to import.
    """
    diagonals = np.tile([[1.0], [-2.0 * pole], [pole**2]], len(values))
    (solve,) = get_lapack_funcs(["tbtrs"], (diagonals, values))
    solved, _ = solve(diagonals, values, uplo="L")
    return np.asarray(solved)


def joint_angles(person: Person, phase: np.ndarray, swing: np.ndarray, drift: np.ndarray) -> np.ndarray:
    """Returns the angles (frame, channel) in degrees, by the formula at the top; phase (frame,), swing and drift
    (frame, channel)."""
    waves = [_waves(channel.harmonics, phase + shift) for channel, shift in zip(CHANNELS, person.shifts, strict=True)]
    return person.means + drift + swing * person.scales * np.stack(waves, axis=1)


def features_of(person: Person, angles: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Returns the features (frame, 22) by forward kinematics, from angles (frame, channel) and the root's positions
    (frame, 3)."""
    local = []
    for segment in SEGMENTS:
        own = [i for i, channel in enumerate(CHANNELS) if channel.segment == segment.name]
        local.append(euler_rotations("".join(CHANNELS[i].axis for i in own), angles[:, own]))
    ends = bone_ends([segment.parent for segment in SEGMENTS], list(person.vectors), local, root)
    by_name = {segment.name: end for segment, end in zip(SEGMENTS, ends, strict=True)}
    return stack_features(root, {part: by_name[part] for part in BODY_PARTS})


def _waves(harmonics: tuple[tuple[int, float, float], ...], phase: np.ndarray) -> np.ndarray:
    """Returns Σ amplitude · cos(order · phase + shift), in the shape of `phase`."""
    return np.sum([amplitude * np.cos(order * phase + shift) for order, amplitude, shift in harmonics], axis=0)
