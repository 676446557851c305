"""Every kind of model on small data, into a file of numbers: python tests/code_paths.py FILE

Run as a program of its own, so that a test can choose the code path of the libraries by the environment.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from models.baselines.autoregression import VAR
from models.baselines.echo_state import EchoState
from models.baselines.kalman import KalmanFilter
from models.baselines.networks import LSTM
from models.baselines.subspace import principal_components
from models.features.kernels import Gaussian
from models.features.maps import random_features
from models.features.samplers import Hadamard, Orthogonal, Sampler, draw_frequencies
from models.features.variance_reduction import NearOrthogonal
from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import MaskedSequences, filter_sequences, scored_steps
from models.forecasting.fitting import Problem
from models.forecasting.readout import ReadoutSettings, fit_readout
from models.psrnn.factorised import decompose_update, empty_factorised
from models.psrnn.initialise import Frequencies, build_psrnn, feature_stream
from models.psrnn.projection import find_projections, projected
from models.psrnn.two_stage import two_stage_regression, whiten_observations
from models.psrnn.windows import extract_windows
from models.ssgp.model import SSGP
from models.ssgp.moments import in_blocks
from models.theory.dense import KernelSpectrum
from models.trace.estimators import METHODS, independent_estimates
from oracles import train

Numbers = Iterator[tuple[str, Tensor]]
KEPT = 5  # directions of the projection
PRECISIONS = {"float64": torch.float64, "float32": torch.float32}


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=chance(seed), dtype=torch.float64)


def oscillators(seed: int, *, sequences: int = 4, steps: int = 80) -> MaskedSequences:
    """Three oscillations of their own speeds and sizes, so that no two directions matter equally."""
    speeds, sizes = torch.tensor([0.31, 0.53, 0.97]), torch.tensor([1.4, 0.9, 0.5])
    phase = 6.3 * normal(sequences, 1, 3, seed=seed) + speeds * torch.arange(steps).unsqueeze(1)
    values = sizes * phase.cos() + 0.05 * normal(sequences, steps, 3, seed=seed + 100)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values, mask, scored_steps(mask, first_step=2))


def of_dtype(part: MaskedSequences, dtype: torch.dtype) -> MaskedSequences:
    return part._replace(values=part.values.to(dtype))


class Parts:
    """Training, validation and test part in one dtype, and what models predict there."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.train, self.validation, self.test = (of_dtype(oscillators(seed), dtype) for seed in (1, 2, 3))
        self.readout = ReadoutSettings(lags=1, ridges=[1e-4, 1e-2], scale="samples")

    @property
    def problem(self) -> Problem:
        return Problem(self.train, self.validation, self.readout, chance())

    @torch.no_grad()
    def predicted(self, model: Any) -> Tensor:
        return filter_sequences(model, self.test.values, self.test.mask).predictions


def frequencies(sampler: Sampler, dtype: torch.dtype) -> Frequencies:
    generator = chance()
    return Frequencies(
        *(
            draw_frequencies(
                kernel=Gaussian(), sampler=sampler, count=8, dimension=d, bandwidth=2.0, generator=generator
            ).to(dtype)
            for d in (6, 6, 3)
        )
    )


def refined(model: Any, parts: Parts) -> Tensor:
    """Predictions after two epochs of Adam."""
    work = TruncatedBPTT(model, parts.train, horizon=20, batch_size=4)
    parameters = work.parameters()
    optimizer, order = torch.optim.Adam(parameters, lr=1e-2), chance(5)
    for _ in range(2):
        work.refresh()
        for batch in work.batches(order):
            optimizer.zero_grad()
            work.loss(batch).mean.backward(inputs=parameters)
            optimizer.step()
    return parts.predicted(model)


def psrnns(parts: Parts) -> Numbers:
    """With a projection: its directions, the update along them, predictions; then factorised; then refined."""
    drawn = frequencies(Orthogonal(), parts.dtype)
    stream = feature_stream(extract_windows(parts.train.values, parts.train.mask, length=2), drawn, chunk=64)
    kept = find_projections(stream, size=KEPT)
    found = two_stage_regression(projected(stream, kept), ridge=1e-2, scale="samples")
    found = found._replace(update=whiten_observations(found.update, found.observation_moment, 1e-2))
    model = build_psrnn(found, drawn, kept, lags=1, keep_sign=True)
    fitted = fit_readout(model, parts.train, parts.validation, parts.readout)
    yield from {"projection": kept.future, "update": found.update, "psrnn": parts.predicted(model)}.items()
    filtered = fitted.train or filter_sequences(model, parts.train.values, parts.train.mask)
    factors = decompose_update(model, filtered, parts.train.scored, rank=6, generator=chance()).factors
    factorised = empty_factorised(model, 6)
    factorised.set_update(factors, model.initial)
    fit_readout(factorised, parts.train, parts.validation, parts.readout)
    yield "psrnn_cp", parts.predicted(factorised)
    yield "psrnn refined", refined(model, parts)


def baselines(parts: Parts) -> Numbers:
    kalman = KalmanFilter(blocks=[3], orders=[4]).fit(parts.problem).model
    yield from {"kalman": parts.predicted(kalman), "kalman's gain": kalman.get_parameter("gain").detach()}.items()
    yield "var", parts.predicted(VAR(orders=[2], ridges=[1e-2]).fit(parts.problem).model)
    yield "echo state", parts.predicted(EchoState(units=40).fit(parts.problem).model)
    yield "lstm refined", refined(LSTM(units=6).fit(parts.problem).model, parts)
    yield "principal components", principal_components(parts.train.values, parts.train.mask, 2)


def kernels(dtype: torch.dtype) -> Numbers:
    """Directions of three samplers, many features at once, a sparse-spectrum process, spectra."""
    for sampler in (Orthogonal(), Hadamard(), NearOrthogonal()):
        yield type(sampler).__name__, sampler.directions(20, 8, generator=chance())
    inputs = normal(3000, 6, seed=1)
    drawn = draw_frequencies(
        kernel=Gaussian(), sampler=Orthogonal(), count=100, dimension=6, bandwidth=3.0, generator=chance()
    )
    features = random_features(inputs.to(dtype), drawn.to(dtype))
    yield "features", features
    targets = inputs.sin().sum(1) + 0.1 * normal(3000, seed=2)
    process = SSGP(drawn[:20].to(dtype))
    stream = in_blocks(inputs[:500].to(dtype), targets[:500].to(dtype))
    train(process, stream, iterations=10, learning_rate=0.1)
    yield "ssgp", process.posterior(stream).predict(inputs[500:600].to(dtype)).mean.detach()
    kernel = KernelSpectrum((-(torch.cdist(inputs[:100], inputs[:100]) ** 2) / 18).exp())
    yield "theory", torch.tensor(kernel.approximation(features[:100], ridge=1e-2), dtype=torch.float64)


def traces() -> Numbers:
    """In double precision, of normal queries that are drawn in single precision and widened."""
    basis = Orthogonal().directions(60, 60, generator=chance())
    matrix = (basis.T * torch.logspace(0, -4, 60, dtype=torch.float64)) @ basis
    for name in METHODS:
        yield (
            f"trace by {name}, drawn in float32",
            independent_estimates(lambda x: x @ matrix, method=name, queries=24, size=60, trials=3, generator=chance()),
        )


def main(path: str) -> None:
    found: dict[str, Tensor] = {}
    for precision, dtype in PRECISIONS.items():
        parts = Parts(dtype)
        for numbers in (psrnns(parts), baselines(parts), kernels(dtype)):
            found |= {f"{name}, {precision}": value.detach() for name, value in numbers}
    found |= dict(traces())
    torch.save(found, path)


if __name__ == "__main__":
    main(sys.argv[1])
