"""Errors of forecasts of several steps, beside forecasts made one by one; and what a choice by them changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from models import KalmanForecaster, LSTMForecaster, MinGRUForecaster, VARForecaster
from models.baselines.autoregression import VAR, Autoregression
from models.baselines.persistence import Persistence
from models.forecasting import errors_ahead
from models.forecasting.errors_ahead import error_ahead_of, least_ahead, mean_error_ahead
from models.forecasting.filtering import MaskedSequences, one_step_error
from models.forecasting.fitting import Fitted, Problem
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.rolling import roll
from oracles import final_state


def part(rows: int, *, gap: bool = False) -> MaskedSequences:
    generator = torch.Generator().manual_seed(rows)
    values = torch.randn(2, rows, 2, generator=generator, dtype=torch.float64).cumsum(1)
    mask = torch.ones_like(values, dtype=torch.bool)
    if gap:
        mask[1, rows // 2] = False
    scored = mask.clone()
    scored[:, :10] = False
    return MaskedSequences(torch.where(mask, values, 0.0), mask, scored)


@pytest.fixture(scope="module")
def fits() -> list[Fitted]:
    problem = Problem(part(80), part(40), ReadoutSettings(0, (1.0,), "none"), torch.Generator())
    return VAR(orders=[1, 3], ridges=[1e-2, 10.0]).candidates(problem)


@torch.no_grad()
def by_hand(model: Any, held_out: MaskedSequences) -> float:
    values, mask, scored = held_out
    squares: list[list[float]] = [[] for _ in range(24)]
    begins = [(sequence, row) for sequence in range(2) for row in range(10, 40) if bool(scored[sequence, row].any())]
    for sequence, row in begins:
        state = final_state(model, values[sequence : sequence + 1, :row], mask[sequence : sequence + 1, :row])
        ahead = roll(model, state, 24)[0]
        for step in range(min(24, 40 - row)):
            counted = scored[sequence, row + step]
            squares[step] += (ahead[step] - values[sequence, row + step])[counted].square().tolist()
    return math.exp(sum(math.log(sum(own) / len(own)) for own in squares) / 24)


@pytest.mark.parametrize("gap", [False, True])
def test_an_error_ahead_is_that_of_forecasts_one_by_one(gap: bool, fits: list[Fitted]) -> None:
    held_out = part(40, gap=gap)
    for fitted in fits:
        model: Any = fitted.model
        assert error_ahead_of(model, held_out, leads=0) == pytest.approx(by_hand(model, held_out), rel=1e-9)


def test_orders_come_with_their_ridges_and_the_least_error_ahead_is_taken(fits: list[Fitted]) -> None:
    assert [fitted.chosen["order"] for fitted in fits] == [1, 3]
    assert {fitted.chosen["ridge"] for fitted in fits} <= {1e-2, 10.0}
    models: list[Any] = [fitted.model for fitted in fits]
    errors = [by_hand(model, part(40)) for model in models]
    assert max(errors) > 1.001 * min(errors)
    assert least_ahead(fits, part(40), leads=0) is fits[errors.index(min(errors))]


def test_of_equal_errors_the_first_is_taken() -> None:
    same = [Fitted(Autoregression(dimension=2, order=order).double(), {}) for order in (2, 1)]
    assert least_ahead(same, part(40), leads=0) is same[0]


def test_of_errors_that_are_rounding_the_first_is_taken(monkeypatch: pytest.MonkeyPatch, fits: list[Fitted]) -> None:
    for first, expected in ((1e-20, fits[0]), (1e-3, fits[1])):
        errors = iter([first, 1e-22])
        monkeypatch.setattr(errors_ahead, "error_ahead_of", lambda *_, errors=errors, **__: next(errors))
        assert least_ahead(fits, part(40), leads=0) is expected


def test_a_single_model_is_not_forecast_with() -> None:
    nothing_scored = part(40)
    nothing_scored.scored[:] = False
    only = Fitted(Autoregression(dimension=2, order=1).double(), {})
    assert least_ahead([only], nothing_scored, leads=0) is only


def wave_on_a_walk() -> np.ndarray:
    """A wave of 24 rows on a slow walk: few rows back say most of the next one, and little of the day to come."""
    walk = 0.05 * np.random.default_rng(1).normal(size=504).cumsum()[:480]
    return np.sin(2 * np.pi * np.arange(480) / 24) + walk


def test_an_estimator_chooses_its_order_by_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    forecaster = VARForecaster(orders=[24, 2])
    assert forecaster.fit(wave_on_a_walk()).chosen_["order"] == 24
    with monkeypatch.context() as patch:
        patch.setattr("models.baselines.estimators.least_ahead", by_one_step)
        with pytest.warns(UserWarning, match="a naive forecast"):
            assert forecaster.fit(wave_on_a_walk()).chosen_["order"] == 2


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_an_autoregression_s_ridge_is_chosen_by_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    noisy = np.sin(2 * np.pi * np.arange(480) / 24) + 0.05 * generator.normal(size=480).cumsum()
    noisy += 0.3 * generator.normal(size=480)
    forecaster = VARForecaster(orders=24)
    assert forecaster.fit(noisy).chosen_ == {"order": 24, "ridge": 100.0}
    monkeypatch.setattr("models.baselines.estimators.least_ahead", by_one_step)
    assert forecaster.fit(noisy).chosen_ == {"order": 24, "ridge": 1e-3}


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_a_kalman_filter_s_order_is_chosen_by_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    forecaster = KalmanForecaster(blocks=[4, 2], orders=[2])
    assert forecaster.fit(wave_on_a_walk()).chosen_ == {"block": 4, "order": 2}
    with monkeypatch.context() as patch:
        patch.setattr("models.baselines.estimators.least_ahead", by_one_step)
        assert forecaster.fit(wave_on_a_walk()).chosen_ == {"block": 4, "order": 4}


def by_one_step(fits: list[Fitted], held_out: MaskedSequences, *, leads: int) -> Fitted:
    assert leads == 0
    models: list[Any] = [fitted.model for fitted in fits]
    return min(zip(fits, models, strict=True), key=lambda pair: one_step_error(pair[1], held_out))[0]


@pytest.mark.parametrize("wrong", [math.inf, math.nan, 1e200])
def test_an_error_ahead_is_infinite_where_one_step_diverges_and_another_has_no_error(wrong: float) -> None:
    ahead = torch.zeros(4, 24, 1, dtype=torch.float64)
    forecasts = ahead.clone()
    forecasts[:, 20:] = wrong
    assert mean_error_ahead(forecasts, ahead, torch.ones_like(ahead, dtype=torch.bool)) == math.inf


def test_a_one_step_error_that_overflows_is_infinite() -> None:
    values = torch.tensor([[[1e200], [-1e200], [1e200]]], dtype=torch.float64)
    mask = torch.ones_like(values, dtype=torch.bool)
    assert one_step_error(Persistence(dimension=1).double(), MaskedSequences(values, mask, mask)) == math.inf


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
@pytest.mark.parametrize(("kind", "least"), [(MinGRUForecaster, 0), (LSTMForecaster, 4)])
def test_an_epoch_is_chosen_by_many_steps(kind: Any, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one network the error at one step falls with every epoch and that of many steps rises, of the other both
    fall."""
    forecaster = kind(epochs=4, lags=0, units=4)
    assert forecaster.fit(wave_on_a_walk()[:240]).chosen_["epochs"] == least

    def one_step(model: Any, held_out: MaskedSequences, *, leads: int) -> float:
        assert leads == 0
        return one_step_error(model, held_out)

    monkeypatch.setattr("models.forecasting.estimators.recurrent.error_ahead_of", one_step)
    assert forecaster.fit(wave_on_a_walk()[:240]).chosen_["epochs"] == 4
