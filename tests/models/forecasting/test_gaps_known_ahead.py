"""Gaps in what is known ahead: forecasts of many steps take them as filtering does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from hourly_load import hourly_load
from models import PSRNNForecaster, VARForecaster
from models.baselines.echo_state import EchoState
from models.forecasting.errors_ahead import error_ahead_of
from models.forecasting.estimators.held_out import rows_of
from models.forecasting.estimators.input import of_labels, read
from models.forecasting.filtering import MaskedSequences, filter_sequences
from models.forecasting.fitting import Problem
from models.forecasting.lags_ahead import Candidate, error_ahead, starts_in
from models.forecasting.readout_settings import ReadoutSettings
from models.numerics.ridge import AffineMap


def part(rows: int, *, gaps: bool = True) -> MaskedSequences:
    """Two columns, the last of which is known ahead and far from its mean; the first is scored from row 10 on."""
    noise = torch.randn(1, rows, 2, generator=torch.Generator().manual_seed(rows), dtype=torch.float64)
    values = torch.stack([noise[..., 0], 3.0 + noise[..., 1]], 2)
    values[:, 1:, 0] += values[:, :-1, 1]
    mask = torch.ones_like(values, dtype=torch.bool)
    mask[:, 15::4, 1] = not gaps
    scored = mask.clone()
    scored[:, :10] = scored[..., 1:] = False
    return MaskedSequences(values * mask, mask, scored)


@torch.no_grad()
def by_filtering(model: Any, held_out: MaskedSequences) -> float:
    """The error of forecasts from each row on, made by filtering a part whose first column ends before that row."""
    values, mask, _ = held_out
    squares: list[list[float]] = [[] for _ in range(24)]
    for begin in range(10, 40):
        observed = mask.clone()
        observed[:, begin:, 0] = False
        ahead = filter_sequences(model, values, observed).predictions[0, begin : begin + 24, 0]
        for step, error in enumerate((ahead - values[0, begin : begin + 24, 0]).square().tolist()):
            squares[step].append(error)
    return math.exp(sum(math.log(sum(own) / len(own)) for own in squares) / 24)


@pytest.fixture(scope="module")
def echo_state() -> Any:
    train = part(200, gaps=False)
    train = train._replace(scored=train.mask)
    problem = Problem(train, part(80, gaps=False), ReadoutSettings(0, (1.0,), "none"), torch.Generator())
    return EchoState(units=8).fit(problem).model


@pytest.mark.parametrize("gaps", [False, True])
def test_errors_ahead_take_a_gap_as_filtering_does(gaps: bool, echo_state: Any) -> None:
    held_out = part(40, gaps=gaps)
    expected = by_filtering(echo_state, held_out)
    assert error_ahead_of(echo_state, held_out, leads=1) == pytest.approx(expected, rel=1e-9)
    own = Candidate(0, {}, AffineMap(*echo_state.readout_parameters), 0.0)
    origins = starts_in(echo_state, held_out, lags=0)
    with torch.no_grad():
        assert error_ahead(echo_state, own, origins, leads=1) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("forecaster", [VARForecaster(orders=24), PSRNNForecaster(count=5, lags=24)])
def test_backtests_take_a_gap_as_filtering_does(forecaster: Any) -> None:
    forecaster.set_params(covariates="price").fit(hourly_load(150)[["load", "price"]])
    later = hourly_load()[["load", "price"]].iloc[150:210]
    later.iloc[33::3, 1] = np.nan
    found = forecaster.backtest(later, horizon=5, first=30, step=1)
    columns = forecaster._fitted().columns
    (group,) = of_labels(read(later), columns.labels)
    rows = rows_of(columns, group)
    for origin in (30, 31, 32, 50):
        unseen = rows.copy()
        unseen[origin:, 0] = np.nan
        expected = forecaster.forecaster_.predict(unseen)[origin : origin + 5, 0]
        np.testing.assert_allclose(found.forecast[found.origin == origin, 0], expected, rtol=1e-9)
