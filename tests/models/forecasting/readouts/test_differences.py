"""Readouts of differences from the last row, and horizons that share one regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.baselines.echo_state import EchoState
from models.baselines.no_state import NoState
from models.forecasting.filtering import MaskedSequences, filter_sequences, scored_steps
from models.forecasting.fitting import Problem
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.readouts.differences import Differences
from models.forecasting.readouts.fit import fit_grouped
from models.forecasting.readouts.naive import naive_errors
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.rolling import roll
from models.numerics.ridge import AffineMap
from models.runtime.seeding import generators_of

FIRST, LAGS = 6, 3
DIFFERENCED = GroupedSettings(lags=LAGS, traces=(5.0,), direct=4, difference=True)
SHARED = replace(DIFFERENCED, shared=True)


def drifting(count: int, *, seed: int, steps: int = 60) -> MaskedSequences:
    """Two features that swing about a level, which wanders."""
    noise = np.random.default_rng(seed)
    level = noise.normal(size=(count, steps, 2)).cumsum(1)
    swing = np.sin(0.7 * np.arange(steps) + noise.uniform(0, 6, (count, 1)))[..., np.newaxis] * [1.0, 0.5]
    values = torch.from_numpy(level + swing)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values, mask, scored_steps(mask, first_step=FIRST))


def fitted(settings: GroupedSettings, method=None):
    train, validation = drifting(5, seed=0), drifting(3, seed=1)
    readout = ReadoutSettings(LAGS, (1e-2,), "none", (1e-2,))
    base = (method or NoState()).fit(Problem(train, validation, readout, generators_of(0)("weights"))).model
    return fit_grouped(base, train, validation, settings, generators_of(0))


def forecasts(model, values: torch.Tensor) -> torch.Tensor:
    filtered = filter_sequences(model, values, torch.ones_like(values, dtype=torch.bool))
    return roll(model, tuple(part[:, -1] for part in filtered.states), len(model.direct))


def test_a_map_of_differences_is_a_map_of_the_inputs_as_they_are() -> None:
    differences = Differences(first=2, lags=3, rows=4, dimension=2)
    inputs, generator = torch.arange(20.0, dtype=torch.float64).reshape(2, 10).sqrt(), np.random.default_rng(0)
    fit = AffineMap(*(torch.from_numpy(generator.normal(size=shape)) for shape in ((6, 10), (6,))))
    last = inputs[:, 6:8]
    differenced = torch.cat([inputs[:, :2], inputs[:, 2:] - last.repeat(1, 4)], 1)
    torch.testing.assert_close(differences.apply(inputs), differenced)
    torch.testing.assert_close(differences.undone(fit)(inputs), fit(differenced) + last.repeat(1, 3))


@pytest.mark.parametrize("settings", [DIFFERENCED, SHARED], ids=["apart", "shared"])
def test_without_a_state_a_level_is_carried_along(settings) -> None:
    model, values = fitted(replace(settings, traces=())).model, drifting(2, seed=2).values
    model.direct[:] = True
    torch.testing.assert_close(forecasts(model, values + 100.0), forecasts(model, values) + 100.0)


def test_lags_without_differences_do_not_carry_a_level_along() -> None:
    model, values = fitted(replace(DIFFERENCED, traces=(), difference=False)).model, drifting(2, seed=2).values
    model.direct[:] = True
    assert not torch.allclose(forecasts(model, values + 100.0), forecasts(model, values) + 100.0)


def test_shared_maps_are_one_regression_written_out() -> None:
    fit = fitted(SHARED, EchoState(units=5))
    model, train = fit.model, drifting(5, seed=0)
    states = model.states_observed(model.initial_state(5), train.values)
    raw = model.inputs(states)[:, FIRST : 60 - 4 + 1].flatten(0, 1).numpy()
    ahead = train.values.unfold(1, 4, 1)[:, FIRST:].transpose(2, 3).flatten(0, 1).numpy()
    assert model.group_sizes == (5, 6, 2, 0)
    last = raw[:, 9:11]
    inputs = np.concatenate([raw[:, :5], raw[:, 5:] - np.tile(last, 4)], 1)
    scale = inputs.std(0)
    scale[9:11] = 1.0
    columns, targets = (inputs - inputs.mean(0)) / scale, (ahead - last[:, np.newaxis]).reshape(len(raw), -1)
    ridges = np.repeat([fit.horizons[0].ridges[name] for name in ("state", "lags", "traces")], [5, 6, 2])
    gram = columns.T @ columns / len(columns) + np.diag(ridges)
    weights = np.linalg.solve(gram, columns.T @ (targets - targets.mean(0)) / len(columns))
    expected = columns @ weights + targets.mean(0) + np.tile(last, 4)
    ours = torch.from_numpy(raw) @ model.weight.flatten(0, 1).T + model.bias.flatten()
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-7, atol=1e-9)


def test_shared_horizons_have_the_same_ridges_and_none_is_iterated() -> None:
    fit = fitted(SHARED)
    assert bool(fit.model.direct.all())
    assert all(each.ridges == fit.horizons[0].ridges and np.isnan(each.iterated_error) for each in fit.horizons)
    validation = drifting(3, seed=1)
    states = fit.model.states_observed(fit.model.initial_state(3), validation.values)
    begun = tuple(part[:, FIRST:57].flatten(0, 1) for part in states)
    ahead = fit.model.forecast_ahead(begun, [1, 2, 3, 4])
    errors = (ahead - validation.values.unfold(1, 4, 1)[:, FIRST:].transpose(2, 3).flatten(0, 1)).square()
    np.testing.assert_allclose([each.direct_error for each in fit.horizons], errors.mean((0, 2)).numpy())


def test_shared_horizons_are_scored_by_the_features_that_are_scored_at_all() -> None:
    """As of an estimator whose target is the first of two columns."""
    train, validation = drifting(5, seed=0), drifting(3, seed=1)
    validation.scored[..., 1] = False
    readout = ReadoutSettings(LAGS, (1e-2,), "none", (1e-2,))
    base = NoState().fit(Problem(train, validation, readout, generators_of(0)("weights"))).model
    fit = fit_grouped(base, train, validation, SHARED, generators_of(0))
    states = fit.model.states_observed(fit.model.initial_state(3), validation.values)
    begun = tuple(part[:, FIRST:57].flatten(0, 1) for part in states)
    truth = validation.values.unfold(1, 4, 1)[:, FIRST:, 0].flatten(0, 1)
    errors = (fit.model.forecast_ahead(begun, [1, 2, 3, 4])[..., 0] - truth).square().mean(0)
    np.testing.assert_allclose([each.direct_error for each in fit.horizons], errors.numpy())
    naive = naive_errors(validation, history=LAGS, horizons=4, shared=True)
    np.testing.assert_allclose([each.mean for each in naive], truth.square().mean(0).numpy())


def test_one_horizon_is_the_same_shared_or_not() -> None:
    alone, shared = (fitted(replace(DIFFERENCED, direct=1, shared=shared)).model for shared in (False, True))
    torch.testing.assert_close(alone.weight, shared.weight)
    torch.testing.assert_close(alone.bias, shared.bias)


def test_differences_need_lags_and_shared_horizons_rows_that_are_wholly_scored() -> None:
    with pytest.raises(ValueError, match=r"^difference takes the last row from what is seen; give lags"):
        GroupedSettings(lags=0, traces=(3.0,), difference=True)
    train, validation = drifting(5, seed=0), drifting(3, seed=1)
    train.scored[:, ::3] = False
    base = NoState().fit(Problem(train, validation, ReadoutSettings(3, (1.0,), "none"), generators_of(0)("w"))).model
    with pytest.raises(
        ValueError,
        match=r"no row has all of its next 4 rows scored; lower direct, or give each of them a regression of its own$",
    ):
        fit_grouped(base, train, validation, SHARED, generators_of(0))
