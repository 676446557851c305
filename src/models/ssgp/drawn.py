"""Sparse-spectrum Gaussian processes as they are before training: drawn frequencies and a first length-scale."""

from __future__ import annotations

from torch import Tensor

from models.features.bandwidth import bandwidth
from models.features.kernels import Kernel
from models.features.samplers import Sampler, draw_frequencies
from models.runtime.seeding import generator
from models.ssgp.model import SSGP


def first_length_scale(inputs: Tensor, seed: int) -> float:
    """Returns the median distance between random pairs of the rows (row, dimension), drawn under the seed; 1 where no
    two rows differ."""
    if bool((inputs == inputs[0]).all()):
        return 1.0
    return bandwidth(inputs, generator=generator(seed, "ssgp/scale"))


def drawn_process(
    inputs: Tensor, kernel: Kernel, sampler: Sampler, *, count: int, seed: int, train_frequencies: bool = False
) -> SSGP:
    """Returns an untrained process for inputs (row, dimension), standardised, on their device.

    Its `count` frequencies are those of the kernel at bandwidth 1, drawn under the seed; its length-scales begin at
    `first_length_scale`. Raises ValueError as `models.features.samplers.draw_frequencies`.
    """
    frequencies = draw_frequencies(
        kernel=kernel, sampler=sampler, count=count, dimension=inputs.shape[1], bandwidth=1.0,
        generator=generator(seed, "ssgp/frequencies"),
    )  # fmt: skip
    scale = first_length_scale(inputs, seed)
    return SSGP(frequencies, scale=scale, train_frequencies=train_frequencies).to(inputs.device)
