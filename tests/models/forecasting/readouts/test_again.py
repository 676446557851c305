"""A grouped readout solved again: the same along the same rows, and the ridge regression of other ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from models.baselines.echo_state import EchoState
from models.baselines.no_state import NoState
from models.forecasting.filtering import MaskedSequences
from models.forecasting.readouts.again import grouped_again
from models.forecasting.readouts.fit import GroupedFit, fit_grouped
from models.forecasting.readouts.settings import GroupedSettings
from models.runtime.seeding import generators_of
from small_problems import oscillation, small_problem, with_gap

KERNEL = GroupedSettings(lags=3, traces=(4.0,), count=10, whiten=0.5, direct=3)


def fitted(settings: GroupedSettings, method: Any = EchoState(units=8), *, train: Any = oscillation(1)) -> GroupedFit:  # noqa: B008
    base = method.fit(small_problem(lags=2)).model
    return fit_grouped(base, train, oscillation(2), settings, generators_of(0))


def again_along(rows: MaskedSequences, fit: GroupedFit, settings: GroupedSettings) -> Any:
    return grouped_again(fit.model, rows, fit.horizons, shared=settings.shared, difference=settings.difference)


@pytest.mark.parametrize("changes", [{}, {"shared": True}, {"difference": True}, {"shared": True, "difference": True}])
def test_along_the_same_rows_it_is_the_same_and_along_others_it_is_not(changes: dict[str, Any]) -> None:
    settings = replace(KERNEL, **changes)
    fit = fitted(settings)
    before = fit.model.weight.clone()
    same, other = (again_along(rows, fit, settings) for rows in (oscillation(1), oscillation(5)))
    torch.testing.assert_close(same.weight, before, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(same.bias, fit.model.bias, rtol=1e-9, atol=1e-9)
    assert (other.weight - before).abs().amax((1, 2)).min() > 1e-3  # the map of each horizon
    torch.testing.assert_close(fit.model.weight, before, rtol=0, atol=0)
    for kept in ("direct", "features.frequencies", "base.readout_weight"):
        torch.testing.assert_close(other.state_dict()[kept], fit.model.state_dict()[kept], rtol=0, atol=0)


def test_it_is_the_ridge_regression_of_these_rows() -> None:
    """minimise mean‖y − Mz − c‖² + λ‖M‖², z the two last rows in standard deviations, y the row two steps ahead."""
    settings, rows = GroupedSettings(lags=2, direct=2), oscillation(5, sequences=1)
    fit = fitted(settings, NoState())
    values = rows.values[0].numpy()
    seen = np.hstack([values[:-2], values[1:-1]])  # before the rows from the third on
    z = (seen - seen.mean(0)) / seen.std(0)
    centred, y = z[:-1] - z[:-1].mean(0), values[3:]
    gram = centred.T @ centred / len(y) + fit.horizons[1].ridges["lags"] * np.eye(4)
    weight = np.linalg.solve(gram, centred.T @ (y - y.mean(0)) / len(y)).T / seen.std(0)
    again = again_along(rows, fit, settings)
    np.testing.assert_allclose(again.weight[1].numpy(), weight, rtol=1e-9)
    np.testing.assert_allclose(again.bias[1].numpy(), y.mean(0) - weight @ seen[:-1].mean(0), rtol=1e-9)


def test_gaps_are_filled_by_the_model_and_then_by_the_one_solved_first() -> None:
    rows = with_gap(oscillation(5))
    fit = fitted(KERNEL)
    again = again_along(rows, fit, KERNEL)
    twice = fit.model
    for _ in range(2):  # without gaps one solution is all there is
        filled = torch.where(rows.mask, rows.values, filtered_values(twice, rows))
        whole = MaskedSequences(filled, torch.ones_like(rows.mask), rows.scored)
        twice = again_along(whole, fit._replace(model=twice), KERNEL)
    torch.testing.assert_close(again.weight, twice.weight, rtol=1e-6, atol=1e-6)


@torch.no_grad()
def filtered_values(model: Any, rows: MaskedSequences) -> torch.Tensor:
    state, filled = model.initial_state(len(rows.values)), []
    for value, there in zip(rows.values.unbind(1), rows.mask.unbind(1), strict=True):
        filled.append(torch.where(there, value, model.predict(state)))
        state = model.update(state, filled[-1])
    return torch.stack(filled, 1)
