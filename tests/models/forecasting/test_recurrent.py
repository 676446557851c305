"""What all recurrent models share, on a model small enough to follow by eye; and the readout that is solved on it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.forecasting.filtering import State, filter_sequences
from models.forecasting.fitting import with_readout
from models.forecasting.recurrent import Recurrent, trained_parameters
from models.numerics.ridge import AffineMap, masked_mse
from small_problems import oscillation, small_problem


class Decay(Recurrent):
    """Two exponential means of the observations; the readout sees the quick one."""

    def __init__(self, *, lags: int) -> None:
        super().__init__(dimension=2, exposed=2, lags=lags)
        self.architecture = {"lags": lags}

    def initial_belief(self, batch: int) -> State:
        zeros = self.readout_bias.new_zeros(batch, 2)
        return zeros, zeros

    def advance(self, belief: State, observation: Tensor) -> State:
        return 0.5 * belief[0] + observation, 0.9 * belief[1] + observation


def with_random_readout(lags: int, dtype: torch.dtype) -> tuple[Decay, AffineMap]:
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(2, 2 + 2 * lags, generator=generator, dtype=torch.float64)
    readout = AffineMap(weight, torch.randn(2, generator=generator, dtype=torch.float64))
    model = Decay(lags=lags).to(dtype)
    model.set_readout(readout)
    return model, readout


def inputs_by_hand(values: Tensor, lags: int) -> Tensor:
    """[Σ_{j≥1} 2^{1−j} o_{t−j}, o_{t−lags}, …, o_{t−1}] of one sequence (time, feature), with 0 before its begin."""
    rows = []
    for t in range(len(values)):
        mean = sum((0.5 ** (j - 1) * values[t - j] for j in range(1, t + 1)), torch.zeros(2, dtype=values.dtype))
        recent = [values[t - j] if j <= t else torch.zeros(2, dtype=values.dtype) for j in range(lags, 0, -1)]
        rows.append(torch.cat([mean, *recent]))
    return torch.stack(rows)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("lags", [0, 1, 3])
@torch.no_grad()
def test_readout_is_affine_in_the_exposed_state_and_the_last_observations(
    lags: int, dtype: torch.dtype, tolerance: float
) -> None:
    model, readout = with_random_readout(lags, dtype)
    values, mask, _ = oscillation(0, sequences=2, steps=7, dtype=dtype)
    found = filter_sequences(model, values, mask)
    for sequence, predictions, inputs in zip(
        values, found.predictions, model.readout_inputs(found.states), strict=True
    ):
        expected = inputs_by_hand(sequence, lags)
        torch.testing.assert_close(inputs, expected, rtol=tolerance, atol=tolerance)
        by_hand = (expected.double() @ readout.weight.T + readout.bias).to(dtype)
        torch.testing.assert_close(predictions, by_hand, rtol=tolerance, atol=tolerance)


@torch.no_grad()
def test_before_the_first_observation_the_readout_sees_zeros() -> None:
    model, readout = with_random_readout(2, torch.float64)
    state = model.initial_state(3)
    assert [tuple(part.shape) for part in state] == [(3, 2), (3, 2), (3, 4), (3, 1)]
    assert not any(bool(part.any()) for part in state)
    assert torch.equal(model.predict(state), readout.bias.expand(3, -1))


def test_every_number_that_is_fitted_is_counted() -> None:
    model = Decay(lags=3)
    assert trained_parameters(model) == 2 * (2 + 3 * 2) + 2
    model.readout_bias.requires_grad_(False)
    assert trained_parameters(model) == 2 * (2 + 3 * 2)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_readout_solves_the_normal_equations_of_the_scored_steps(dtype: torch.dtype, tolerance: float) -> None:
    problem = small_problem(lags=2, dtype=dtype)
    problem = problem._replace(readout=problem.readout._replace(ridges=[0.3]))
    model, chosen = with_readout(Decay(lags=2), problem)
    assert isinstance(model, Decay)
    assert chosen == {"readout.ridge": 0.3}
    assert model.readout_weight.dtype == dtype
    inputs = torch.cat([inputs_by_hand(sequence, 2)[2:] for sequence in problem.train.values.double()])
    targets = problem.train.values[:, 2:].flatten(0, 1).double()
    x, y = inputs - inputs.mean(0), targets - targets.mean(0)
    weight = torch.linalg.solve(x.T @ x / len(x) + 0.3 * torch.eye(6, dtype=torch.float64), x.T @ y / len(x)).T
    torch.testing.assert_close(model.readout_weight.detach().double(), weight, rtol=tolerance, atol=tolerance)
    bias = targets.mean(0) - weight @ inputs.mean(0)
    torch.testing.assert_close(model.readout_bias.detach().double(), bias, rtol=tolerance, atol=tolerance)


@torch.no_grad()
def test_the_state_may_have_a_ridge_of_its_own() -> None:
    problem = small_problem(lags=2)
    settings = problem.readout._replace(ridges=[0.3, 5.0], state_ridges=[1e-3, 1e3])
    model, chosen = with_readout(Decay(lags=2), problem._replace(readout=settings))
    assert isinstance(model, Decay)
    errors = {}
    for candidate in settings.candidates():
        alone, found = with_readout(Decay(lags=2), problem._replace(readout=settings.only(candidate)))
        assert isinstance(alone, Decay)
        assert found == candidate
        predictions = filter_sequences(alone, problem.validation.values, problem.validation.mask).predictions
        error = float(masked_mse(predictions, problem.validation.values, problem.validation.scored))
        errors[candidate["readout.ridge"], candidate["readout.state_ridge"]] = error, alone.readout_weight
    assert set(errors) == {(0.3, 1e-3), (0.3, 1e3), (5.0, 1e-3), (5.0, 1e3)}
    best = min(errors, key=lambda pair: errors[pair][0])
    assert chosen == {"readout.ridge": best[0], "readout.state_ridge": best[1]}
    torch.testing.assert_close(model.readout_weight, errors[best][1])
    inputs = torch.cat([inputs_by_hand(sequence, 2)[2:] for sequence in problem.train.values])
    targets = problem.train.values[:, 2:].flatten(0, 1)
    x, y = inputs - inputs.mean(0), targets - targets.mean(0)
    penalty = torch.tensor([best[1]] * 2 + [best[0]] * 4, dtype=torch.float64).diag()
    weight = torch.linalg.solve(x.T @ x / len(x) + penalty, x.T @ y / len(x)).T
    torch.testing.assert_close(model.readout_weight.detach(), weight)


def test_without_lags_the_ridges_of_the_state_take_the_place_of_the_others() -> None:
    settings = small_problem(lags=2).readout._replace(lags=0, ridges=[0.3], state_ridges=[1e-3, 2.0])
    assert settings.candidates() == [{"readout.ridge": 1e-3}, {"readout.ridge": 2.0}]
    assert settings.only({"readout.ridge": 2.0}).candidates() == [{"readout.ridge": 2.0}]


def test_ridge_of_the_readout_is_chosen_on_the_validation_part() -> None:
    problem = small_problem(lags=2)
    assert with_readout(Decay(lags=2), problem).chosen == {"readout.ridge": 1e-6}
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(problem.validation.values.shape, generator=generator, dtype=torch.float64)
    validation = problem.validation._replace(values=noise)
    chosen = with_readout(Decay(lags=2), problem._replace(validation=validation)).chosen
    assert chosen == {"readout.ridge": 1e6}
