"""Subspace identification against the Kalman filter of the system that made the data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from models.baselines import subspace
from models.baselines.kalman import Kalman, build_kalman, fit_kalman
from models.baselines.subspace import (
    StateSpace,
    complete_windows,
    principal_components,
    stabilised,
    steady_gain,
    window_moment,
)
from models.forecasting.filtering import FiltersObserved, filter_sequences, scored_steps
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.rolling import roll
from models.numerics.ridge import masked_mse

Part = tuple[Tensor, Tensor, Tensor]

TRANSITION = torch.tensor([[0.9, 0.3], [-0.3, 0.9]], dtype=torch.float64) * 0.98
READOUT = torch.tensor([[1.0, 0.0], [0.5, -0.8], [0.3, 1.2]], dtype=torch.float64)
STATE_NOISE, OBSERVATION_NOISE = 0.3, 0.7


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def simulate(sequences: int, steps: int, *, seed: int, burn: int = 100) -> Tensor:
    """(sequence, time, 3) of x ← A x + w, o = C x + v, after `burn` steps."""
    noise, blur = normal(sequences, steps + burn, 2, seed=seed), normal(sequences, steps, 3, seed=seed + 1000)
    x = torch.zeros(sequences, 2, dtype=torch.float64)
    states = []
    for t in range(steps + burn):
        states.append(x)
        x = x @ TRANSITION.T + STATE_NOISE * noise[:, t]
    return torch.stack(states[burn:], 1) @ READOUT.T + OBSERVATION_NOISE * blur


def true_gain() -> Tensor:
    """K of the true system, by iterating the Riccati difference equation from P = I."""
    p, k = torch.eye(2, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.float64)
    blur, drive = (
        size**2 * torch.eye(n, dtype=torch.float64) for size, n in ((OBSERVATION_NOISE, 3), (STATE_NOISE, 2))
    )
    for _ in range(500):
        spread = READOUT @ p @ READOUT.T + blur
        k = TRANSITION @ p @ READOUT.T @ torch.linalg.inv(spread)
        p = TRANSITION @ p @ TRANSITION.T + drive - k @ spread @ k.T
    return k


def oracle() -> Kalman:
    return build_kalman(StateSpace(TRANSITION, true_gain(), READOUT), torch.zeros(3, dtype=torch.float64), None)


def part_of(values: Tensor, lengths: list[int] | None = None, *, missing: float = 0.0) -> Part:
    """values, mask and scored; beyond the lengths and where an entry is missing, values hold nonsense."""
    mask = torch.ones(values.shape, dtype=torch.bool)
    for i, length in enumerate(lengths or []):
        mask[i, length:] = False
    mask &= torch.rand(values.shape, generator=torch.Generator().manual_seed(7)) >= missing
    return torch.where(mask, values, 1e3), mask, scored_steps(mask, first_step=4)


@torch.no_grad()
def error(model: Kalman, part: Part) -> float:
    return float(masked_mse(filter_sequences(model, part[0], part[1]).predictions, part[0], part[2]))


class Case(NamedTuple):
    train: Part
    validation: Part
    test: Part


def one_long(dtype: torch.dtype = torch.float64) -> Case:
    sizes = {"train": (1, 4000, 0), "validation": (1, 2000, 1), "test": (4, 1000, 2)}
    return Case(*(part_of(simulate(n, steps, seed=seed).to(dtype)) for n, steps, seed in sizes.values()))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_one_step_error_is_that_of_the_true_filter(dtype: torch.dtype) -> None:
    case = one_long(dtype)
    model = fit_kalman(case.train, orders=[2], block=5)[2]
    best = error(oracle().to(dtype), case.test)
    assert model.gain.dtype == dtype
    assert error(model, case.test) < 1.01 * best
    assert best < 0.8 * float(masked_mse(torch.zeros_like(case.test[0]), case.test[0], case.test[2]))


def test_identified_poles_are_the_true_ones() -> None:
    case = one_long()
    model = fit_kalman(case.train, orders=[2], block=5)[2]
    poles = torch.linalg.eigvals(model.transition.detach()).abs()
    torch.testing.assert_close(poles, torch.linalg.eigvals(TRANSITION).abs(), rtol=0.03, atol=0)


def test_a_change_of_state_coordinates_changes_no_prediction() -> None:
    system, turn = StateSpace(TRANSITION, true_gain(), READOUT), normal(2, 2, seed=3)
    back = torch.linalg.inv(turn)
    turned = StateSpace(turn @ system.transition @ back, turn @ system.gain, system.readout @ back)
    bias = torch.tensor([0.1, -0.2, 0.3], dtype=torch.float64)
    values, mask, _ = part_of(simulate(2, 50, seed=4), missing=0.2)
    models = (build_kalman(one, bias, None) for one in (system, turned))
    one, two = (filter_sequences(model, values, mask).predictions.detach() for model in models)
    torch.testing.assert_close(one, two)


def test_short_sequences_serve_as_well_as_a_long_one() -> None:
    case = one_long()
    lengths = [40 + i for i in range(50)]
    short = part_of(simulate(50, 89, seed=5), lengths)
    model = fit_kalman(short, orders=[2], block=5)[2]
    assert error(model, case.test) < 1.02 * error(oracle(), case.test)


def test_gaps_in_training_and_in_filtering() -> None:
    train = part_of(simulate(1, 6000, seed=0), missing=0.03)
    test = part_of(simulate(4, 1000, seed=2), missing=0.1)
    model = fit_kalman(train, orders=[2], block=3)[2]
    assert error(model, test) < 1.02 * error(oracle(), test)


class StepByStep:
    """A filter with what filters step by step alone."""

    def __init__(self, model: Kalman) -> None:
        self.initial_state, self.predict, self.update = model.initial_state, model.predict, model.update


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("rows", [1, 2, 200])
@torch.no_grad()
def test_observed_stretches_are_filtered_at_once_as_step_by_step(
    rows: int, dtype: torch.dtype, tolerance: float
) -> None:
    """Of several series, without gaps and with them; the first is whole in both."""
    model = build_kalman(StateSpace(TRANSITION, true_gain(), READOUT), normal(3, seed=8), None)
    model.initial.copy_(normal(2, seed=9))
    model = model.to(dtype)
    assert isinstance(model, FiltersObserved)
    values = simulate(4, rows, seed=10).to(dtype)
    gaps = torch.ones(values.shape, dtype=torch.bool)
    gaps[1, :3] = gaps[2:, 50:53, 1] = gaps[3, 90:] = False
    for mask in (torch.ones_like(gaps), gaps):
        found, expected = (filter_sequences(one, values, mask) for one in (model, StepByStep(model)))
        for name in ("predictions", "filled"):
            torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(found.states[0], expected.states[0], rtol=tolerance, atol=tolerance)


def test_a_gap_is_the_same_as_two_sequences() -> None:
    values = simulate(1, 300, seed=6)
    whole = part_of(values)
    whole[1][0, 120, 1] = False
    split = torch.zeros(2, 180, 3, dtype=torch.float64)
    split[0, :121], split[1, :179] = values[0, :121], values[0, 121:]
    halves = part_of(split, [121, 179])
    halves[1][0, 120, 1] = False
    first, second = (fit_kalman(part, orders=[2], block=4)[2] for part in (whole, halves))
    for one, two in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(one.abs(), two.abs())


def test_moment_is_the_mean_over_complete_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    values, mask, _ = part_of(simulate(3, 20, seed=8), [20, 3, 12], missing=0.03)
    kept = [values[s, t : t + 4].flatten() for s in range(3) for t in range(17) if bool(mask[s, t : t + 4].all())]
    assert 5 < len(kept) < 26
    monkeypatch.setattr(subspace, "CHUNK_BYTES", 400)
    found = window_moment(values, complete_windows(mask, 4), 4)
    torch.testing.assert_close(found, sum(torch.outer(w, w) for w in kept) / len(kept))


def test_each_order_is_identified_as_by_itself() -> None:
    case = one_long()
    models = fit_kalman(case.train, orders=[1, 2, 15], block=5)
    assert list(models) == [1, 2, 15]
    errors = {n: error(model, case.validation) for n, model in models.items()}
    assert min(errors, key=errors.__getitem__) == 2
    assert errors[1] > 1.1 * errors[2]
    for n, found in errors.items():
        assert error(fit_kalman(case.train, orders=[n], block=5)[n], case.validation) == pytest.approx(found, rel=1e-9)


def test_many_features_are_identified_on_their_principal_components() -> None:
    case = one_long()
    lift = torch.linalg.qr(normal(800, 3, seed=9))[0].T
    blur = 0.01
    train, _, test = (
        part_of(p[0] @ lift + 2.0 + blur * normal(*p[0].shape[:2], 800, seed=10 + i))
        for i, p in enumerate(part_of(p[0][:1, :1500]) for p in case)
    )
    model = fit_kalman(train, orders=[2], block=3, components=3)[2]
    floor = 3 * error(oracle(), part_of(case.test[0][:1])) / 800 + blur**2
    assert model.readout.shape == (800, 2)
    assert error(model, test) == pytest.approx(floor, rel=0.03)


def test_principal_components_span_what_an_eigendecomposition_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subspace, "CHUNK_BYTES", 8 * 30 * 50)
    values, mask, _ = part_of(normal(5, 40, 30, seed=11) * torch.linspace(3, 0.1, 30).square(), missing=0.01)
    rows = values[mask.all(2)]
    expected = torch.linalg.eigh(rows.T @ rows)[1][:, -4:]
    found = principal_components(values, mask, 4)
    torch.testing.assert_close(found @ found.T, expected @ expected.T, rtol=0, atol=1e-4)
    assert principal_components(values[:1, :2], mask[:1, :2], 4).shape == (30, 2)


def test_constant_and_repeated_features_do_no_harm() -> None:
    case = one_long()

    def widened(part: Part) -> Part:
        values = part[0]
        return part_of(torch.cat([values, torch.zeros_like(values[:, :, :1]), values[:, :, :1]], 2))

    model = fit_kalman(widened(case.train), orders=[2], block=5)[2]
    values, _, scored = (part[:, :, :3] for part in widened(case.test))
    with torch.no_grad():
        predictions = filter_sequences(model, *widened(case.test)[:2]).predictions
    assert float(masked_mse(predictions[:, :, :3], values, scored)) < 1.02 * error(oracle(), case.test)
    assert float(predictions[:, :, 3].abs().max()) < 1e-3
    torch.testing.assert_close(predictions[:, :, 4], predictions[:, :, 0], rtol=0, atol=1e-3)


def noise_covariance() -> Tensor:
    return torch.diag(torch.tensor([OBSERVATION_NOISE**2] * 3 + [STATE_NOISE**2] * 2, dtype=torch.float64))


def test_steady_gain_solves_the_riccati_equation() -> None:
    torch.testing.assert_close(steady_gain(TRANSITION, READOUT, noise_covariance()), true_gain())


def test_a_failed_riccati_solution_is_said_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> np.ndarray:
        raise np.linalg.LinAlgError("no finite solution")

    monkeypatch.setattr(subspace, "solve_discrete_are", fail)
    residual = noise_covariance()
    residual[3:, :3] = normal(2, 3, seed=12) * 0.01
    residual[:3, 3:] = residual[3:, :3].T
    with pytest.warns(
        UserWarning, match=r"no Riccati solution for 2 states \(no finite solution\); the regressed gain"
    ):
        found = steady_gain(TRANSITION, READOUT, residual)
    torch.testing.assert_close(found, residual[3:, :3] / OBSERVATION_NOISE**2)


def test_an_unstable_filter_is_shrunk_aloud() -> None:
    system = StateSpace(1.2 * TRANSITION, 0.1 * true_gain(), READOUT)
    with pytest.warns(
        UserWarning,
        match=r"2 states is unstable \(spectral radius 1\.0\d+\); A and K are scaled down to .* 0\.999",
    ):
        found = stabilised(system)
    closed = found.transition - found.gain @ found.readout
    assert float(torch.linalg.eigvals(closed).abs().max()) == pytest.approx(0.999)
    stable = StateSpace(TRANSITION, true_gain(), READOUT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stabilised(stable) is stable


def test_orders_out_of_range_are_skipped_by_name() -> None:
    part = part_of(simulate(1, 400, seed=13))
    with pytest.warns(UserWarning, match="orders above 6, block · features, are skipped: 7, 40"):
        assert list(fit_kalman(part, orders=[2, 7, 40], block=2)) == [2]
    with pytest.raises(ValueError, match=r"every order of \[7, 8\] is above 6, block · features"):
        fit_kalman(part, orders=[7, 8], block=2)


def test_impossible_input_is_named() -> None:
    part = part_of(simulate(2, 30, seed=14))
    every_fifth = (part[0], part[1].clone(), part[2])
    every_fifth[1][:, ::5, 0] = False
    with pytest.raises(ValueError, match=r"block \(0\) and components \(64\) must be at least 1"):
        fit_kalman(part, orders=[1], block=0)
    for orders in ([], [0, 2]):
        with pytest.raises(ValueError, match="needs orders of at least 1 to choose from, got"):
            fit_kalman(part, orders=orders, block=2)
    with pytest.raises(ValueError, match="no training sequence has 6 entirely observed steps in a row; lower"):
        fit_kalman(every_fifth, orders=[1], block=3)
    with pytest.raises(ValueError, match="no training sequence has 62 entirely observed steps"):
        fit_kalman(part, orders=[1], block=31)
    with pytest.raises(ValueError, match="state of at least 1 dimension, got 0"):
        Kalman(dimension=3, state=0)


def test_forecasts_follow_the_transition() -> None:
    model = oracle()
    start = (normal(2, 2, seed=15),)
    powers = [torch.linalg.matrix_power(TRANSITION, h) for h in range(4)]
    expected = torch.stack([start[0] @ power.T @ READOUT.T for power in powers], 1)
    torch.testing.assert_close(roll(model, start, 4).detach(), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_round_trip_through_files_changes_nothing(dtype: torch.dtype, tmp_path: Path) -> None:
    part = part_of(simulate(1, 400, seed=16).to(dtype))
    model = fit_kalman(part, orders=[3], block=3)[3]
    names = ("a", "b", "c")
    first = Forecaster(model, mean=torch.tensor([1.0, 2.0, 3.0]), scale=torch.ones(3), feature_names=names)
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    series = simulate(1, 20, seed=17)[0].numpy()
    series[5] = np.nan
    assert isinstance(second.model, Kalman)
    assert np.array_equal(first.predict(series), second.predict(series))
    assert np.array_equal(first.forecast(series, 5), second.forecast(series, 5))
