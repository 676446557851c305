"""Times that a served forecast goes on with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from models.forecasting.index.working_days import fill_call
from models.forecasting.times_ahead import read_times, times_after, times_ahead


@pytest.mark.parametrize(
    ("given", "later"),
    [
        (["2026-01-31", "2026-02-28", "2026-03-31"], ["2026-04-30", "2026-05-31"]),
        (["2026-01-01 00:00", "2026-01-01 01:00", "2026-01-01 03:00"], ["2026-01-01 04:30", "2026-01-01 06:00"]),
        (["2026-01-01 00:00+02:00", "2026-01-01 01:00+02:00"], ["2026-01-01 02:00+02:00", "2026-01-01 03:00+02:00"]),
    ],
)
def test_dates_go_on_by_their_step(given: list[str], later: list[str]) -> None:
    times = read_times(pd.Series(given))
    assert list(times_after(times, 2)) == list(pd.to_datetime(pd.Series(later), format="ISO8601"))
    texts = [str(time) for time in pd.to_datetime(pd.Series(later))]
    days = "2026-01-31" in given  # which have no time of day
    assert times_ahead([times], 2, as_texts=True) == (
        [text.removesuffix(" 00:00:00") for text in texts] if days else texts
    )


@pytest.mark.parametrize(
    ("given", "later"),
    [
        (["2024-03-31 00:00+01:00", "2024-03-31 01:00+01:00", "2024-03-31 03:00+02:00"], "2024-03-31 02:00:00+00:00"),
        (["2024-10-27 01:00+02:00", "2024-10-27 02:00+02:00", "2024-10-27 02:00+01:00"], "2024-10-27 02:00:00+00:00"),
        (["2024-03-31T00:00Z", "2024-03-31T03:00+02:00"], "2024-03-31 02:00:00+00:00"),
    ],
)
def test_texts_across_a_change_of_clocks_go_on_in_utc(given: list[str], later: str) -> None:
    assert times_ahead([read_times(pd.Series(given))], 1, as_texts=True) == [later]


@pytest.mark.parametrize(
    "given", [["2024-03-31T01:00+01:00", "2024-03-31T02:00"], ["2024-03-31T02:00", "2024-03-31T01:00Z"]]
)
def test_a_date_without_a_zone_beside_one_with_it_is_refused(given: list[str]) -> None:
    said = (
        "^column hour: '2024-03-31T02:00' has no zone, and other times have one; write it, as in 2024-01-31T12:00.01:00"
    )
    with pytest.raises(ValueError, match=said):
        read_times(pd.Series(given, name="hour"))


@pytest.mark.parametrize(
    ("given", "later"),
    [
        ([20240130, 20240131], "2024-02-01"),
        ([20240129.0, 20240130.0, 20240131.0], "2024-02-01"),
        ([202411, 202412], "2025-01-01"),
        ([202411, 202412, 202501], "2025-02-01"),
    ],
)
def test_numbers_are_dates_where_the_training_data_had_dates(given: list, later: str) -> None:
    assert times_ahead([read_times(pd.Series(given), dates=True)], 1, as_texts=True) == [later]
    for known in (False, None):
        assert read_times(pd.Series(given), dates=known).tolist() == given


@pytest.mark.parametrize(
    "given", [[1, 2], [20240131, 20240132], [20240131, 202401], [1.7e12, 1.8e12], [202411.5], [np.inf]]
)
def test_numbers_that_are_no_dates_are_refused_where_the_training_data_had_dates(given: list) -> None:
    said = "^column day holds numbers, and the training data had dates; send texts as 2024-01-31$"
    with pytest.raises(ValueError, match=said):
        read_times(pd.Series(given, name="day"), dates=True)


def test_working_days_but_for_holidays_go_on_as_such() -> None:
    given = pd.bdate_range("2024-03-01", "2024-05-10").drop(["2024-03-29", "2024-04-01"])
    for clocks in (given, given.tz_localize("Australia/Sydney")):
        later = times_after(clocks, 2)
        assert list(later) == list(pd.DatetimeIndex(["2024-05-13", "2024-05-14"], tz=clocks.tz))


@pytest.mark.parametrize("clock", [0, 16])
def test_working_days_of_a_zone_that_are_written_in_utc_go_on_at_the_last_time_of_day(clock: int) -> None:
    given = pd.bdate_range("2024-02-01", "2024-03-28", tz="America/New_York").drop(["2024-02-19", "2024-03-15"])
    times = (given + pd.DateOffset(hours=clock)).tz_convert("UTC")
    expected = pd.DatetimeIndex(["2024-03-29", "2024-04-01"], tz="UTC") + pd.Timedelta(hours=clock + 4)
    assert list(times_after(times, 2)) == list(expected)
    assert fill_call(times) == "asfreq"  # which would empty the rows of summer
    assert fill_call(times.tz_convert("America/New_York")) == 'asfreq("B")'


def test_numbers_go_on_and_a_single_time_has_no_step() -> None:
    numbers = read_times(pd.Series([3, 5, 7]))
    assert times_ahead([numbers], 2, as_texts=False) == [9.0, 11.0]
    assert np.isnan(times_ahead([numbers[:1]], 2, as_texts=False)).all()
    assert times_ahead([read_times(pd.Series(["2026-01-01"]))], 2, as_texts=True) == [None, None]


@pytest.mark.parametrize(
    "wrong",
    [["soon"], [True], [None], ["2026-01-01", 3], [float("nan")], [{}], ["2026-01-01T00Z", "", "2026-01-01T01+01:00"]],
)
def test_what_is_no_time_is_refused_in_one_line(wrong: list) -> None:
    with pytest.raises(ValueError, match="column hour must hold a time in each row: 2026-01-31 12:00, or a number"):
        read_times(pd.Series(wrong, name="hour"))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["2026-01-03", "2026-01-02", "2026-01-01"], "2026-01-02 00:00:00"),
        (["2026-01-01", "2026-01-03", "2026-01-02", "2026-01-04"], "2026-01-02 00:00:00"),
        (["2026-01-01 00:15", "2026-01-01 00:15"], "2026-01-01 00:15:00"),
        ([1, 2, 2], "2.0"),
        ([2, 1], "1.0"),
    ],
)
def test_times_that_go_backwards_or_stand_twice_are_refused(given: list, named: str) -> None:
    with pytest.raises(ValueError, match=f"go backwards or stand twice at {named}; give rows in time order, each"):
        times_after(read_times(pd.Series(given)), 1)
