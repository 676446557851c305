"""Tables of pandas in and out of a forecaster."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import models
from models.baselines.autoregression import Autoregression
from models.forecasting.estimators.position import longer_tail
from models.forecasting.extensions import imports
from models.forecasting.forecaster import Forecaster
from models.forecasting.index.steps import (
    goes_by,
    goes_by_working_hours,
    holds_dates_as_texts,
    index_after,
    step_of,
    times_in,
)
from small_times import REGULAR, UNEVEN, seen_wrongly


@pytest.fixture
def forecaster() -> Forecaster:
    model = Autoregression(dimension=2, order=2).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(0.4 * torch.randn(tensor.shape, generator=generator))
    mean, scale = torch.tensor([10.0, -3.0], dtype=torch.float64), torch.tensor([2.0, 0.5], dtype=torch.float64)
    return Forecaster(model, mean=mean, scale=scale, feature_names=("load", "heat"))


def series() -> np.ndarray:
    values = np.array([10.0, -3.0]) + np.random.default_rng(0).normal(size=(9, 2))
    values[3, 1] = np.nan
    return values


def test_columns_go_by_name_and_come_back_in_their_order(forecaster: Forecaster) -> None:
    times = pd.date_range("2024-03-30 20:00", periods=9, freq="h", tz="Europe/Berlin", name="hour")
    table = pd.DataFrame(series(), columns=["load", "heat"], index=times).assign(note="x")[["heat", "note", "load"]]
    ahead, along = forecaster.forecast(table, 3), forecaster.predict(table)
    assert list(ahead.columns) == list(along.columns) == ["heat", "load"]
    np.testing.assert_array_equal(ahead[["load", "heat"]].to_numpy(), forecaster.forecast(series(), 3))
    np.testing.assert_array_equal(along[["load", "heat"]].to_numpy(), forecaster.predict(series()))
    assert along.index.equals(times)
    assert ahead.index.equals(pd.date_range(times[-1], periods=4, freq="h")[1:])
    assert ahead.index.name == "hour"
    assert isinstance(forecaster.forecast(series(), 3), np.ndarray)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (pd.RangeIndex(9), [9, 10]),
        (pd.RangeIndex(10, 28, 2), [28, 30]),
        (pd.DatetimeIndex(pd.date_range("2024-01-31", periods=4, freq="ME")), ["2024-05-31", "2024-06-30"]),
        (pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-03"]), ["2024-01-04", "2024-01-05"]),
        (pd.DatetimeIndex(["2024-01-01", "2024-01-02"]), ["2024-01-03", "2024-01-04"]),
        (pd.period_range("2024Q1", periods=3, freq="Q"), ["2024Q4", "2025Q1"]),
        (pd.Index([0.0, 0.5, 1.0]), [1.5, 2.0]),
        (pd.to_timedelta([0, 2, 4], unit="h"), list(pd.to_timedelta([6, 8], unit="h"))),
        (pd.Index([0.0, 0.5, 1.5]), [1, 2]),
        (pd.Index([0.5]), [1, 2]),
        (pd.DatetimeIndex(["2024-01-01"]), [1, 2]),
        (pd.Index(list("abc")), [1, 2]),
    ],
)
def test_an_index_goes_on_where_it_has_a_step(index: pd.Index, expected: list) -> None:
    found = index_after(index, 2)
    wanted = type(found)(expected, freq="Q") if isinstance(index, pd.PeriodIndex) else expected
    assert list(found) == list(pd.DatetimeIndex(expected) if isinstance(found, pd.DatetimeIndex) else wanted)
    assert found.name == ("step" if expected == [1, 2] else None)


@pytest.mark.parametrize(("times", "expected"), REGULAR)
def test_times_go_on_as_those_of_a_file_do(times: list[str], expected: list[str]) -> None:
    for zone in (None, "Europe/Berlin"):
        found = index_after(pd.DatetimeIndex(times, name="day", tz=zone), 2)
        assert list(found) == list(pd.DatetimeIndex(expected, tz=zone))
        assert found.name == "day"


def test_fractions_go_on_by_a_step_that_is_even_up_to_rounding() -> None:
    found = index_after(pd.Index(0.1 * np.arange(64), name="seconds"), 3)
    np.testing.assert_allclose(found, [6.4, 6.5, 6.6])
    assert found.name == "seconds"


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (pd.Index([125, 126, 127], dtype="int8"), [128, 129]), (pd.Index([1, 2, 3], dtype="uint8"), [4, 5]),
        (pd.Index([0.1, 0.2, 0.3], dtype="float32"), [0.4, 0.5]), (pd.Index([3, 2, 1]), [1, 2]),
    ],
)  # fmt: skip
def test_numbers_of_any_kind_go_on_by_their_step_and_those_that_fall_are_counted(
    index: pd.Index, expected: list[float]
) -> None:
    np.testing.assert_allclose(index_after(index, 2), expected, rtol=1e-6)


WEEK = pd.period_range("2024-01-01", periods=12, freq="D", name="day")


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (pd.period_range("2024-01", periods=12, freq="M")[::2], ["2025-01", "2025-03"]),
        (pd.period_range("2024-01", periods=4, freq="2M"), ["2024-09", "2024-11"]),
        (pd.period_range("2024-01", periods=1, freq="2M"), ["2024-03", "2024-05"]),
        (WEEK[WEEK.day_of_week < 5], ["2024-01-15", "2024-01-16"]),  # working days, as their times go on
        (pd.PeriodIndex(["2024-01-01", "2024-02-01", "2024-03-01"], freq="D"), ["2024-04-01", "2024-05-01"]),
    ],
)
def test_periods_go_on_by_as_many_as_lie_between_them_or_as_their_times(
    index: pd.PeriodIndex, expected: list[str]
) -> None:
    wanted = pd.PeriodIndex(expected, freq=index.freq, name=index.name)
    pd.testing.assert_index_equal(index_after(index, 2), wanted)
    assert index_after(index, 2).name == index.name


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (WEEK.delete([3, 7]), ["2024-01-13", "2024-01-14"]),
        (pd.period_range("2024-01", periods=12, freq="M").delete(10), ["2025-01", "2025-02"]),
        (pd.period_range("2024-01", periods=6, freq="2M").delete(3), ["2025-01", "2025-03"]),
    ],
)
def test_periods_with_gaps_go_on_one_after_the_other_with_a_warning(index: pd.PeriodIndex, expected: list[str]) -> None:
    said = "the times of the table's index are uneven; the forecast's rows are the periods after the last one$"
    with pytest.warns(UserWarning, match=said) as warned:
        found = index_after(index, 2)
    pd.testing.assert_index_equal(found, pd.PeriodIndex(expected, freq=index.freq, name=index.name))
    assert len(warned) == 1


HOLIDAYS = pd.bdate_range("2024-03-01", "2024-05-09", name="day").drop(["2024-03-29", "2024-04-01", "2024-05-01"])


@pytest.mark.parametrize(
    ("index", "fill"),
    [
        (HOLIDAYS, r'asfreq\("B"\)'),
        ((HOLIDAYS + pd.Timedelta(hours=16)).tz_localize("Europe/Berlin"), r'asfreq\("B"\)'),
        (HOLIDAYS.to_period("D"), "reindex"),
    ],
    ids=["times", "times of a zone", "periods"],
)
def test_working_days_with_holidays_go_on_from_monday_to_friday_with_a_warning(index: Any, fill: str) -> None:
    said = f"working days are missing in .* go on from Monday to Friday, .*; put in .*, with DataFrame.{fill} say$"
    with pytest.warns(UserWarning, match=said) as warned:
        found: Any = index_after(index, 3)
    assert len(warned) == 1
    assert list(found.strftime("%Y-%m-%d")) == ["2024-05-10", "2024-05-13", "2024-05-14"]
    assert (found.dtype, found.name) == (index.dtype, "day")
    assert set(found.hour) == {index[0].hour}


def test_periods_that_go_backwards_are_refused() -> None:
    with pytest.raises(ValueError, match="go backwards; sort it by its index"):
        index_after(WEEK[::-1], 2)


def test_spans_that_go_backwards_are_refused() -> None:
    with pytest.raises(ValueError, match="the times of the table's index go backwards"):
        index_after(pd.to_timedelta([3, 2, 1], unit="s"), 2)


def test_uneven_spans_are_counted_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="uneven"):
        assert list(index_after(pd.to_timedelta([0, 1, 3], unit="h"), 2)) == [1, 2]


@pytest.mark.parametrize("kind", ["hours", "fridays"])
@pytest.mark.parametrize("made", ["seen", "told", "periods"])
def test_a_step_that_pandas_sees_counts_only_where_the_times_go_on_by_it(kind: str, made: str) -> None:
    times = pd.DatetimeIndex(seen_wrongly()[kind])
    if made == "told":
        times = pd.DatetimeIndex(times, freq="infer")
    elif made == "periods":
        times = times_in(times.to_period("h"))
    assert times is not None
    assert times.inferred_freq in ("bh", "WOM-4FRI")
    assert step_of(times) is None
    with pytest.warns(UserWarning, match="the times of the table's index are uneven"):
        assert list(index_after(times, 2)) == [1, 2]


@pytest.mark.parametrize("freq", ["B", "W-SUN", "MS", pd.offsets.CustomBusinessDay(weekmask="Mon Tue")])
def test_a_step_that_is_kept_in_another_zone_counts_only_where_clocks_go_by_it(freq: Any) -> None:
    there = pd.date_range("2024-01-01", periods=12, freq=freq, tz="Europe/Berlin")
    times: Any = there.tz_convert("UTC")
    times._data._freq = there.freq  # as pandas 2 has it
    assert goes_by(there, there.freq)
    assert not goes_by(times, times.freq)


@pytest.mark.parametrize("freq", ["B", "D", "h", "MS", pd.offsets.CustomBusinessDay(weekmask="Mon Tue")])
@pytest.mark.parametrize("told", [True, False])
def test_a_step_of_pandas_is_not_counted_out_again(freq: Any, told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    times = pd.date_range("2024-01-01", periods=200, freq=freq)
    times = times if told else pd.DatetimeIndex(list(times))
    monkeypatch.setattr(pd, "date_range", None)
    assert told or isinstance(freq, pd.offsets.CustomBusinessDay) or step_of(times) == freq
    assert not told or step_of(times) == times.freq


def test_a_clock_may_stand_at_an_hour_that_is_there_twice() -> None:
    days = pd.date_range("2024-10-20 02:30", periods=12, freq="D").tz_localize("Europe/Berlin", ambiguous=[True] * 12)
    assert step_of(pd.DatetimeIndex(list(days))) == "D"


@pytest.mark.parametrize("step", ["bh", "WOM-4FRI", "2B", pd.offsets.CustomBusinessDay(weekmask="Mon Tue")])
def test_the_step_that_an_index_tells_is_kept_where_rows_go_on_by_it(step: Any) -> None:
    index = pd.date_range("2024-01-31", periods=30, freq=step)
    assert longer_tail(index[:20], pd.DatetimeIndex(list(index[20:]))).freq == index.freq
    assert longer_tail(index[:20], pd.DatetimeIndex(list(index[21:]))).freq is None


@pytest.mark.parametrize("times", [UNEVEN, ["2024-01-01"] * 2])
def test_uneven_times_are_counted_with_a_warning(times: list[str]) -> None:
    with pytest.warns(UserWarning, match="times of the table's index are uneven; the forecast's rows count 1, 2"):
        found = index_after(pd.DatetimeIndex(times), 2)
    assert (list(found), found.name) == ([1, 2], "step")


def test_what_is_wrong_with_a_table_is_said(forecaster: Forecaster) -> None:
    table = pd.DataFrame(series(), columns=["load", "heat"])
    for wrong, message in (
        (table[["heat"]], "column load is missing; the model needs load, heat, the table has heat"),
        (table.drop(columns=["load", "heat"]), "columns load, heat are missing; the model needs load, heat"),
        (table.set_axis(["heat", "heat"], axis=1).assign(load=1.0), "column heat is there twice"),
        (table.assign(heat="warm"), "column heat holds no numbers .*; a gap is NaN"),
        (table.assign(load=np.inf), "infinite value in row 0 of column load"),
        (table.set_index(pd.date_range("2024", periods=9)[::-1]), "go backwards; sort it by its index"),
    ):
        with pytest.raises(ValueError, match=message):
            forecaster.forecast(wrong, 2)


def test_gaps_of_nullable_columns_are_gaps(forecaster: Forecaster) -> None:
    table = pd.DataFrame(series(), columns=["load", "heat"])
    np.testing.assert_array_equal(forecaster.forecast(table.convert_dtypes(), 2), forecaster.forecast(table, 2))


def test_models_are_imported_without_pandas() -> None:
    for file in Path(models.__file__ or "").parent.rglob("*.py"):
        assert "pandas" not in {name for name, at_once in imports(ast.parse(file.read_text())) if at_once}, file


DATES = ("2024-01-01", "2024-01-31T23:00:00+01:00", "31.12.2024 05:00", "01/02/24", "2024-01", "Jan 2024", "2024Q1")
NO_DATES = ("north", "may", "row 1", "sample-2024", "2024", "20240101", "1.2.3", "12:30", "-2024-", "2024-13-45", "")


@pytest.mark.parametrize(
    ("text", "expected"), [*((text, True) for text in DATES), *((text, False) for text in NO_DATES)]
)
def test_texts_that_are_dates_are_told_from_names(text: str, expected: bool) -> None:
    assert holds_dates_as_texts(pd.Index([text])) is expected


def test_all_that_is_looked_at_has_to_be_a_date() -> None:
    days = pd.date_range("2024-01-01", periods=9)
    assert holds_dates_as_texts(days.astype(str))
    assert not holds_dates_as_texts(days)
    assert not holds_dates_as_texts(pd.Index([*days.astype(str), "total"]))
    assert not holds_dates_as_texts(pd.Index([]))


WORKED = pd.date_range("2024-01-04 09:00", periods=40, freq="bh")


@pytest.mark.parametrize(
    "times",
    [
        WORKED,
        WORKED + pd.Timedelta("30min"),
        WORKED[3:],
        WORKED.delete(5),
        WORKED + pd.Timedelta("1h"),
        WORKED + pd.Timedelta("1D"),
        WORKED.tz_localize("Europe/Berlin"),
        pd.date_range("2024-01-04 09:00", periods=40, freq="h"),
        pd.date_range("2024-01-04 09:00", periods=8, freq="h"),
        pd.date_range("2024-01-04 16:00", periods=2, freq="h"),
    ],
)
def test_working_hours_are_told_as_pandas_counts_them(times: pd.DatetimeIndex) -> None:
    clocks = times.tz_localize(None)
    counted = pd.date_range(clocks[0], periods=len(times), freq="bh").equals(clocks)
    assert goes_by_working_hours(clocks) == counted
    assert goes_by(times, "bh") == counted
