"""Projection after the random features, and what it and learned frequencies change in the cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from models.features.kernels import Gaussian
from models.features.maps import random_features
from models.features.samplers import Orthogonal, draw_frequencies
from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import filter_sequences
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.readout import ReadoutSettings, fit_readout
from models.psrnn import initialise
from models.psrnn.cell import PSRNN
from models.psrnn.initialise import Frequencies, build_psrnn, feature_stream
from models.psrnn.method import Psrnn
from models.psrnn.projection import (
    Projections,
    cross_moments,
    find_projections,
    leading_singular_vectors,
    projected,
)
from models.psrnn.two_stage import FeatureBatch, two_stage_regression, whiten_observations
from models.psrnn.windows import extract_windows
from small_problems import oscillation

COUNT = 8


def frequencies(dtype: torch.dtype = torch.float64) -> Frequencies:
    generator = torch.Generator().manual_seed(0)
    drawn = [
        draw_frequencies(
            kernel=Gaussian(), sampler=Orthogonal(), count=COUNT, dimension=d, bandwidth=2.0, generator=generator
        )
        for d in (4, 4, 2)
    ]
    return Frequencies(*(part.to(dtype) for part in drawn))


def stream(*, chunk: int = 64, dtype: torch.dtype = torch.float64):
    part = oscillation(1, dtype=dtype)
    return feature_stream(extract_windows(part.values, part.mask, length=2), frequencies(dtype), chunk=chunk)


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def train(size: int | None, *, learn: bool = False, dtype: torch.dtype = torch.float64) -> PSRNN:
    """2SR with `update=bayes` and a readout, after a projection to `size` features."""
    features, projections, part = stream(dtype=dtype), None, oscillation(1, dtype=dtype)
    if size is not None:
        projections = find_projections(features, size=size)
        features = projected(features, projections)
    found = two_stage_regression(features, ridge=1e-3, scale="samples")
    found = found._replace(update=whiten_observations(found.update, found.observation_moment, 1e-3))
    model = build_psrnn(found, frequencies(dtype), projections, lags=1, keep_sign=True, learn_frequencies=learn)
    fit_readout(model, part, part, ReadoutSettings(0, [1e-3], "samples"))
    return model


@pytest.mark.parametrize("rank", [3, 9], ids=["lanczos", "full"])
@pytest.mark.parametrize("shape", [(12, 20), (20, 12), (12, 12)])
def test_singular_vectors_are_those_of_the_full_decomposition(shape: tuple[int, int], rank: int) -> None:
    matrix = normal(*shape, seed=0)
    left, right = leading_singular_vectors(matrix, rank)
    u, values, v = torch.linalg.svd(matrix, full_matrices=False)
    signs = (left * u[:, :rank]).sum(0).sign()
    torch.testing.assert_close(left * signs, u[:, :rank], rtol=0, atol=1e-8)
    torch.testing.assert_close(right * signs, v[:rank].T, rtol=0, atol=1e-8)
    torch.testing.assert_close(left.T @ matrix @ right, torch.diag(values[:rank]), rtol=0, atol=1e-8)
    assert all(torch.equal(a, b) for a, b in zip((left, right), leading_singular_vectors(matrix, rank), strict=True))


@pytest.mark.parametrize("chunk", [1, 10_000])
def test_cross_moments_are_means_over_all_steps(chunk: int) -> None:
    found = cross_moments(stream(chunk=chunk))
    batches = list(stream()())
    steps = sum(len(batch.future) for batch in batches)
    future_history = sum(torch.outer(p, e) for b in batches for p, e in zip(b.future, b.history, strict=True))
    observation_future = sum(torch.outer(o, p) for b in batches for o, p in zip(b.observation, b.future, strict=True))
    torch.testing.assert_close(found.future_history, future_history / steps)
    torch.testing.assert_close(found.observation_future, observation_future / steps)


def test_each_pass_computes_the_three_maps_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[tuple[int, ...]] = []
    whole = initialise.joint_features
    monkeypatch.setattr(
        initialise, "joint_features", lambda x, *rest: (shapes.append(tuple(x.shape)), whole(x, *rest))[1]
    )
    source = stream(chunk=10_000)
    projections = find_projections(source, size=3)
    assert len(shapes) == 3
    two_stage_regression(projected(source, projections), ridge=0.1, scale="samples")
    assert len(shapes) == 9  # two more passes


@pytest.mark.parametrize("size", [1, 5, 2 * COUNT])
def test_columns_are_orthonormal(size: int) -> None:
    for projection in find_projections(stream(), size=size):
        assert projection.shape == (2 * COUNT, size)
        torch.testing.assert_close(projection.T @ projection, torch.eye(size, dtype=torch.float64), rtol=0, atol=1e-10)


def test_projected_moments_are_diagonal_with_the_largest_singular_values() -> None:
    projections = find_projections(stream(), size=3)
    whole, found = cross_moments(stream()), cross_moments(projected(stream(), projections))
    largest = torch.linalg.svdvals(whole.future_history)[:3]
    torch.testing.assert_close(found.future_history, torch.diag(largest), rtol=0, atol=1e-10)
    observation = torch.linalg.svdvals(whole.observation_future)[:3]
    kept = projections.observation.T @ whole.observation_future
    torch.testing.assert_close(torch.linalg.svdvals(kept), observation, rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_batch_is_projected_in_its_own_dtype(dtype: torch.dtype) -> None:
    sizes = (2, 3, 4)
    projections = Projections(*(normal(2 * COUNT, n, seed=n) for n in sizes))
    features = stream(dtype=dtype)
    passes = [list(projected(features, projections)()) for _ in range(2)]
    for whole, found, again in zip(features(), *passes, strict=True):
        for name in FeatureBatch._fields:
            part, small, repeated = (getattr(batch, name) for batch in (whole, found, again))
            matrix = getattr(projections, "future" if name == "shifted_future" else name)
            assert small.dtype == dtype
            assert torch.equal(small, repeated)
            torch.testing.assert_close(small, (part.double() @ matrix).to(dtype), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_projection_to_full_size_is_a_rotation_and_changes_no_prediction() -> None:
    values, mask, _ = oscillation(3)
    whole, turned = (filter_sequences(train(size), values, mask) for size in (None, 2 * COUNT))
    torch.testing.assert_close(turned.predictions, whole.predictions, rtol=0, atol=1e-7)
    back = turned.states[0] @ find_projections(stream(), size=2 * COUNT).future.T
    torch.testing.assert_close(back, whole.states[0], rtol=0, atol=1e-7)
    smaller = filter_sequences(train(4), values, mask).predictions
    assert float((smaller - whole.predictions).abs().max()) > 1e-3


def test_size_must_fit_the_features() -> None:
    for size in (0, 2 * COUNT + 1):
        with pytest.raises(ValueError, match=rf"must lie between 1 and the number of features 16, got {size}"):
            find_projections(stream(), size=size)
    with pytest.raises(ValueError, match="projection got no time step"):
        find_projections(list, size=1)


def test_size_must_fit_the_features_of_the_observation_too() -> None:
    batch = FeatureBatch(*(normal(50, n, seed=n) for n in (9, 8, 8, 5)))
    assert find_projections(lambda: [batch], size=5).observation.shape == (5, 5)
    with pytest.raises(ValueError, match="between 1 and the number of features 5, got 6"):
        find_projections(lambda: [batch], size=6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@torch.no_grad()
def test_step_with_projection_equals_the_equation(dtype: torch.dtype, tolerance: float) -> None:
    model = train(4, dtype=dtype)
    projection = model.features.projection
    assert projection is not None
    belief = torch.nn.functional.normalize(normal(3, 4, seed=1)).to(dtype)
    observation = normal(3, 2, seed=2).to(dtype)
    (found,) = model.advance((belief,), observation)
    for row in range(3):
        omega = projection.T @ random_features(observation[row], model.features.frequencies)
        z = torch.einsum("abc,b,c->a", model.update_tensor, belief[row], omega) + model.bias
        expected = z / z.norm() * (z @ model.reference).sign()
        torch.testing.assert_close(found[row], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", [None, 6])
@pytest.mark.parametrize("learn", [False, True])
def test_frequencies_are_trained_only_when_asked(size: int | None, learn: bool) -> None:
    model = train(size, learn=learn)
    objective = TruncatedBPTT(model, oscillation(1), horizon=10, batch_size=100)
    before = objective.refresh()
    optimiser = torch.optim.Adam(objective.parameters(), lr=1e-3)
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for _ in range(10):
        optimiser.zero_grad()
        objective.loss(torch.arange(len(objective.chunks.start))).mean.backward()
        optimiser.step()
    moved = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, kept[name])}
    trained = {"update_tensor", "bias", "initial", "readout_weight", "readout_bias"}
    assert moved == trained | ({"features.frequencies"} if learn else set())
    assert (model.features.frequencies.grad is not None) == learn
    assert objective.refresh() < before


@pytest.mark.parametrize("size", [None, 6])
@pytest.mark.parametrize("learn", [False, True])
def test_frequencies_and_projection_are_kept_on_disk(size: int | None, learn: bool, tmp_path: Path) -> None:
    model = train(size, learn=learn)
    first = Forecaster(model, mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b"))
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    assert isinstance(second.model, PSRNN)
    assert torch.equal(second.model.features.frequencies, frequencies().observation)
    assert second.model.features.frequencies.requires_grad == learn
    assert ("features.projection" in second.model.state_dict()) == (size is not None)
    assert second.model.features.size == (size or 2 * COUNT)
    series = oscillation(3).values[0].numpy()
    assert np.array_equal(first.predict(series), second.predict(series))
    assert np.array_equal(first.forecast(series, 3), second.forecast(series, 3))


def test_window_of_the_method() -> None:
    assert Psrnn(window=1).trained
    with pytest.raises(ValueError, match=r"^window must be at least 1, got 0"):
        Psrnn(window=0)
