"""Small data on which any method of the group `model` is fitted within a second."""

from __future__ import annotations

import torch

from models.features.kernels import Gaussian
from models.features.samplers import Orthogonal, draw_frequencies
from models.forecasting.filtering import MaskedSequences, scored_steps
from models.forecasting.fitting import Problem
from models.forecasting.readout import ReadoutSettings, fit_readout
from models.psrnn.cell import PSRNN
from models.psrnn.initialise import Frequencies, build_psrnn, feature_stream
from models.psrnn.two_stage import two_stage_regression, whiten_observations
from models.psrnn.windows import extract_windows


def oscillation(
    seed: int, *, sequences: int = 4, steps: int = 80, dtype: torch.dtype = torch.float64
) -> MaskedSequences:
    """A rotation in the plane whose phase drifts, seen with little noise, of variance about 1."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    phase = 6.3 * normal(sequences, 1) + 0.4 * torch.arange(steps) + 0.1 * normal(sequences, steps).cumsum(1)
    values = 2**0.5 * torch.stack([phase.cos(), phase.sin()], 2) + 0.1 * normal(sequences, steps, 2)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values.to(dtype), mask, scored_steps(mask, first_step=2))


def with_gap(part: MaskedSequences) -> MaskedSequences:
    """The same sequences with ten steps of each missing."""
    mask = part.mask.clone()
    mask[:, 30:40] = False
    return MaskedSequences(torch.where(mask, part.values, 0.0), mask, scored_steps(mask, first_step=2))


def without_scores(part: MaskedSequences) -> MaskedSequences:
    """A part in which no entry counts: what an empty validation part looks like."""
    return part._replace(scored=torch.zeros_like(part.scored))


def small_problem(*, lags: int = 1, dtype: torch.dtype = torch.float64, seed: int = 0) -> Problem:
    return Problem(
        train=oscillation(1, dtype=dtype),
        validation=oscillation(2, sequences=2, dtype=dtype),
        readout=ReadoutSettings(lags=lags, ridges=[1e-6, 1e-2, 1e6], scale="samples"),
        generator=torch.Generator().manual_seed(seed),
    )


def train_psrnn(train: MaskedSequences, *, update: str, lags: int = 0, count: int = 20) -> PSRNN:
    windows = extract_windows(train.values, train.mask, length=2)
    generator = torch.Generator().manual_seed(0)
    drawn = [
        draw_frequencies(
            kernel=Gaussian(), sampler=Orthogonal(), count=count, dimension=d, bandwidth=2.0, generator=generator
        )
        for d in (4, 4, 2)
    ]
    frequencies = Frequencies(*drawn)
    found = two_stage_regression(feature_stream(windows, frequencies, chunk=100), ridge=1e-2, scale="samples")
    if update == "bayes":
        found = found._replace(update=whiten_observations(found.update, found.observation_moment, 1e-4))
    model = build_psrnn(found, frequencies, lags=lags, keep_sign=update == "bayes")
    fit_readout(model, train, train, ReadoutSettings(0, [1e-2], "none"))
    return model
