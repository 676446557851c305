"""Lags and ridges chosen by forecasts of several steps, beside forecasts made one by one; and the shortest season."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch

from models import EchoStateForecaster, PSRNNForecaster
from models.baselines.echo_state import EchoState
from models.baselines.networks import LSTM
from models.forecasting.errors_ahead import error_ahead_of
from models.forecasting.estimators.recurrent import settled_anew, trained
from models.forecasting.filtering import MaskedSequences, filter_sequences
from models.forecasting.fitting import Fitted, Problem
from models.forecasting.lags import with_lags
from models.forecasting.lags_ahead import candidates, choose_ahead, error_ahead, settle_ahead, starts_in
from models.forecasting.readout import ReadoutFit
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.rolling import roll
from models.forecasting.season import Seasons, find_season, find_seasons
from models.forecasting.training import Descent
from models.numerics.ridge import masked_mse
from models.runtime.seeding import generators_of
from oracles import final_state

SETTINGS = ReadoutSettings(0, (1e-3, 1.0), "none", (1e-3, 1e2))


def part(begin: int, end: int) -> MaskedSequences:
    generator = torch.Generator().manual_seed(0)
    time = torch.arange(300, dtype=torch.float64)
    noise = 0.2 * torch.randn(1, 300, 2, generator=generator, dtype=torch.float64)
    values = (torch.stack([torch.sin(0.5 * time), torch.cos(0.3 * time)], 1) + noise)[:, begin:end]
    mask = torch.ones_like(values, dtype=torch.bool)
    scored = mask.clone()
    scored[:, :20] = False
    return MaskedSequences(values, mask, scored)


@pytest.fixture(scope="module")
def fitted() -> tuple[Fitted, ReadoutFit]:
    train, validation = part(0, 220), part(200, 300)
    method = EchoState(units=10)
    model = method.fit(Problem(train, validation, SETTINGS, torch.Generator().manual_seed(1)))
    return model, ReadoutFit(train, validation, SETTINGS)


@torch.no_grad()
def test_an_error_ahead_is_that_of_forecasts_one_by_one(fitted: tuple[Fitted, ReadoutFit]) -> None:
    model, solve = fitted
    chosen = list(candidates(model.model, solve, [0, 3]))[-1]
    assert chosen.lags == 3
    joined = with_lags(model.model, 3)
    joined.set_readout(chosen.readout)
    values, horizon = solve.validation.values, 24
    squares: list[list[float]] = [[] for _ in range(horizon)]
    begins = [20 + place * 79 // 63 for place in range(64)]
    for begin in begins:
        state = final_state(joined, values[:, :begin], torch.ones_like(values[:, :begin], dtype=torch.bool))
        ahead = roll(joined, state, horizon)[0]
        for step in range(min(horizon, 100 - begin)):
            squares[step] += (ahead[step] - values[0, begin + step]).square().tolist()
    by_hand = math.exp(sum(math.log(sum(own) / len(own)) for own in squares) / horizon)
    starts = starts_in(model.model, solve.validation, lags=3)
    assert error_ahead(model.model, chosen, starts, leads=0) == pytest.approx(by_hand, rel=1e-9)


def with_ridges(ridge: float, of_state: float) -> tuple[Fitted, ReadoutFit]:
    """A network that has random weights, with a readout of two lags that is solved with these ridges."""
    solve = ReadoutFit(part(0, 220), part(200, 300), SETTINGS)
    chosen = {"readout.ridge": ridge, "readout.state_ridge": of_state, "readout.lags": 2}
    problem = Problem(solve.train, solve.validation, SETTINGS.with_lags(2).only(chosen), torch.Generator())
    return Fitted(LSTM(units=6).fit(problem).model, chosen), solve


def test_after_training_the_ridges_are_chosen_anew() -> None:
    fitted, solve = with_ridges(1.0, 1e2)
    before: Any = fitted.model  # is trained in place
    found = trained(fitted, solve, epochs=1, descent=Descent(0.01), generators=generators_of(0), leads=0)
    model: Any = found.model
    best = choose_ahead(before, solve, [2], leads=0).ridges
    assert best != {name: fitted.chosen[name] for name in best}
    assert found.chosen == {**best, "readout.lags": 2, "epochs": 1}
    errors = [error_ahead_of(each, solve.validation, leads=0) for each in (before, model)]
    assert errors[1] < 0.5 * errors[0]
    values = solve.validation.values
    exposed = [each.exposed_along(each.initial_belief(1), values) for each in (before, model)]
    torch.testing.assert_close(exposed[0], exposed[1], rtol=0, atol=0)


def test_ridges_that_are_the_best_already_are_kept_with_their_model() -> None:
    fitted, solve = with_ridges(1.0, 1e2)
    best = settled_anew(fitted, solve, leads=0)
    assert best.model is not fitted.model
    assert settled_anew(best, solve, leads=0) is best


@torch.no_grad()
def test_the_least_error_ahead_is_chosen_and_solved(fitted: tuple[Fitted, ReadoutFit]) -> None:
    model, solve = fitted
    best = choose_ahead(model.model, solve, [0, 2, 6], leads=0)
    starts = starts_in(model.model, solve.validation, lags=6)
    others = [error_ahead(model.model, each, starts, leads=0) for each in candidates(model.model, solve, [best.lags])]
    assert error_ahead(model.model, best, starts, leads=0) == min(others)
    settled = settle_ahead(model, solve, [0, 2, 6], leads=0)
    assert settled.chosen == {**best.ridges, "readout.lags": best.lags}
    validation = solve.validation
    predictions = filter_sequences(settled.model, validation.values, validation.mask).predictions
    assert float(masked_mse(predictions, validation.values, validation.scored)) < 0.1


def test_a_single_number_of_lags_is_taken_or_refused(fitted: tuple[Fitted, ReadoutFit]) -> None:
    assert settle_ahead(*fitted, [50], leads=0).chosen["readout.lags"] == 50
    with pytest.raises(ValueError, match="lags must be at most 50 for series of such length and gaps, got 51;"):
        settle_ahead(*fitted, [51], leads=0)


def late_rows_alone() -> np.ndarray:
    """500 rows, of which those from 150 to 479 are missing: 20 of the last 50 are there, with 0 to 19 before them."""
    chance = np.random.default_rng(0)
    rows = np.sin(0.5 * np.arange(500)) + 0.1 * chance.normal(size=500)
    rows[150:480] = np.nan
    return rows


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_lags_are_counted_by_the_rows_that_there_are() -> None:
    fitted = EchoStateForecaster(units=10).fit(late_rows_alone())
    assert 0 < fitted.chosen_["readout.lags"] <= 16
    with pytest.raises(ValueError, match=r"^lags must be at most 19 for series of such length and gaps, got 24; lower"):
        EchoStateForecaster(units=10, lags=24).fit(late_rows_alone())


@pytest.mark.parametrize("scale", [1.0, 7.77])
def test_a_straight_line_has_the_same_few_lags_in_all_units(scale: float) -> None:
    line = scale * np.arange(600.0)
    with warnings.catch_warnings(action="ignore"):
        fitted = PSRNNForecaster(count=5, seed=0).fit(line)
    assert fitted.chosen_["readout.lags"] == 16


@pytest.mark.parametrize("scale", [1.0, 7.77, 1e3])
def test_what_rounding_leaves_of_a_line_has_no_season(scale: float) -> None:
    line = (scale * torch.arange(540, dtype=torch.float64)).view(1, -1, 1)
    values = (line - line.mean()) / line.std()
    mask = torch.ones_like(values, dtype=torch.bool)
    assert find_season(MaskedSequences(values, mask, mask)) is None
    assert find_season(MaskedSequences(values.float(), mask, mask)) is None


def test_of_a_day_and_two_days_the_day_is_the_season() -> None:
    generator = torch.Generator().manual_seed(0)
    hours = torch.arange(24 * 40, dtype=torch.float64)
    day = torch.sin(2 * math.pi * hours / 24)
    other = 0.15 * torch.sin(math.pi * hours / 24) + 0.02 * torch.randn(len(hours), generator=generator).double()
    values = (day + other).view(1, -1, 1)
    mask = torch.ones_like(values, dtype=torch.bool)
    two_days = MaskedSequences(values, mask, mask)
    assert find_season(two_days) == (48, pytest.approx(0.95, abs=0.03))
    assert find_seasons(two_days) == Seasons(clear=48, shortest=24)
    noise = torch.randn(1, 200, 1, generator=generator, dtype=torch.float64)
    everywhere = torch.ones_like(noise, dtype=torch.bool)
    assert find_seasons(MaskedSequences(noise, everywhere, everywhere)) == Seasons(clear=None, shortest=None)
