"""`data=cycles`: generated utterances in which one modality tells of another what the labels alone hardly teach.

A test bed for translation between modalities: text is wide and full of motion that has nothing to do with the label,
video and audio are narrow and show what the label is made of. It also takes the place of files that are missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from data.base import check_numbers, check_whole_numbers
from data.ranges import Count, Deviation, Seed
from data.utterances import Part, Utterances

STEPS, SHORTEST = 20, 8
LATENTS, NUISANCES, MEMORY = 8, 6, 0.9  # states, and how much of one is left a step later
TEXT, SEEN = 40, 8  # numbers a step of text, and of video and audio
SHOWN = {"video": slice(0, 2), "audio": slice(2, 4)}  # the latents that a modality shows
NUISANCE, TEXT_NOISE, SEEN_NOISE, SPREAD = 2.0, 1.5, 0.3, 0.55
# What the generators of different draws under one seed are told apart by.
MIXING, SAMPLES = range(2)


class Mixing(NamedTuple):
    """Holds the directions in which latents (latent, number) and nuisances are seen."""

    text: np.ndarray
    nuisance: np.ndarray
    video: np.ndarray
    audio: np.ndarray


class Design(NamedTuple):
    """Says how samples are made: their directions, and `link` and `three` of `load_cycles`."""

    mixing: Mixing
    link: bool
    three: bool


def draw_mixing(seed: int) -> Mixing:
    generator = np.random.default_rng([seed, MIXING])
    text = generator.standard_normal((LATENTS, TEXT)) / np.sqrt(LATENTS)
    nuisance = NUISANCE * generator.standard_normal((NUISANCES, TEXT))
    return Mixing(text, nuisance, *generator.standard_normal((2, 2, SEEN)))


def autoregression(count: int, states: int, generator: np.random.Generator) -> np.ndarray:
    """Returns (sample, step, state): x_t = 0.9 x_{t−1} + √(1 − 0.9²) e_t, of variance 1 from the first step on."""
    noise = generator.standard_normal((count, STEPS, states))
    values = noise.copy()
    for step in range(1, STEPS):
        values[:, step] = MEMORY * values[:, step - 1] + np.sqrt(1 - MEMORY**2) * noise[:, step]
    return values


def draw_part(design: Design, names: list[str], *, label_noise: float, generator: np.random.Generator) -> Part:
    count, mixing = len(names), design.mixing
    latents, nuisances = autoregression(count, LATENTS, generator), autoregression(count, NUISANCES, generator)
    lengths = generator.integers(SHORTEST, STEPS + 1, count)
    told = latents @ mixing.text + nuisances @ mixing.nuisance
    values = {"text": told + TEXT_NOISE * generator.standard_normal(told.shape)}
    for modality, shown in SHOWN.items():
        of = latents if design.link else autoregression(count, LATENTS, generator)
        clean = of[..., shown] @ getattr(mixing, modality)
        values[modality] = clean + SEEN_NOISE * generator.standard_normal(clean.shape)
    decisive = latents[..., 0] + (latents[..., 2] if design.three else 0.0)
    present = np.arange(STEPS) < lengths[:, np.newaxis]
    labels = (decisive * present).sum(1) / lengths / SPREAD + label_noise * generator.standard_normal(count)
    arrays = {modality: [own[:n] for own, n in zip(all_, lengths, strict=True)] for modality, all_ in values.items()}
    return Part.of(arrays, labels, names)


def load_cycles(
    *,
    link: bool = True,
    three: bool = False,
    train: Count = 150,
    validation: Count = 100,
    test: Count = 600,
    label_noise: Deviation = 2.0,
    seed: Seed = 0,
) -> Utterances:
    """Returns generated samples of three modalities with a score each, of 8 to 20 steps.

    Eight latents z and six nuisances move as autoregressions with coefficient 0.9 and variance 1. Text is z M plus the
    nuisances in directions twice as large plus noise of 1.5, 40 numbers a step; video shows z₁ and z₂, audio z₃ and z₄,
    by 8 numbers each with noise of 0.3. The score is the mean of z₁ over the steps, over 0.55.
    link: false gives video and audio latents of their own, so that nothing can be learned by translating into them.
    three: the score is the mean of z₁ + z₃, so that audio shows of it what video does not.
    label_noise: standard deviation added to the scores of training and validation; those of the test part have none.
    seed: draws directions and samples.
    Raises DataError for a number out of range.
    """
    check_whole_numbers("cycles", {"seed": seed}, least=0)
    counts = {"train": train, "validation": validation, "test": test}
    check_whole_numbers("cycles", counts)
    check_numbers("cycles", {"label_noise": label_noise})
    design = Design(draw_mixing(seed), link, three)
    parts = {}
    for place, (part, count) in enumerate(counts.items()):
        names = [f"{part}_{i:03d}" for i in range(count)]
        noise, generator = 0.0 if part == "test" else label_noise, np.random.default_rng([seed, SAMPLES, place])
        parts[part] = draw_part(design, names, label_noise=noise, generator=generator)
    return Utterances("cycles", parts, "score", "simulated")
