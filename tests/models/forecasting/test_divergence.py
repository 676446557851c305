"""Forecasts that grow without end are said, by a forecaster and by an estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from models import VARForecaster
from models.baselines.autoregression import Autoregression
from models.forecasting.divergence import FARTHEST, first_diverged
from models.forecasting.estimators.held_out import forecasts_from
from models.forecasting.estimators.learnt import mean_errors
from models.forecasting.forecaster import Forecaster


def growing(factor: float) -> Forecaster:
    """Forecasts the last value times a factor; mean 10, standard deviation 2."""
    model = Autoregression(dimension=1, order=1).double()
    with torch.no_grad():
        model.weight.fill_(factor)
    ones = torch.ones(1, dtype=torch.float64)
    return Forecaster(model, mean=10 * ones, scale=2 * ones, feature_names=("x",))


def test_the_first_step_beyond_the_bound_is_found_whatever_diverges() -> None:
    forecasts = torch.zeros(2, 3, 2)
    assert first_diverged(forecasts) is None
    forecasts[1, 2, 0] = -FARTHEST
    assert first_diverged(forecasts) is None
    for value in (torch.nan, torch.inf, -2 * FARTHEST):
        forecasts[1, 1, 1] = value
        assert first_diverged(forecasts) == 2
        assert first_diverged(forecasts[1]) == 2


def test_a_forecaster_warns_where_its_forecast_diverges_and_not_before() -> None:
    series = np.array([[10.0], [12.0]])  # one standard deviation above the mean: 10, 100, 1000, 10000 of them ahead
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = growing(10.0).forecast(series, 3)
    np.testing.assert_allclose(near[:, 0], [30, 210, 2010])
    with pytest.warns(
        UserWarning, match="the forecast diverges: 4 steps ahead it lies more than 1000 standard"
    ) as told:
        far = growing(10.0).forecast(series, 4)
    assert len(told) == 1
    np.testing.assert_allclose(far[3], 20010)
    with pytest.warns(UserWarning, match="the forecast diverges: 1 step ahead"):
        growing(1e200).forecast(series, 2)


def test_an_estimator_warns_of_a_forecast_that_leaves_the_data() -> None:
    noise = np.random.default_rng(0).normal(size=300)
    estimator = VARForecaster(orders=[1], validation=0.2).fit(noise)
    model: Any = estimator.forecaster_.model
    with torch.no_grad():
        model.weight.fill_(3.0)
    with pytest.warns(UserWarning, match=r"the forecast diverges: \d+ steps ahead it lies more than 1000"):
        estimator.predict(24)


def test_forecasts_that_are_no_numbers_leave_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of half the validation part are none, three steps ahead; the errors of the others are small."""

    def half(*given: Any) -> np.ndarray:
        ahead = forecasts_from(*given)
        ahead[::2, 2] = np.nan
        return ahead

    noise = np.random.default_rng(0).normal(size=300)
    monkeypatch.setattr("models.forecasting.estimators.learnt.forecasts_from", half)
    with pytest.warns(UserWarning, match="the forecasts of the validation part diverge"):
        estimator = VARForecaster(orders=[1], validation=0.2).fit(noise)
    assert np.isinf(estimator.validation_errors_["model"]).tolist() == [place == 2 for place in range(24)]
    estimator.predict_interval(2)
    for horizon in (3, 30):
        with pytest.raises(ValueError, match=r"^a forecast of the validation part diverges 3 steps ahead, so that"):
            estimator.predict_interval(horizon)


@pytest.mark.parametrize(("errors", "said"), [([0.5, 1.9, 9.0, 8.0], "; 3 steps ahead it diverges"), ([0.9] * 4, "")])
def test_fit_says_from_which_step_on_the_model_is_far_worse_than_the_mean(errors: list[float], said: str) -> None:
    """White noise, whose mean has an error of 1; its last value, 2."""
    estimator = VARForecaster(orders=[1]).fit(np.random.default_rng(0).normal(size=2000))
    learnt = estimator._learnt
    np.testing.assert_allclose(mean_errors(learnt), 1.0, atol=0.2)
    beside = {"model": np.array(errors), "last value": np.full(4, 0.5)}
    with pytest.warns(UserWarning, match=rf"not \d.*, in standard deviations{said}(, beyond 2 times .* mean)?; try"):
        learnt._replace(errors=beside).say("all")


def test_a_warning_names_the_line_that_asked_for_the_forecast() -> None:
    series, grown = np.array([[10.0], [12.0]]), growing(1e200)
    for ask in (
        lambda: grown.forecast(series, 2),
        lambda: grown.forecast(pd.DataFrame({"x": series[:, 0]}), 2),
        lambda: grown.forecast_all([series], 2),
    ):
        with pytest.warns(UserWarning, match="the forecast diverges") as told:
            ask()
        assert told[0].filename == __file__


def test_a_warning_names_the_line_that_asked_an_estimator() -> None:
    rows = np.random.default_rng(0).normal(size=300)
    estimator = VARForecaster(orders=[1], validation=0.2).fit(rows)
    for ask in (estimator.predict, estimator.predict_interval):
        with pytest.warns(UserWarning, match="the forecast diverges") as told:
            ask(2, X=1e9 * rows)
        assert [each.filename for each in told] == [__file__]
