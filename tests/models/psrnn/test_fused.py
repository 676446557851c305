"""The fused recursion against the cell step by step, which is its oracle."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from models.forecasting.filtering import filter_sequences
from models.forecasting.recurrent import Recurrent
from models.psrnn import cell, fused
from models.psrnn.cell import PSRNN

BATCH, STEPS, DIMENSION = 3, 7, 2


def random_psrnn(*, keep_sign: bool = True, projected: int | None = None, lags: int = 0) -> PSRNN:
    generator = torch.Generator().manual_seed(5)
    model = PSRNN(
        frequencies=3, dimension=DIMENSION, state=4, projected=projected, lags=lags, keep_sign=keep_sign,
        learn_frequencies=True,
    ).double()  # fmt: skip
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
    return model


def random_values(steps: int = STEPS) -> Tensor:
    return torch.randn(BATCH, steps, DIMENSION, generator=torch.Generator().manual_seed(6), dtype=torch.float64)


def step_by_step(model: PSRNN, values: Tensor) -> Tensor:
    return Recurrent.beliefs_along(model, model.initial_belief(len(values)), values)[0]


@pytest.mark.parametrize("keep_sign", [True, False])
@pytest.mark.parametrize("steps", [1, 2, STEPS])
def test_states_and_gradients_are_those_of_the_cell(keep_sign: bool, steps: int) -> None:
    model, values = random_psrnn(keep_sign=keep_sign, projected=3), random_values(steps)
    weights = torch.randn(BATCH, steps, 4, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    found = model.beliefs_along(model.initial_belief(BATCH), values)[0]
    expected = step_by_step(model, values)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    if keep_sign and steps == STEPS:
        assert bool((expected[:, 1:] @ model.reference >= 0).all())
    trained = [model.update_tensor, model.bias, model.initial, model.features.frequencies]
    ours = torch.autograd.grad((found * weights).sum(), trained, allow_unused=True, materialize_grads=True)
    theirs = torch.autograd.grad((expected * weights).sum(), trained, allow_unused=True, materialize_grads=True)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)
    assert steps == 1 or all(bool(gradient.any()) for gradient in theirs)


def test_gradcheck() -> None:
    generator = torch.Generator().manual_seed(8)
    shapes = [(3, 3, 4), (3,), (BATCH, 3), (5, BATCH, 4)]
    parts = [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]
    reference = torch.randn(3, generator=generator, dtype=torch.float64)
    recursion: Any = fused.states_with_gradient
    assert torch.autograd.gradcheck(lambda *x: recursion(*x, reference), parts)


def test_a_second_derivative_is_refused_and_not_wrong() -> None:
    model, values = random_psrnn(), random_values()
    found = model.beliefs_along(model.initial_belief(BATCH), values)[0].square().sum()
    with pytest.raises(RuntimeError, match="cannot be differentiated once more; move the model step by step"):
        torch.autograd.grad(found, [model.update_tensor], create_graph=True)


@pytest.mark.parametrize("bytes_of_steps", [0, 1, 3])
@torch.no_grad()
def test_blocks_of_steps_change_nothing(bytes_of_steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, values = random_psrnn(), random_values()
    monkeypatch.setattr(fused, "BLOCK_BYTES", bytes_of_steps * BATCH * 4**2 * 8)
    found = model.beliefs_along(model.initial_belief(BATCH), values)[0]
    torch.testing.assert_close(found, step_by_step(model, values), rtol=1e-12, atol=1e-12)


def test_too_much_scratch_goes_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    model, values = random_psrnn(), random_values()
    monkeypatch.setattr(cell, "SCRATCH_BYTES", 100)
    monkeypatch.setattr(cell, "states_with_gradient", lambda *_: pytest.fail("the matrices do not fit"))
    found = model.beliefs_along(model.initial_belief(BATCH), values)[0]
    torch.testing.assert_close(found, step_by_step(model, values))


@pytest.mark.parametrize("lags", [0, 1, 3, STEPS + 2])
@torch.no_grad()
def test_filtering_at_once_is_filtering_step_by_step(lags: int) -> None:
    model, values = random_psrnn(lags=lags), random_values()
    gap = torch.ones_like(values, dtype=torch.bool)
    at_once = filter_sequences(model, values, gap)
    gap = torch.cat([gap, torch.zeros_like(gap[:, :1])], 1)  # a gap after the end: the other path
    stepwise = filter_sequences(model, torch.cat([values, values[:, :1]], 1), gap)
    torch.testing.assert_close(at_once.predictions, stepwise.predictions[:, :-1], rtol=1e-12, atol=1e-12)
    for one, other in zip(at_once.states, stepwise.states, strict=True):
        torch.testing.assert_close(one, other[:, :-1], rtol=1e-12, atol=1e-12)
