"""Data in forms that people have and that are easily read wrongly: tensors, masked arrays, columns in another order."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from models import RandomFeatures, SSGPRegressor, VARForecaster

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")

ROWS = np.random.default_rng(0).normal(size=(40, 2)).cumsum(0)
TARGETS = np.sin(ROWS[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=40)
DAYS = pd.date_range("2024-01-01", periods=40, freq="D")
HUGE = pd.DataFrame({"a": ROWS[:, 0], "b": pd.Series([10**400] * 40, dtype=object)})
FORMS: dict[str, Any] = {
    "with a gradient": torch.tensor(ROWS, requires_grad=True),
    "sparse": torch.tensor(ROWS).to_sparse(),
    "columns in memory the other way round": np.ascontiguousarray(ROWS[:, ::-1])[:, ::-1],
}


def regressor() -> SSGPRegressor:
    return SSGPRegressor(count=3, iterations=2)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_numbers_in_another_form_give_the_same(form: str) -> None:
    data, forecaster = FORMS[form], VARForecaster(orders=2)
    np.testing.assert_array_equal(forecaster.fit(data).predict(3), VARForecaster(orders=2).fit(ROWS).predict(3))
    mean = regressor().fit(ROWS, TARGETS).predict(ROWS)
    np.testing.assert_array_equal(regressor().fit(data, TARGETS).predict(data), mean)
    np.testing.assert_array_equal(
        RandomFeatures(count=3).fit(data).transform(data), RandomFeatures(count=3).fit_transform(ROWS)
    )


def test_half_precision_of_torch_is_read() -> None:
    halved = torch.tensor(ROWS).bfloat16()
    expected = VARForecaster(orders=2).fit(halved.double().numpy()).predict(2)
    np.testing.assert_array_equal(VARForecaster(orders=2).fit(halved).predict(2), expected)


def test_a_table_whose_columns_were_put_in_another_order_is_fitted_to() -> None:
    table = pd.DataFrame(ROWS, columns=["a", "b"])[["b", "a"]]
    mean = regressor().fit(table, TARGETS).predict(table)
    np.testing.assert_array_equal(mean, regressor().fit(ROWS[:, ::-1].copy(), TARGETS).predict(ROWS[:, ::-1].copy()))


def test_what_is_masked_is_a_gap() -> None:
    masked = np.ma.masked_array(ROWS, np.arange(80).reshape(40, 2) == 21)
    expected = VARForecaster(orders=2).fit(masked.filled(np.nan)).predict(3)
    np.testing.assert_array_equal(VARForecaster(orders=2).fit(masked).predict(3), expected)
    fitted = regressor().fit(ROWS, TARGETS)
    for call in (fitted.predict, RandomFeatures(count=3).fit, lambda rows: fitted.partial_fit(rows, TARGETS)):
        with pytest.raises(ValueError, match="X holds NaN or inf in row"):
            call(masked)


NO_NUMBERS: list[tuple[Any, type[Exception], str]] = [
    ({1, 2}, TypeError, "X( and y)? must hold numbers in rows of equal length: .*not 'set'$"),
    ([[1.0, 2.0], [3.0]], ValueError, "X( and y)? must hold numbers in rows of equal length: "),
    (HUGE, ValueError, "column b of X holds object, not numbers"),
    ([[10**400, 1.0]] * 40, ValueError, "X( and y)? must hold numbers in rows of equal length: int too large"),
    (pd.DataFrame({"a": DAYS - DAYS[0]}), ValueError, "column a of X holds timedelta64.* not numbers"),
    (pd.DataFrame({"a": DAYS.tz_localize("UTC")}), ValueError, "column a of X holds datetime64.* not numbers"),
    (DAYS.to_numpy()[:, np.newaxis], TypeError, "X holds datetime64.* not numbers; turn its times into numbers"),
]


@pytest.mark.parametrize(("data", "kind", "message"), NO_NUMBERS)
def test_rows_without_numbers_are_refused_by_name(data: Any, kind: type[Exception], message: str) -> None:
    fitted = regressor().fit(ROWS, TARGETS)
    before = fitted.predict(ROWS)
    for call in (RandomFeatures(count=3).fit, lambda rows: fitted.fit(rows, TARGETS), fitted.predict):
        with pytest.raises(kind, match=message) as refused:
            call(data)
        assert "\n" not in str(refused.value)
    np.testing.assert_array_equal(fitted.predict(ROWS), before)


@pytest.mark.parametrize(
    ("targets", "kind", "message"),
    [
        (DAYS, TypeError, "y holds datetime64.* not numbers"),
        (["a"] * 40, ValueError, "X and y must hold numbers in rows of equal length: could not convert"),
        ([10**400] * 40, ValueError, "X and y must hold numbers .*int too large"),
        (np.ma.masked_array(TARGETS, TARGETS > 0), ValueError, "Input y contains NaN"),
    ],
)
def test_targets_without_numbers_are_refused(targets: Any, kind: type[Exception], message: str) -> None:
    fitted = regressor().fit(ROWS, TARGETS)
    before = fitted.predict(ROWS, return_std=True)
    for call in (fitted.fit, fitted.partial_fit):
        with pytest.raises(kind, match=message):
            call(ROWS, targets)
    np.testing.assert_array_equal(fitted.predict(ROWS, return_std=True), before)


def test_more_draws_than_memory_holds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"n_samples must be at most 2\.5e\+07, got 1000000000"):
        regressor().fit(ROWS, TARGETS).sample_y(ROWS, 10**9)


@pytest.mark.parametrize("value", [pd.Series([1, 2]), np.arange(900), "x" * 900])
def test_a_parameter_is_shown_in_one_short_line(value: Any) -> None:
    with pytest.raises(TypeError, match="count must be a whole number of at least 1, got ") as refused:
        SSGPRegressor(count=value).fit(ROWS, TARGETS)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 160


def test_dates_of_python_are_told_of_and_put_in_order() -> None:
    table = pd.DataFrame(ROWS, columns=["a", "b"], index=pd.Index([day.date() for day in DAYS]))
    with pytest.warns(UserWarning, match="^the index holds dates of datetime.date, so that .*; turn its index into"):
        VARForecaster(orders=2).fit(table)
    with pytest.raises(ValueError, match=r"the index of X goes backwards at 2024-02-08 \(row 1\)"):
        VARForecaster(orders=2).fit(table[::-1])
    assert isinstance(table.index[0], datetime.date)


def test_columns_that_read_alike_are_refused() -> None:
    table = pd.DataFrame(ROWS, columns=pd.Index([1, "1"], dtype=object))
    with pytest.raises(ValueError, match="X has a column called by a number and one by the same text; rename one"):
        VARForecaster(orders=2).fit(table)


def test_columns_that_are_called_by_truth_values_are_refused() -> None:
    table = pd.DataFrame(ROWS, columns=pd.Index([True, False]))
    with pytest.raises(ValueError, match=r"^a column of X is called True; name columns by texts or whole numbers$"):
        VARForecaster(orders=2).fit(table)
