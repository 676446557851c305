"""Forecasters leave alone what is not theirs: torch's and NumPy's own chance, and pyplot's figures."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from models import EchoStateForecaster, GRUForecaster, LSTMForecaster, MinGRUForecaster, PSRNNForecaster, VARForecaster
from models.forecasting.estimators.estimator import ForecastingEstimator

SERIES = np.sin(np.arange(120) / 3) + 0.1 * np.random.default_rng(0).normal(size=120)


@pytest.mark.parametrize(
    "forecaster",
    [
        EchoStateForecaster(units=8, lags=2), GRUForecaster(units=4, epochs=1, lags=2),
        LSTMForecaster(units=4, epochs=1, lags=2), MinGRUForecaster(units=4, epochs=1, lags=2),
        PSRNNForecaster(count=4, lags=2),
    ],
    ids=lambda forecaster: type(forecaster).__name__,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_no_generator_of_others_is_drawn_from(forecaster: ForecastingEstimator) -> None:
    before, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002  # pyright: ignore
    forecaster.fit(SERIES).predict(2)
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(np.random.get_state()[1], numbers)  # noqa: NPY002  # pyright: ignore


def test_a_figure_that_cannot_be_drawn_is_not_left_open() -> None:
    forecaster, before = VARForecaster(orders=1).fit(SERIES[:60]), plt.get_fignums()
    with pytest.raises(ValueError, match="needs 9 forecasts of the validation part"):
        forecaster.plot(3)
    assert plt.get_fignums() == before
