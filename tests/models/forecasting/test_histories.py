"""Series that a model was not fitted to: their columns, their steps and their times are those of the data fitted to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, VARForecaster

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")


def three_columns(rows: int) -> pd.DataFrame:
    """Columns of unlike sizes; the last is thrice the first, which is known ahead."""
    generator = np.random.default_rng(1)
    ahead, beside = generator.normal(size=(2, rows))
    return pd.DataFrame({0: ahead, 1: 100 + beside, 2: 3 * ahead + 10 + 0.01 * generator.normal(size=rows)})


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda forecaster, X: forecaster.predict(2, X, known=[[0.5], [-0.5]]),
    "predict_one_step": lambda forecaster, X: forecaster.predict_one_step(X),
    "score": lambda forecaster, X: forecaster.score(X),
    "backtest": lambda forecaster, X: forecaster.backtest(X, horizon=2).forecast,
}


@pytest.fixture(scope="module")
def of_a_table() -> VARForecaster:
    return VARForecaster(target=2, covariates=0, orders=1).fit(three_columns(150))


@pytest.fixture(scope="module")
def of_an_array() -> VARForecaster:
    return VARForecaster(target=2, covariates=0, orders=1).fit(three_columns(150).to_numpy())


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_array_has_its_columns_in_the_order_of_fit(
    call: Callable[[Any, Any], Any], of_a_table: VARForecaster, of_an_array: VARForecaster
) -> None:
    table = three_columns(180)
    right = np.asarray(call(of_a_table, table[[2, 0, 1]]))
    for forecaster in (of_a_table, of_an_array):
        np.testing.assert_allclose(np.asarray(call(forecaster, table.to_numpy())), right, err_msg=str(forecaster))


def test_arrays_in_a_list_have_their_columns_in_the_order_of_fit(of_an_array: VARForecaster) -> None:
    values = three_columns(180).to_numpy()
    (found,) = of_an_array.predict_one_step([values])
    np.testing.assert_allclose(found, of_an_array.predict_one_step(values))
    assert of_an_array.score([values]) > 0.9999


def test_the_covariate_of_an_array_is_used() -> None:
    values = three_columns(180)[[0, 2]].to_numpy()
    forecaster = VARForecaster(covariates=0, orders=1).fit(values[:150])
    assert forecaster.score(values) > 0.9999
    np.testing.assert_allclose(forecaster.predict_one_step(values)[5:, 0], 3 * values[5:, 0] + 10, atol=0.05)
    np.testing.assert_allclose(forecaster.predict(1, values, known=[[2.0]]), [[16.0]], atol=0.05)
    assert forecaster.backtest(values, first=150, horizon=1).by_horizon().rmse.max() < 0.05


def test_the_last_value_of_an_array_is_that_of_the_target() -> None:
    values = three_columns(60).to_numpy()
    assert LastValueForecaster(target=[1]).fit(values[:50]).predict(1, values) == values[-1, 1]
