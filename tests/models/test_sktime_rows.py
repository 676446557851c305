"""The forecasters in sktime: which rows a horizon asks for, and which columns X and y have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, VARForecaster
from small_times import seen_wrongly

pytest.importorskip("sktime", reason="needs the extra sktime")

from sktime.forecasting.base import ForecastingHorizon

from models.sktime_adapter import SktimeForecaster

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning:sktime",
    "ignore:on the validation part a naive",
    "ignore:the (times|numbers) of the index are uneven",
)
MONTHS = pd.period_range("2010-01", periods=62, freq="M")
DAYS = pd.date_range("2024-01-01", periods=62, freq="D")
GAPS = [20, 41]


def fitted(index: pd.Index) -> SktimeForecaster:
    """A last value of a series that counts its rows, fitted to the first 50."""
    y = pd.Series(np.arange(float(len(index))), index=index, name="row")
    return SktimeForecaster(LastValueForecaster()).fit(y[:50])


def at(index: Any) -> ForecastingHorizon:
    return ForecastingHorizon(index, is_relative=False)


INDICES = {
    "numbers": pd.RangeIndex(62),
    "numbers with gaps": pd.Index(np.arange(62)).delete(GAPS),
    "every second number": pd.RangeIndex(0, 124, 2),
    "periods with gaps": MONTHS.delete(GAPS),
    "every second period": pd.period_range("2010-01", periods=124, freq="M")[::2],
    "times with gaps": DAYS.delete(GAPS),
    "working days": pd.bdate_range("2024-01-01", periods=62),
    "days of a zone": pd.date_range("2024-03-01", periods=62, freq="D", tz="Europe/Berlin"),
    "days of months": pd.DatetimeIndex([pd.Timestamp("2010-01-15") + pd.DateOffset(months=k) for k in range(62)]),
}


@pytest.mark.parametrize("kind", INDICES)
def test_rows_that_were_seen_are_placed_by_the_index(kind: str) -> None:
    index = INDICES[kind]
    found = fitted(index).predict(fh=at(index[[10, 30, 49]]))
    assert list(found.index) == list(index[[10, 30, 49]])
    np.testing.assert_array_equal(found, [9.0, 29.0, 48.0])


@pytest.mark.parametrize("kind", [kind for kind in INDICES if kind != "times with gaps"])
def test_rows_to_come_are_placed_in_the_step_at_the_end(kind: str) -> None:
    index = INDICES[kind]
    y = pd.DataFrame({"row": np.arange(len(index)) % 7.0}, index=index)
    X = pd.DataFrame({"price": np.roll(y["row"], 1)}, index=index)
    forecaster = SktimeForecaster(VARForecaster(orders=7)).fit(y[:50], X=X[:50])
    found = forecaster.predict(fh=at(index[[49, 51, 54]]), X=X)
    np.testing.assert_allclose(found["row"].iloc[1:], y["row"].iloc[[51, 54]], atol=0.1)
    if not kind.startswith(("days", "working")):  # of which sktime itself takes no times, or warns
        bounds = forecaster.predict_interval(fh=at(index[[51, 53]]), X=X, coverage=0.1)
        assert list(bounds.index) == list(index[[51, 53]])
        assert bounds["row"][0.1].mean(axis=1).to_numpy() == pytest.approx(y["row"].iloc[[51, 53]], abs=0.1)


def test_steps_back_count_what_the_index_counts() -> None:
    with_gaps = fitted(INDICES["numbers with gaps"])
    np.testing.assert_array_equal(with_gaps.predict(fh=[-30, -9, 0]), [19.0, 39.0, 48.0])
    with pytest.raises(ValueError, match=r"fh asks for 41, which is no row of y \(0 to 51, 50 rows\)"):
        with_gaps.predict(fh=[-10])


@pytest.mark.parametrize(
    ("kind", "fh", "message"),
    [
        (
            "every second number",
            [1, 2],
            r"asks for 99, .* \(0 to 98, 50 rows\) nor one .* \(100, …\); ask for such rows",
        ),
        ("every second number", [3], r"asks for 101, .* nor one of those after them \(100, 102, …\)"),
        ("every second period", [1], "fh asks for 2018-04, which is no row of y"),
        (
            "times with gaps",
            [1],
            r"the times of y have no step that sktime knows, so .* from 2024-02-21 .*; fill y to .*asfreq",
        ),
        (
            "times with gaps",
            at(DAYS[-1:]),
            r"the times of y have no even step at their end, 2024-02-21 .*; fill y to .*asfreq",
        ),
        ("times with gaps", at(DAYS[[20]]), "fh asks for 2024-01-21 00:00:00, which is no row of y"),
        (
            "periods with gaps",
            at(DAYS[[20]]),
            "fh holds times, 2024-01-21 .* say, and the index of y periods, 2014-04 say",
        ),
        ("working days", at(pd.Index([20])), "fh holds numbers, 20 say, and the index of y times, 2024-03-08"),
        (
            "working days",
            at(DAYS[[0]].tz_localize("UTC")),
            r"fh holds times, 2024-01-01 00:00:00\+00:00 say, .*; give it as y has them",
        ),
    ],
)
def test_rows_that_are_not_there_are_refused_in_one_line(kind: str, fh: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        fitted(INDICES[kind]).predict(fh=fh)
    assert "\n" not in str(refused.value)


def test_working_days_without_holidays_go_on_once_they_are_filled_to_even_steps() -> None:
    days = pd.date_range("2024-01-01", periods=50, freq="B").delete([20, 47])
    y = pd.Series(np.arange(48.0), index=days).asfreq("B")
    found = SktimeForecaster(LastValueForecaster()).fit(y).predict(fh=[1])
    assert list(found.index) == [pd.Timestamp("2024-03-11")]


def test_hours_of_days_that_sktime_takes_for_others_are_refused() -> None:
    hours = pd.DatetimeIndex(seen_wrongly()["hours"])
    forecaster = fitted(hours)
    np.testing.assert_array_equal(forecaster.predict(fh=at(hours[[30]])), [29.0])
    with pytest.raises(ValueError, match="the times of y have no even step at their end"):
        forecaster.predict(fh=[1])


def both() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two series that follow two covariates, of unlike size."""
    given = np.random.default_rng(1).normal(size=(62, 2)) * [1.0, 10.0]
    X = pd.DataFrame(given, columns=["price", "heat"], index=MONTHS)
    noise = 0.01 * np.random.default_rng(2).normal(size=62)
    return pd.DataFrame({"sales": X["price"] + noise, "load": X["heat"] + noise}), X


@pytest.mark.parametrize("refit", [False, True])
def test_columns_go_by_the_names_that_they_had_in_fit(refit: bool) -> None:
    y, X = both()
    expected = SktimeForecaster(VARForecaster(orders=1)).fit(y[:50], X=X[:50]).update(y[50:55], X[50:55], refit)
    ours = SktimeForecaster(VARForecaster(orders=1)).fit(y[:50], X=X[:50])
    ours.update(y[50:55][["load", "sales"]], X[50:55][["heat", "price"]], refit)
    for fh in ([-2, 1, 3], [1, 3]):
        found = ours.predict(fh=fh, X=X[["heat", "price"]])
        assert list(found.columns) == ["sales", "load"]
        pd.testing.assert_frame_equal(found, expected.predict(fh=fh, X=X))
    np.testing.assert_allclose(found, y.iloc[[55, 57]], atol=0.5)
    bounds = ours.predict_quantiles(fh=[1, 3], X=X[["heat", "price"]], alpha=[0.4, 0.6])
    pd.testing.assert_frame_equal(bounds, expected.predict_quantiles(fh=[1, 3], X=X, alpha=[0.4, 0.6]))


def test_other_columns_than_those_of_fit_are_refused() -> None:
    y, X = both()
    forecaster = SktimeForecaster(VARForecaster(orders=1)).fit(y[:50], X=X[:50])
    for wrong in (X[["price"]], X.assign(rain=1.0), X.rename(columns={"heat": "rain"})):
        with pytest.raises(ValueError, match=r"X has the columns price.*, and in fit it had price, heat; give these"):
            forecaster.predict(fh=[1], X=wrong)
    with pytest.raises(ValueError, match="y has the columns sales, rain, and in fit it had sales, load; give these"):
        forecaster.update(y[50:55].rename(columns={"load": "rain"}), X[50:55])
