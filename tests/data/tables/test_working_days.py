"""Tables of working days: weekends are no gaps, and single holidays do not turn them into days of any kind."""

from __future__ import annotations

import warnings
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from data.tables.sequences import read_sequences
from data.tables.times import times_after, uneven
from data.tables.working_days import working_day_steps
from data.tables.zones import times_after_in

HOLIDAYS = ["2024-03-29", "2024-04-01", "2024-05-01"]  # Good Friday, Easter Monday, a Wednesday


CLOSED = pd.bdate_range("2024-04-15", "2024-04-19").strftime("%Y-%m-%d").tolist()


def days(*missing: str, end: str = "2024-05-10", clock: str = "00:00") -> np.ndarray:
    found = pd.bdate_range("2024-03-01", end).drop(pd.DatetimeIndex(missing))
    return (found + pd.Timedelta(f"{clock}:00")).to_numpy()


@pytest.mark.parametrize("clock", ["00:00", "17:30"])
def test_working_days_go_on_as_such_where_holidays_are_missing(clock: str) -> None:
    times = days(*HOLIDAYS, clock=clock)
    assert uneven(times)
    expected = np.array(["2024-05-13", "2024-05-14", "2024-05-15", "2024-05-16", "2024-05-17", "2024-05-20"])
    shift = np.timedelta64(pd.Timedelta(f"{clock}:00"))
    np.testing.assert_array_equal(times_after(times, 6), expected.astype(times.dtype) + shift)


def test_working_days_go_on_as_such_after_a_week_in_which_all_was_closed() -> None:
    times = days(*CLOSED)
    assert working_day_steps(times) is not None
    assert times_after(times, 1)[0] == np.datetime64("2024-05-13")


def test_working_days_are_those_of_their_zone() -> None:
    zone = ZoneInfo("Australia/Sydney")  # midnight there is the day before in UTC, so that Mondays are Sundays
    clocks = pd.DatetimeIndex(days(*HOLIDAYS)).tz_localize(zone)
    later = times_after_in(clocks.tz_convert("UTC").tz_localize(None).to_numpy(), 2, zone)
    assert list(later) == list(pd.DatetimeIndex(["2024-05-13", "2024-05-14"]).tz_localize(zone))


@pytest.mark.parametrize(
    ("times", "what"),
    [
        (days("2024-03-06", end="2024-03-20"), "14 rows"),
        (np.append(days(*HOLIDAYS), np.datetime64("2024-05-11")), "a Saturday"),
        (days(*CLOSED, "2024-04-22", end="2024-08-30"), "six days in a row"),
        (days()[::2], "every second"),
        (days()[::5], "weeks"),
        (np.append(days(*HOLIDAYS), np.datetime64("2024-05-13T01:30")), "another time of day"),
        (np.append(days(*HOLIDAYS), np.datetime64("2024-05-10T00:30")), "a day twice"),
        (np.arange(30.0), "numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_times_are_no_working_days(times: np.ndarray, what: str) -> None:
    assert working_day_steps(times) is None, what
    if what not in ("weeks", "every second"):
        np.testing.assert_array_equal(times_after(times, 1), times[-1:] + np.median(np.diff(times)))


def new_york(*missing: str, clock: str) -> pd.DatetimeIndex:
    """Working days of New York over the change of its clocks on 10 March 2024."""
    found = pd.bdate_range("2024-02-01", "2024-03-28").drop(pd.DatetimeIndex(missing))
    return (found + pd.Timedelta(f"{clock}:00")).tz_localize("America/New_York")


@pytest.mark.parametrize("missing", [(), ("2024-02-19", "2024-03-15")], ids=["whole", "with holidays"])
@pytest.mark.parametrize("written", ["offsets", "UTC"])
@pytest.mark.parametrize("clock", ["00:00", "16:00"])
def test_working_days_go_on_over_a_change_of_clocks(
    clock: str, written: str, missing: tuple[str, ...], tmp_path: Path
) -> None:
    index = new_york(*missing, clock=clock)
    day = index.map(pd.Timestamp.isoformat) if written == "offsets" else index.tz_convert("UTC").tz_localize(None)
    pd.DataFrame({"day": day, "x": np.sin(np.arange(len(day)))}).to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        part = read_sequences(str(tmp_path / "t.csv"), columns=["x"], time="day")
    assert len(said) == len(missing[:1])
    assert part.times is not None
    later = pd.DatetimeIndex(times_after_in(part.times[0], 2, part.zone))
    expected = pd.DatetimeIndex(["2024-03-29", "2024-04-01"]) + pd.Timedelta(f"{clock}:00")
    assert list(later.tz_localize(None)) == list(expected + pd.Timedelta(hours=4))


def read(times: np.ndarray, folder: Path) -> list[str]:
    """Returns what reading a table with these times warns of."""
    pd.DataFrame({"day": times, "x": np.sin(np.arange(len(times)))}).to_csv(folder / "t.csv", index=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read_sequences(str(folder / "t.csv"), columns=["x"], time="day")
    return [str(each.message) for each in said]


def test_weekends_are_no_gaps(tmp_path: Path) -> None:
    assert read(days(), tmp_path) == []
    assert read(days(end="2024-03-08"), tmp_path) == []


def test_missing_working_days_are_counted_and_weekends_are_not(tmp_path: Path) -> None:
    (said,) = read(days(*HOLIDAYS), tmp_path)
    assert said.endswith(
        "t: time steps are uneven and are treated as equal; 2 of 47 are long, the first ends in row 22, at 2024-04-02; "
        "where rows of working days are missing, put in one with the time alone for each"
    )
