"""The echo state network: its step written out, its random reservoir, and what of it is fitted."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.baselines.echo_state import EchoState, EchoStateNetwork
from models.forecasting.bptt import TruncatedBPTT
from small_problems import small_problem


def fitted(dtype: torch.dtype = torch.float64, *, lags: int = 1, seed: int = 0, **settings: float) -> EchoStateNetwork:
    model, _ = EchoState(**{"units": 40, **settings}).fit(small_problem(lags=lags, dtype=dtype, seed=seed))  # pyright: ignore[reportArgumentType]
    assert isinstance(model, EchoStateNetwork)
    return model


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("leak", [0.3, 1.0])
@torch.no_grad()
def test_step_equals_the_equation_entry_by_entry(leak: float, dtype: torch.dtype, tolerance: float) -> None:
    model = fitted(dtype, units=6, leak=leak)
    hidden, observation = normal(3, 6, seed=1).to(dtype), normal(3, 2, seed=2).to(dtype)
    (found,) = model.advance((hidden,), observation)
    for row in range(3):
        for i in range(6):
            driven = model.offset[i] + sum(model.recurrent[i, j] * hidden[row, j] for j in range(6))
            driven = driven + sum(model.inputs[i, j] * observation[row, j] for j in range(2))
            expected = (1 - leak) * hidden[row, i] + leak * driven.tanh()
            torch.testing.assert_close(found[row, i], expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("radius", [0.0, 0.5, 1.3])
def test_spectral_radius_is_what_was_asked(radius: float) -> None:
    found = float(torch.linalg.eigvals(fitted(spectral_radius=radius).recurrent).abs().max())
    assert found == pytest.approx(radius, abs=1e-12)


def test_input_weights_fill_their_range() -> None:
    model = fitted(units=400, input_scale=0.8)
    assert 0.95 * 0.8 < float(model.offset.abs().max()) <= 0.8
    assert 0.95 * 0.8 < 2**0.5 * float(model.inputs.abs().max()) <= 0.8


def test_reservoir_comes_from_the_generator_only() -> None:
    first, again, other = (dict(fitted(seed=seed).named_buffers(recurse=False)) for seed in (0, 0, 1))
    assert set(first) == {"recurrent", "inputs", "offset"}
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(bool((first[name] == other[name]).any()) for name in first)


def test_only_the_readout_is_trained() -> None:
    model, part = fitted(), small_problem().train
    objective = TruncatedBPTT(model, part, horizon=16, batch_size=8)
    objective.refresh()
    reservoir = {name: buffer.clone() for name, buffer in model.named_buffers()}
    assert {id(p) for p in objective.parameters()} == {id(model.readout_weight), id(model.readout_bias)}
    optimiser = torch.optim.SGD(objective.parameters(), lr=0.1)
    before = [p.detach().clone() for p in objective.parameters()]
    objective.loss(torch.arange(8)).mean.backward()
    optimiser.step()
    assert not any(torch.equal(p, b) for p, b in zip(objective.parameters(), before, strict=True))
    assert all(torch.equal(buffer, reservoir[name]) for name, buffer in model.named_buffers())


@torch.no_grad()
def test_forgets_its_first_state_and_begins_at_zero() -> None:
    model = fitted(spectral_radius=0.8)
    assert not bool(model.initial_belief(2)[0].any())
    zero, far = model.initial_belief(1), (normal(1, 40, seed=3),)
    start = float((zero[0] - far[0]).norm())
    distances = []
    for observation in small_problem().train.values[0]:
        zero, far = model.advance(zero, observation[None]), model.advance(far, observation[None])
        distances.append(float((zero[0] - far[0]).norm()) / start)
    assert distances[0] > 0.1
    assert distances[-1] < 1e-4


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"^units must be at least 1, got 0"):
        EchoState(units=0)
    for leak in (0.0, 1.1):
        with pytest.raises(ValueError, match=rf"^leak must lie above 0 and at most at 1, got {leak}"):
            EchoState(leak=leak)
    for wrong in ({"spectral_radius": -0.1}, {"input_scale": 0.0}):
        with pytest.raises(ValueError, match=r"^spectral_radius must not be negative and input_scale must be"):
            EchoState(**wrong)  # pyright: ignore[reportArgumentType]
