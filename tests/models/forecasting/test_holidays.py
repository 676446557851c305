"""Forecasters of working days of which holidays are missing: their forecasts go on from Monday to Friday."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, VARForecaster

ALL_DAYS = pd.bdate_range("2023-01-02", periods=310, name="day")
HOLIDAYS = {"few": [40, 41, 150, 299], "last": [301], "two weeks ago": [290]}
AHEAD = ALL_DAYS[304:307]

pytestmark = [
    pytest.mark.filterwarnings("ignore:the times of the index are uneven.*Monday to Friday:UserWarning"),
    pytest.mark.filterwarnings("ignore:on the validation part a naive forecast"),
]


def prices(missing: list[int], end: int = 304) -> Any:
    generator = np.random.default_rng(0)
    values = np.column_stack([np.sin(np.arange(310) / 5), np.cos(np.arange(310) / 7)])
    table = pd.DataFrame(values + 0.1 * generator.normal(size=(310, 2)), ALL_DAYS, ["price", "rate"])
    return table[:end].drop(index=ALL_DAYS[missing])


@pytest.mark.parametrize("missing", HOLIDAYS.values(), ids=HOLIDAYS)
def test_forecasts_go_on_from_monday_to_friday(missing: list[int]) -> None:
    said = r'uneven, .*; forecasts go on from Monday to Friday, holidays among them; put in .* DataFrame.asfreq\("B"\)'
    with pytest.warns(UserWarning, match=said):
        forecaster = LastValueForecaster().fit(prices(missing))
    pd.testing.assert_index_equal(forecaster.predict(3).index, AHEAD, exact="equiv")


def test_a_calendar_after_a_missing_day_is_refused_without_a_promise_of_forecasts() -> None:
    said = r'uneven, and each row counts as one step; put in .* DataFrame.asfreq\("B"\) say$'
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(ValueError, match="calendar and season go by the index, which has no even step where it ends"),
    ):
        LastValueForecaster(calendar=["weekday"]).fit(prices([301]))
    forecaster = LastValueForecaster(calendar=["weekday"]).fit(prices([]))
    with pytest.warns(UserWarning, match=said):
        forecaster.score(prices([301]))
    with (
        pytest.warns(UserWarning, match=said),
        pytest.raises(ValueError, match="calendar needs a table whose index holds times, in even steps"),
    ):
        forecaster.predict(2, prices([301]))


def test_a_calendar_goes_on_where_days_are_missing_long_ago() -> None:
    with pytest.warns(UserWarning, match="forecasts go on from Monday to Friday, holidays among them"):
        forecaster = LastValueForecaster(calendar=["weekday"]).fit(prices([40]))
    assert list(forecaster.predict(3).index) == list(AHEAD)


def test_known_rows_and_updates_leave_out_holidays_to_come() -> None:
    rows = prices([290, 303], 310)
    forecaster = VARForecaster(orders=2, covariates="rate").fit(rows[:302])
    known = rows[["rate"]][302:304]
    assert list(forecaster.predict(2, known=known.to_numpy()).index) == list(ALL_DAYS[303:305])
    assert list(forecaster.predict(2, known=known).index) == list(ALL_DAYS[304:306])
    forecaster.update(rows[302:303])
    assert forecaster.predict(1, known=known[1:].to_numpy()).index[0] == ALL_DAYS[305]


@pytest.mark.parametrize(
    "days",
    [["2030-03-11", "2030-03-12"], ["2024-03-01", "2024-03-02"], ["2024-03-01", "2025-03-03"]],
    ids=["far off", "weekend", "far apart"],
)
@pytest.mark.parametrize("periods", [False, True], ids=["times", "periods"])
def test_known_rows_on_other_days_than_the_next_working_ones_are_refused(days: list[str], periods: bool) -> None:
    rows, index = prices([290, 302]), pd.DatetimeIndex(days)
    if periods:
        rows, index = rows.to_period("D"), index.to_period("D")
    forecaster = VARForecaster(orders=2, covariates="rate").fit(rows)
    said = "^known must .* on working days at one time of day after 2024-02-29.*; it has .*, or an array"
    with pytest.raises(ValueError, match=said):
        forecaster.predict(2, known=pd.DataFrame({"rate": [0.1, 0.2]}, index))
    a_week_off = pd.DatetimeIndex(["2024-03-08", "2024-03-11"])
    known = pd.DataFrame({"rate": [0.1, 0.2]}, a_week_off.to_period("D") if periods else a_week_off)
    with pytest.warns(UserWarning, match="^known begins at 2024-03-08.*, and the rows so far end at 2024-02-29"):
        assert list(forecaster.predict(2, known=known).index) == list(known.index)
    if not periods:
        with pytest.raises(ValueError, match=said):
            forecaster.predict(2, known=known.set_axis(a_week_off + pd.Timedelta("17h")))


@pytest.mark.parametrize("periods", [False, True], ids=["times", "periods"])
def test_working_days_beside_days_are_told_of_and_beside_working_days_are_not(periods: bool) -> None:
    rows = prices(HOLIDAYS["few"])
    index = {"days": pd.date_range("2023-01-02", periods=304), "working days": ALL_DAYS[:304]}
    parts = {name: prices([]).set_axis(own) for name, own in index.items()} | {"holidays": rows}
    if periods:
        parts = {name: part.to_period("D") for name, part in parts.items()}
    LastValueForecaster().fit(
        pd.concat({name: parts[name] for name in ("working days", "holidays")}, names=["of", "day"])
    )
    with pytest.warns(
        UserWarning, match="^the rows of series holidays are 1 working day apart, and those of .* 1 day; each"
    ):
        LastValueForecaster().fit(pd.concat({name: parts[name] for name in ("days", "holidays")}, names=["of", "day"]))


def test_a_figure_has_days_on_its_axis() -> None:
    axes: Any = LastValueForecaster().fit(prices(HOLIDAYS["few"])).plot(3, None)
    past, ahead = axes.lines[:2]
    assert pd.DatetimeIndex(past.get_xdata())[-1] == ALL_DAYS[303]
    assert list(pd.DatetimeIndex(ahead.get_xdata())) == list(AHEAD)
    assert axes.get_xlabel() == "day"
    plt.close(axes.figure)


def test_saved_forecasters_go_on_as_they_did(tmp_path: Path) -> None:
    forecaster: Any = LastValueForecaster().fit(prices(HOLIDAYS["few"]))
    forecaster.save(tmp_path / "saved")
    loaded = LastValueForecaster.load(tmp_path / "saved")
    pd.testing.assert_index_equal(loaded.predict(3).index, AHEAD, exact="equiv")
