"""Seasons that an estimator is told: which number a row has in them, and naive forecasts that reach back a season."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import EchoStateForecaster, PSRNNForecaster, SeasonalNaiveForecaster, VARForecaster
from models.forecasting.estimators.calendar import clock_of
from models.forecasting.lags_ahead import choose_ahead


@pytest.mark.parametrize(
    ("start", "step"),
    [("2024-01-01 12:00", "D"), ("2024-01-01 00:30", "h"), ("1969-12-28 00:15", "30min"), ("2024-01-31", "ME")],
)
def test_rows_in_even_steps_count_one_by_one(start: str, step: str) -> None:
    index = pd.date_range(start, periods=50, freq=step)
    numbers = clock_of(index).row_numbers(index, 50, first=0)
    np.testing.assert_array_equal(np.diff(numbers), 1)
    np.testing.assert_array_equal(clock_of(index).row_numbers(index[7:9], 2, first=0), numbers[7:9])


def test_a_range_counts_one_by_one_and_rows_beside_it_take_the_nearest_number() -> None:
    clock = clock_of(pd.RangeIndex(7, 107, 10))
    assert clock.row_numbers(pd.Index([7, 11, 13, 17]), 4, first=0).tolist() == [0, 0, 1, 1]


DAYS = pd.date_range("2024-01-31", periods=200, freq="D")


@pytest.mark.parametrize(
    "index",
    [DAYS, pd.date_range("2004-01-31", periods=200, freq="ME"), pd.Index(np.arange(7, 407, 2)), pd.RangeIndex(200)],
    ids=["days", "months", "even numbers", "range"],
)
def test_a_row_that_is_missing_moves_no_other_row_in_its_season(index: pd.Index) -> None:
    holed = index.delete([50, 51])
    clock = clock_of(holed)
    np.testing.assert_array_equal(
        clock.row_numbers(holed, 198, first=0), np.delete(clock_of(index).row_numbers(index, 200, first=0), [50, 51])
    )


@pytest.mark.filterwarnings("ignore:the (times|numbers) of the index are uneven, and each row counts as one step; put")
@pytest.mark.parametrize("index", [DAYS, pd.RangeIndex(1, 201)], ids=["days", "numbers"])
def test_a_forecast_after_a_missing_row_is_in_its_place_in_the_season(index: pd.Index) -> None:
    data = noisy(200, index, 7)
    whole, holed = (VARForecaster(orders=1, season=7).fit(rows) for rows in (data, data.drop(index[100])))
    pd.testing.assert_index_equal(holed.predict(7).index, whole.predict(7).index, exact="equiv")
    np.testing.assert_allclose(holed.predict(7), whole.predict(7), atol=0.2)
    with pytest.raises(ValueError, match="put in empty rows for those in between"):
        holed.update(data.iloc[-1:].set_axis(whole.predict(2).index[1:]))


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
@pytest.mark.parametrize(
    ("index", "noun", "how"),
    [(DAYS, "times", "asfreq"), (pd.RangeIndex(200), "numbers", "reindex")],
    ids=["times", "numbers"],
)
def test_a_season_of_rows_is_said_where_the_index_ends_uneven(index: pd.Index, noun: str, how: str) -> None:
    said = f"the {noun} of the index are uneven, and each row counts as one step, in the season too; .* DataFrame.{how}"
    data = noisy(200, index, 7).drop(index[[180]])
    with pytest.warns(UserWarning, match=said):
        forecaster = VARForecaster(orders=8, season=7).fit(data)
    assert list(forecaster.predict(2).index) == [1, 2]


def test_uneven_numbers_are_warned_of_without_a_season_too() -> None:
    with pytest.warns(UserWarning, match="^the numbers of the index are uneven, and each row counts as one step; put"):
        forecaster = VARForecaster(orders=8).fit(noisy(200, pd.RangeIndex(200), 7).drop([180]))
    assert list(forecaster.predict(2).index) == [1, 2]


def noisy(rows: int, index: pd.Index, season: int) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    wave = np.resize(generator.normal(size=season), rows)
    return pd.DataFrame({"y": wave + 0.05 * generator.normal(size=rows)}, index=index)


def test_the_time_of_day_of_daily_rows_changes_no_forecast() -> None:
    midnight = noisy(200, pd.date_range("2024-01-01", periods=200, freq="D"), 7)
    noon = midnight.set_axis(midnight.index + pd.Timedelta(hours=12))
    forecaster = PSRNNForecaster(count=5, lags=8, season=7)
    at_midnight, at_noon = (forecaster.fit(data).predict(7).to_numpy() for data in (midnight, noon))
    np.testing.assert_allclose(at_noon, at_midnight, rtol=1e-9)


@pytest.fixture(scope="module")
def hourly() -> PSRNNForecaster:
    return PSRNNForecaster(count=5, lags=2, season=24).fit(hours(100))


def hours(rows: int) -> pd.DataFrame:
    load = np.sin(np.arange(rows) / 3) + 0.1 * np.random.default_rng(0).normal(size=rows)
    return pd.DataFrame({"load": load}, index=pd.date_range("2024-01-01", periods=rows, freq="h"))


@pytest.mark.filterwarnings("ignore:the times of the index are uneven, and each row counts as one step; put")
@pytest.mark.parametrize(
    "series",
    [hours(60).to_numpy(), hours(60).reset_index(drop=True), hours(60).iloc[np.r_[0:30, 31:60]]],
    ids=["array", "numbers", "uneven"],
)
def test_rows_without_times_to_go_on_have_no_place_in_the_season(series: object, hourly: PSRNNForecaster) -> None:
    with pytest.raises(ValueError, match="season goes by the times in the index of the data fitted to") as refused:
        hourly.predict(2, series)
    assert "\n" not in str(refused.value)


HISTORIES = [
    lambda forecaster, X: forecaster.predict(2, X),
    lambda forecaster, X: forecaster.predict_interval(1, 0.5, X),
    lambda forecaster, X: forecaster.predict_one_step(X),
    lambda forecaster, X: forecaster.score(X),
    lambda forecaster, X: forecaster.backtest(X, horizon=2),
]


@pytest.fixture(scope="module")
def counted() -> VARForecaster:
    return VARForecaster(orders=2, season=7).fit(noisy(200, pd.RangeIndex(200), 7).to_numpy())


@pytest.mark.parametrize("use", HISTORIES)
@pytest.mark.parametrize("rows", [np.s_[3:60], np.s_[0:60]])
def test_an_array_has_no_place_in_the_season(
    use: Callable[[VARForecaster, object], object], rows: slice, counted: VARForecaster
) -> None:
    series = noisy(200, pd.RangeIndex(200), 7)
    for X in (series.to_numpy()[rows], [series.to_numpy()[rows]]):
        with pytest.raises(ValueError, match=r"nothing says which row of the season X begins in.*update") as refused:
            use(counted, X)
        assert "\n" not in str(refused.value)


def test_a_naive_forecast_of_an_array_needs_no_place_in_the_season() -> None:
    values = noisy(200, pd.RangeIndex(200), 7).to_numpy()
    forecaster = SeasonalNaiveForecaster(season=7).fit(values)
    np.testing.assert_allclose(forecaster.predict(7, values[3:60]), values[53:60])


def test_an_array_goes_on_in_its_season_by_update(counted: VARForecaster) -> None:
    series = noisy(203, pd.RangeIndex(203), 7)
    told = VARForecaster(orders=2, season=7).fit(series[:200])
    ahead = deepcopy(counted).update(series[200:].to_numpy()).predict(7)
    np.testing.assert_allclose(ahead, told.update(series[200:]).predict(7).to_numpy(), rtol=1e-9)


def test_a_slice_of_a_table_with_row_numbers_keeps_its_place_in_the_season() -> None:
    series = noisy(220, pd.RangeIndex(220), 7)
    forecaster = VARForecaster(orders=2, season=7).fit(series[:200])
    whole, part = (forecaster.predict(7, series[first:]) for first in (0, 103))
    pd.testing.assert_frame_equal(part, whole, rtol=1e-9)
    one_step = forecaster.predict_one_step(series)
    pd.testing.assert_frame_equal(forecaster.predict_one_step(series[103:])[5:], one_step[108:], rtol=1e-9)


def test_new_rows_may_leave_none_out_in_between(hourly: PSRNNForecaster) -> None:
    before = hourly.predict(3)
    with pytest.raises(ValueError, match=r"goes on in row 1 at 2024-01-05 06.*, not at 2024-01-05 05.*put in empty"):
        hourly.update(hours(110).iloc[[100, 102, 105]])
    pd.testing.assert_frame_equal(hourly.predict(3), before)


def test_a_season_longer_than_the_validation_part() -> None:
    data = noisy(1000, pd.RangeIndex(1000), 300)
    with pytest.warns(UserWarning, match="on the validation part a naive forecast"):
        errors = VARForecaster(orders=2, season=300).fit(data).validation_errors_
    assert all(np.isfinite(values).all() for values in errors.values())
    assert errors["season before"][0] == pytest.approx(2 * 0.05**2 / data[:900].to_numpy().var(), rel=0.3)


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_two_seasons_are_tried_where_one_is_longer_than_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def watched(model: Any, fit: Any, choices: list[int], *, leads: int) -> Any:
        tried.append(list(choices))
        return choose_ahead(model, fit, choices, leads=leads)

    monkeypatch.setattr("models.forecasting.lags_ahead.choose_ahead", watched)
    EchoStateForecaster(units=3).fit(noisy(4000, pd.RangeIndex(4000), 300))
    assert tried == [[0, 1, 2, 4, 8, 16, 24, 300, 600]]


def even(rows: int = 60) -> pd.DataFrame:
    return hours(rows).assign(price=np.arange(rows) % 5)


@pytest.mark.filterwarnings("ignore:the numbers of the index are uneven")
@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({"season": 55}, even(), "season is 55 rows, and the longest series has 54 to fit to; give a shorter"),
        ({"calendar": ["hour", "hour"]}, even(), "calendar names a cycle twice: hour, hour"),
        ({"target": []}, even(), "target names no column"),
        (
            {"calendar": ["hour"]},
            even().iloc[np.r_[0:30, 31:60]],
            "no even step where it ends, at 2024-01-03 11.*asfreq",
        ),
        ({"season": 5}, pd.concat({"a": even(80), "b": even().iloc[np.r_[0:30, 31:60]]}), "no even step where it ends"),
        (
            {"season": 5},
            pd.concat({"a": even(80).reset_index(drop=True), "b": even().set_axis(np.r_[0:30, 31:61])}),
            "no even step where it ends, at 60",
        ),
    ],
)
def test_settings_that_mean_nothing_are_refused(parameters: dict[str, Any], data: pd.DataFrame, message: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the times of the index are uneven")
        with pytest.raises(ValueError, match=message) as refused:
            VARForecaster(orders=2, **parameters).fit(data)
    assert "\n" not in str(refused.value)


def test_lags_are_whole_numbers_of_numpy_too() -> None:
    data = np.sin(np.arange(1000) / 50)
    chosen = [PSRNNForecaster(count=3, lags=lags).fit(data).chosen_ for lags in (200, np.int64(200))]
    assert chosen[0] == chosen[1]


def test_a_warning_that_is_an_error_leaves_the_model_as_it_was() -> None:
    forecaster = VARForecaster(orders=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forecaster.fit(hours(100))
    before = forecaster.predict(3)
    with pytest.raises(UserWarning, match=r"a naive forecast \(season before\) is better"):
        forecaster.fit(np.resize(np.random.default_rng(0).normal(size=31), 500))
    pd.testing.assert_frame_equal(forecaster.predict(3), before)


BERLIN = pd.date_range("2024-01-01", periods=120, freq="D", tz="Europe/Berlin")  # clocks change before its end


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
@pytest.mark.parametrize(
    "index",
    [
        BERLIN,
        BERLIN[::2],
        pd.bdate_range("2024-01-01", periods=120),
        pd.bdate_range("1969-10-01", periods=120, tz="CET"),
    ],
    ids=["change of clocks", "every other day", "working days", "working days of a zone"],
)
def test_days_of_unequal_length_keep_their_place_in_the_season(index: pd.DatetimeIndex) -> None:
    clock = clock_of(index)
    numbers = clock.row_numbers(index, len(index), first=0)
    np.testing.assert_array_equal(np.diff(numbers), 1)
    np.testing.assert_array_equal(clock.row_numbers(index[13:20], 7, first=0), numbers[13:20])
    data = noisy(len(index), index, 5)
    forecaster = VARForecaster(orders=2, season=5).fit(data)
    whole, part = (forecaster.predict(5, data[first:]) for first in (0, 13))
    pd.testing.assert_frame_equal(part, whole, rtol=1e-9)
    come = noisy(len(index) + 5, pd.RangeIndex(len(index) + 5), 5)[-5:]
    assert np.abs(forecaster.predict(5).to_numpy() - come.to_numpy()).max() < 0.5


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_steps_of_unequal_length_that_are_counted_are_said_as_that() -> None:
    week = pd.offsets.CustomBusinessDay(weekmask="Sun Mon Tue Wed Thu")
    data = noisy(120, pd.date_range("2024-01-01", periods=120, freq=week), 5)
    forecaster = VARForecaster(orders=2, season=5).fit(data[:100])
    with pytest.raises(
        ValueError, match=r"which row .* in steps of unequal length; .* update, or fit with calendar=\"au"
    ):
        forecaster.predict(2, data[10:60])
    assert forecaster.update(data[100:]).predict(2).index[0] == data.index[-1] + week
    assert len(VARForecaster(orders=2, calendar="auto").fit(data[:100]).predict(2, data[10:60])) == 2


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_holiday_of_ones_own_is_a_day_of_the_season(zone: str | None) -> None:
    """Each weekday has its own value, so that a season of five rows is one of five days after holidays too."""
    holidays = pd.offsets.CustomBusinessDay(holidays=["2024-03-29", "2024-04-01", "2024-05-01"])
    index: Any = pd.date_range("2024-01-01", periods=120, freq=holidays, tz=zone)
    data = pd.DataFrame({"load": np.sin(2 * np.pi * index.day_of_week / 5)}, index=index)
    data["load"] += 0.01 * np.random.default_rng(0).normal(size=len(data))
    forecaster = VARForecaster(orders=1, season=5).fit(data[:80])
    ahead = forecaster.predict(5, data[30:85])
    assert list(ahead.index) == list(data.index[85:90])
    np.testing.assert_allclose(ahead["load"], data["load"][85:90], atol=0.2)


@pytest.mark.filterwarnings("ignore:on the validation part")
def test_a_reading_without_the_season_is_told_who_makes_it() -> None:
    days = pd.date_range("2024-01-01", periods=61, freq="D")
    rows = pd.DataFrame({"load": np.random.default_rng(0).normal(size=61)}, days)
    told = VARForecaster(orders=2, season=7).fit(rows[:60])
    said = r"; \(next row\) is the value in the row after: update and predict of the fitted estimator take rows as"
    with pytest.raises(ValueError, match=r"got shape \(1,\)" + said):
        told.forecaster_.online().update([1.0])
    with pytest.raises(ValueError, match=r"^columns season sine 1 \(next row\), .* the table has load" + said):
        told.forecaster_.online().update(rows.iloc[60])
    with pytest.raises(ValueError, match=r"^column load is missing; the model needs [^:]*$"):
        VARForecaster(orders=2).fit(rows).forecaster_.online().update(rows.iloc[0].rename({"load": "other"}))
    assert told.update(rows[60:]).predict(1).index[0] == days[60] + days.freq
    with pytest.raises(ValueError, match=r"got shape \(2,\)$"):
        VARForecaster(orders=2).fit(rows).forecaster_.online().update([1.0, 2.0])
