"""Times of a table's rows: read, kept through splits, continued."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.base import DataError
from data.files.table_files import TextFormat
from data.tables.sequences import load_table, read_new_sequences, read_sequences
from data.tables.times import times_after, uneven
from small_times import REGULAR, UNEVEN, seen_wrongly


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        *REGULAR,
        (["2024-01-05", "2024-01-08", "2024-01-09", "2024-01-10"], ["2024-01-11", "2024-01-12"]),  # no calendar
        (["2024-01-01"], ["NaT", "NaT"]),
    ],
)
def test_dates_go_on_by_their_calendar(times: list[str], expected: list[str]) -> None:
    found = times_after(np.array(times, dtype="datetime64[ns]"), 2)
    np.testing.assert_array_equal(found, np.array(expected, dtype="datetime64[ns]"))


def test_times_without_one_step_are_uneven() -> None:
    for times, _ in REGULAR:
        assert not uneven(np.array(times, dtype="datetime64[ns]"))
    assert uneven(np.array(UNEVEN, dtype="datetime64[ns]"))
    assert not uneven(np.arange(7) * 0.1)
    assert uneven(np.array([0.0, 2.0, 4.0, 9.0]))


@pytest.mark.parametrize("kind", ["hours", "fridays"])
def test_a_step_that_pandas_sees_counts_only_where_the_times_go_on_by_it(kind: str) -> None:
    times = np.array(seen_wrongly()[kind], dtype="datetime64[ns]")
    assert pd.DatetimeIndex(times).inferred_freq in ("bh", "WOM-4FRI")
    assert uneven(times)
    np.testing.assert_array_equal(times_after(times, 1), times[-1] + np.median(np.diff(times)))


def test_working_days_go_on_after_the_weekend() -> None:
    days = pd.bdate_range("2024-01-01", "2024-01-12").to_numpy()
    np.testing.assert_array_equal(
        times_after(days, 3), np.array(["2024-01-15", "2024-01-16", "2024-01-17"], dtype=days.dtype)
    )


def test_numbers_go_on_by_the_median_step() -> None:
    np.testing.assert_array_equal(times_after(np.array([0.0, 2.0, 4.0, 9.0]), 2), [11.0, 13.0])
    assert np.isnan(times_after(np.array([1.0]), 3)).all()


@pytest.mark.parametrize("split", ["time", "fraction", "group"])
def test_times_follow_their_rows_through_every_split(split: str, tmp_path: Path) -> None:
    days = pd.date_range("2024-01-01", periods=30)
    parts = [pd.DataFrame({"who": who, "day": days, "x": np.arange(30.0) + 100 * i}) for i, who in enumerate("abcd")]
    pd.concat(parts).sample(frac=1, random_state=0).to_csv(tmp_path / "t.csv", index=False)
    found = load_table(path=str(tmp_path / "t.csv"), group="who", time="day", split=split, validation=0.25, test=0.25)
    assert found.time_name == "day"
    for part in found.shortened(sequences=None, steps=5).parts.values():
        assert part.times is not None
        for rows, times in zip(part.to_arrays(), part.times, strict=True):
            np.testing.assert_array_equal(rows[:, 0] % 100, (times - days.to_numpy()[0]) / np.timedelta64(1, "D"))


def test_zones_become_universal_time(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("t,x\n2024-01-01T00:00+02:00,1\n2024-01-01T01:00+02:00,2\n")
    times = read_sequences(str(tmp_path / "t.csv"), columns=None, time="t").times
    assert times is not None
    np.testing.assert_array_equal(times[0], np.array(["2023-12-31T22", "2023-12-31T23"], dtype="datetime64[ns]"))


def test_numbers_stay_numbers_and_without_a_column_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("t,x\n3,1\n1,2\n")
    times = read_sequences(str(tmp_path / "t.csv"), columns=["x"], time="t").times
    assert times is not None
    np.testing.assert_array_equal(times[0], [1.0, 3.0])
    assert read_sequences(str(tmp_path / "t.csv"), columns=["x"]).times is None


def in_file(folder: Path, times: list) -> str:
    """The path of a table with these times, from the last to the first, and their number as x."""
    pd.DataFrame({"t": times[::-1], "x": np.arange(len(times), dtype=float)[::-1]}).to_csv(
        folder / "d.csv", index=False
    )
    return str(folder / "d.csv")


@pytest.mark.parametrize(
    ("times", "days"),
    [
        ([20240130, 20240131, 20240201], ["2024-01-30", "2024-01-31", "2024-02-01"]),
        ([202411, 202412, 202501], ["2024-11-01", "2024-12-01", "2025-01-01"]),
        ([180001, 199902, 220012], ["1800-01-01", "1999-02-01", "2200-12-01"]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*time steps are uneven")
def test_digits_of_days_and_months_are_dates(times: list, days: list[str], tmp_path: Path) -> None:
    found = read_sequences(in_file(tmp_path, times), columns=["x"], time="t")
    assert found.times is not None
    assert found.times[0].astype("datetime64[D]").astype(str).tolist() == days
    assert found.to_arrays()[0][:, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "times",
    [
        [20240130, 20240131],
        [20240130, 20240131, 20240132],
        list(range(20240101, 20240133)),
        list(range(200003, 200014)),
        [*range(202401, 202413), 202415, 202416],
        [202411, 202412, 202413],
        [179912, 179911, 179910],
        [22010101, 22010102, 22010103],
        [202401.5, 202402.5, 202403.5],
        [2022, 2023, 2024],
    ],
)
@pytest.mark.filterwarnings("ignore:.*time steps are uneven")
def test_other_numbers_are_no_dates(times: list, tmp_path: Path) -> None:
    found = read_sequences(in_file(tmp_path, times), columns=["x"], time="t")
    assert found.times is not None
    assert found.times[0].tolist() == sorted(times)


@pytest.mark.parametrize(
    ("times", "dated"), [([20240131], True), ([20240130, 20240131], True), ([202401, 202402], False)]
)
def test_few_days_of_digits_are_dates_beside_a_fitted_model(times: list, dated: bool, tmp_path: Path) -> None:
    found = read_new_sequences(in_file(tmp_path, times), TextFormat(), columns=["x"], time="t")
    assert found.times is not None
    assert (found.times[0].dtype.kind == "M") == dated
    if len(times) > 1 and dated:
        assert str(times_after(found.times[0], 1)[0])[:10] == "2024-02-01"


@pytest.mark.parametrize(("step", "after"), [("M", "2019-05-01"), ("D", "2019-01-05")])
def test_periods_are_the_times_at_which_they_begin(step: str, after: str, tmp_path: Path) -> None:
    index = pd.period_range("2019-01-01", periods=4, freq=step, name="t")
    pd.DataFrame({"x": [3.0, 1.0, 2.0, 5.0]}, index=index).to_parquet(tmp_path / "t.parquet")
    found = read_sequences(str(tmp_path / "t.parquet"), columns=None, time="t")
    assert found.times is not None
    assert str(times_after(found.times[0], 1)[0])[:10] == after


DAYS = pd.date_range("2024-01-01", periods=119)


@pytest.mark.parametrize("wrong", [20240230, 2024023, 202402301, 20240229.5])
@pytest.mark.parametrize(("form", "noun"), [("%Y%m%d", "day"), ("%Y%m", "month")])
def test_a_number_that_is_no_date_among_dates_is_refused_by_its_row(
    wrong: float, form: str, noun: str, tmp_path: Path
) -> None:
    dates = DAYS if noun == "day" else pd.date_range("2014-01-01", periods=119, freq="MS")
    written = pd.Series(dates).dt.strftime(form).tolist()
    times = [*written[:60], f"{wrong:.15g}", *written[60:]]
    message = f"column 't', row 62: {wrong:.15g} is no {noun}, as 119 of 120 rows are; mend it or drop the row"
    with pytest.raises(DataError, match=message):
        read_sequences(in_file(tmp_path, times[::-1]), columns=["x"], time="t")


@pytest.mark.parametrize(("first", "noun", "iso"), [(200001, "months", "2000-01"), (20240101, "days", "2000-01-01")])
def test_numbers_that_count_and_may_be_dates_are_warned_of(first: int, noun: str, iso: str, tmp_path: Path) -> None:
    path = in_file(tmp_path, list(range(first, first + 12)))
    with pytest.warns(UserWarning, match=f"{first} to {first + 11} are taken as {noun}; write {noun} as {iso}, and"):
        found = read_sequences(path, columns=["x"], time="t").times
    assert found is not None
    assert found[0].dtype.kind == "M"
    read_new_sequences(path, TextFormat(), columns=["x"], time="t")


def test_days_of_digits_go_on_as_days_and_blank_lines_are_none(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("t,x\n20240228,1\n\n20240229,2\n20240301,3\n")
    found = read_sequences(str(tmp_path / "t.csv"), columns=["x"], time="t")
    assert found.times is not None
    assert str(times_after(found.times[0], 1)[0])[:10] == "2024-03-02"


def test_a_duration_that_is_none_is_refused(tmp_path: Path) -> None:
    table = pd.DataFrame({"t": np.array([1, "NaT", 3], dtype="timedelta64[s]"), "x": [1.0, 2.0, 3.0]})
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="column 't', row 3: 'NaT' is neither a finite number nor an ISO date"):
        read_sequences(str(tmp_path / "t.parquet"), columns=["x"], time="t")
