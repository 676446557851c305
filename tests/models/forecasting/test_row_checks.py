"""What is said in `fit` of columns and of an index that pandas made of a file in another way than was meant."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster

COUNTS = (
    r"column 'Unnamed: 0(\.1)?' counts the rows and is {} like the others; leave it out, with read_csv\(…, index_col"
)


def sales(rows: int = 60) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(rows, 2)).cumsum(axis=0)
    return pd.DataFrame(values, columns=["bread", "milk"])


def written(frame: pd.DataFrame) -> pd.DataFrame:
    """A table after it was written with its row numbers and read without saying so."""
    return pd.read_csv(io.StringIO(frame.to_csv()))


def said_in_fit(data: pd.DataFrame, forecaster: LastValueForecaster) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True, action="always") as said:
        forecaster.fit(data)
    return said


def panel(frame: pd.DataFrame) -> pd.DataFrame:
    """Two series whose rows alternate, as in a file that is sorted by date."""
    rows = written(frame)
    return rows.set_index([rows.index % 2, rows.index // 2])


COUNTED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "written once": written,
    "written twice": lambda frame: written(written(frame)).drop(columns="Unnamed: 0"),
    "by days": lambda frame: written(frame).set_index(pd.date_range("2024-01-01", periods=len(frame))),
    "some rows": lambda frame: written(frame).drop(range(3, 60, 7)).reset_index(drop=True),
    "the newest first": lambda frame: written(frame).iloc[::-1].reset_index(drop=True),
    "several series": panel,
}


@pytest.mark.parametrize("case", COUNTED)
def test_row_numbers_that_became_a_column_are_warned_of_once(case: str) -> None:
    (told,) = said_in_fit(COUNTED[case](sales()), LastValueForecaster())
    assert pd.Series([str(told.message)]).str.match(COUNTS.format("forecast")).all()
    assert Path(told.filename).name == Path(__file__).name


def test_row_numbers_beside_a_target_are_said_to_be_read() -> None:
    with pytest.warns(UserWarning, match=COUNTS.format("read")):
        LastValueForecaster(target="milk").fit(written(sales()))


UNCOUNTED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "a name": lambda frame: frame.assign(stock=np.arange(60.0)).set_index(pd.date_range("2024-01-01", periods=60)),
    "values": lambda frame: frame.rename(columns={"bread": "Unnamed: 0"}),
    "alone": lambda frame: written(frame).filter(["Unnamed: 0"]),
}


@pytest.mark.parametrize("case", UNCOUNTED)
def test_other_columns_are_no_row_numbers(case: str) -> None:
    LastValueForecaster().fit(UNCOUNTED[case](sales()))


def test_a_column_without_a_name_that_holds_fractions_may_still_say_when() -> None:
    with pytest.warns(UserWarning, match="column Unnamed: 0 rises in every row"):
        LastValueForecaster().fit(written(sales().set_axis(np.arange(60) / 4)))


def test_texts_with_unequal_offsets_are_read_in_one_zone() -> None:
    times = pd.date_range("2024-03-30", periods=60, freq="h", tz="Europe/Berlin")
    rows = sales().set_axis(times.map(str))
    with pytest.warns(
        UserWarning, match=r'unequal offsets, .* with pd.to_datetime\(index, utc=True\).tz_convert\("ZONE"\)$'
    ):
        LastValueForecaster().fit(rows)
    read = pd.to_datetime(rows.index, utc=True).tz_convert("Europe/Berlin")
    assert LastValueForecaster().fit(rows.set_axis(read)).predict(1).index[0] == times[-1] + times.freq


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", None])
def test_texts_with_one_offset_or_none_are_parsed(zone: str | None) -> None:
    times = pd.date_range("2024-03-30 12:00", periods=60, freq="D", tz=zone)
    with pytest.warns(UserWarning, match=r"dates as texts, .*parse_dates=True, or .* with pd.to_datetime$"):
        LastValueForecaster().fit(sales().set_axis(times.strftime("%Y-%m-%d %H:%M:%S%z")))


def test_times_that_are_even_by_a_clock_that_was_changed_are_told_to_leave_the_zone_out() -> None:
    """The advice was asfreq, which asks for hours that no row has and drops the values."""
    times = pd.date_range("2024-10-20", periods=60, freq="6h").tz_localize("Europe/Berlin", ambiguous=True)
    rows, advice = sales().set_axis(times), "even by a clock that was changed, so leave the zone out, as tz_localize"
    with pytest.warns(UserWarning, match=advice):
        LastValueForecaster().fit(rows)
    with pytest.raises(ValueError, match=advice):
        LastValueForecaster(calendar=["hour"]).fit(rows[:40])
    assert not said_in_fit(rows.tz_localize(None), LastValueForecaster(calendar=["hour"]))


def test_hours_of_which_one_is_missing_where_the_clock_changes_are_filled() -> None:
    times = pd.date_range("2024-10-26", periods=60, freq="h", tz="Europe/Berlin").delete([27])
    with pytest.warns(UserWarning, match=r"put in empty rows for missing times, with DataFrame.asfreq say$"):
        LastValueForecaster().fit(sales(59).set_axis(times))


def test_a_calendar_of_texts_says_how_they_are_read_as_times() -> None:
    texts = pd.date_range("2024-01-01", periods=60, freq="h", tz="Europe/Berlin").astype(str)
    with pytest.raises(ValueError, match=r"read its texts as times, with pandas.to_datetime\(index, utc=True\)"):
        LastValueForecaster(calendar=["hour"]).fit(sales().set_axis(texts))


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_working_days_with_holidays_are_filled_with_working_days(zone: str | None) -> None:
    days = pd.bdate_range("2024-01-01", periods=60, tz=zone) + pd.Timedelta(hours=16)
    rows = sales().set_axis(days).drop(days[[20, 57]])
    fill = r'put in empty rows for missing times, with DataFrame.asfreq\("B"\) say$'
    with pytest.warns(UserWarning, match=fill):
        LastValueForecaster().fit(rows)
    with pytest.raises(ValueError, match=r'put in empty rows for missing times, with DataFrame.asfreq\("B"\) say'):
        LastValueForecaster(calendar=["weekday"]).fit(rows)
    filled = rows.asfreq("B")
    pd.testing.assert_index_equal(filled.index, days, exact="equiv", check_names=False)
    assert LastValueForecaster().fit(filled).predict(1).index[0].day_of_week == (days[-1].day_of_week + 1) % 5
