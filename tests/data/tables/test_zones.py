"""Times with a zone: kept through splits, written in their zone, and gone on with by its clocks."""

import re
from pathlib import Path

import pandas as pd
import pytest

from data.base import DataError, Sequences
from data.files.table_files import TextFormat
from data.tables.sequences import load_table, read_new_sequences
from data.tables.zones import OFFSET, clocks_of, in_zone, offsets_of, times_after_in, uneven_in

HOURS = ["2024-01-01T00:00", "2024-01-01T01:00", "2024-01-01T02:00"]


def read(folder: Path, times: list[str]) -> Sequences:
    file = folder / "t.csv"
    file.write_text("t,x\n" + "".join(f"{time},{row % 3}\n" for row, time in enumerate(times)))
    return read_new_sequences(str(file), TextFormat(), columns=["x"], time="t")


def texts_of(sequences: Sequences, count: int) -> list[str]:
    """Returns the times of the first sequence and those after them as a table writes them."""
    assert sequences.times is not None
    (own,) = sequences.times
    later = times_after_in(own, count, sequences.zone)
    return [*map(str, in_zone(own, sequences.zone)), *map(str, later)]


@pytest.mark.parametrize(
    ("offsets", "written"),
    [
        (["+01:00"] * 3, [f"2024-01-01 0{hour}:00:00+01:00" for hour in range(4)]),
        (["Z"] * 3, [f"2024-01-01 0{hour}:00:00+00:00" for hour in range(4)]),
        (["-0330"] * 3, [f"2024-01-01 0{hour}:00:00-03:30" for hour in range(4)]),
        (["+03", "+02", "+01"], [f"{time}:00:00+00:00" for time in ("2023-12-31 21", "2023-12-31 23", *[
            f"2024-01-01 0{hour}" for hour in (1, 3)])]),
    ],
)  # fmt: skip
def test_times_of_texts_are_written_with_their_offset_or_in_utc(
    offsets: list[str], written: list[str], tmp_path: Path
) -> None:
    times = [time + offset for time, offset in zip(HOURS, offsets, strict=True)]
    assert texts_of(read(tmp_path, times), 1) == written


@pytest.mark.parametrize(
    ("days", "later"),
    [
        (["2024-01-31", "2024-02-29", "2024-03-31"], "2024-04-30"),
        (["2024-01-03", "2024-01-04", "2024-01-05", "2024-01-08", "2024-01-09", "2024-01-10", "2024-01-11",
          "2024-01-12"], "2024-01-15"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*time steps are uneven")
def test_months_and_working_days_are_those_of_the_zone(days: list[str], later: str, tmp_path: Path) -> None:
    sequences = read(tmp_path, [f"{day}T00:00+01:00" for day in days])
    assert sequences.times is not None
    assert texts_of(sequences, 1)[-1] == f"{later} 00:00:00+01:00"
    assert not uneven_in(sequences.times[0], sequences.zone)


@pytest.mark.parametrize(
    ("first", "step", "later"),
    [
        ("2024-03-28", "D", ["2024-03-31 00:00:00+01:00", "2024-04-01 00:00:00+02:00"]),
        ("2024-03-30 23:00", "h", ["2024-03-31 03:00:00+02:00", "2024-03-31 04:00:00+02:00"]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_zone_with_a_change_of_clocks_goes_on_by_days_of_the_zone_or_by_hours(
    first: str, step: str, later: list[str], tmp_path: Path
) -> None:
    times = pd.date_range(first, periods=3, freq=step, tz="Europe/Berlin")
    pd.DataFrame({"t": times, "x": [1.0, 3.0, 2.0]}).to_parquet(tmp_path / "t.parquet")
    sequences = read_new_sequences(str(tmp_path / "t.parquet"), TextFormat(), columns=["x"], time="t")
    assert texts_of(sequences, 2) == [*map(str, times), *later]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "+01:00", None])
def test_a_group_of_one_row_has_clocks(zone: str | None, count: int) -> None:
    times = pd.date_range("2024-10-26", periods=count).to_numpy()
    assert clocks_of(times, pd.Timestamp("2024-01-01", tz=zone).tz) is times
    assert not uneven_in(times, pd.Timestamp("2024-01-01", tz=zone).tz)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("2024-01-31T12:00+01:00", "+01:00"),
        ("2024-01-31 12:00:00 +0530", "+0530"),
        ("2024-01-31T12-05", "-05"),
        ("20240131T120000Z", "Z"),
        ("2024-01-31 12:00:00.5Z", "Z"),
        ("2024-01-31T12:00", None),
        ("2024-01-31", None),
        ("2024-01", None),
        ("nan", None),
        ("", None),
    ],
)
def test_the_zone_is_read_at_the_end_of_a_time_of_day(text: str, offset: str | None) -> None:
    assert offsets_of([text]) == [offset]
    assert offsets_of(["2024-01-30T01:00-03:00", text]) == ["-03:00", offset]


def test_each_ending_of_texts_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Looked(list[str]):
        def search(self, text: str) -> re.Match[str] | None:
            self.append(text)
            return OFFSET.search(text)

    monkeypatch.setattr("data.tables.zones.OFFSET", looked := Looked())
    assert offsets_of([f"2024-01-{day:02d}T12:00+01:00" for day in range(1, 31)]) == ["+01:00"] * 30
    assert offsets_of([f"2024-01-{day:02d}T12:00:00" for day in range(1, 31)]) == [None] * 30
    assert looked == ["+01:00", ":00:00"]


def test_times_of_which_some_have_no_zone_are_refused_by_the_row(tmp_path: Path) -> None:
    message = "column 't', row 3: '2024-01-01T01:00' has no zone, and other times have one; write it, as in 2024-01"
    with pytest.raises(DataError, match=message):
        read(tmp_path, [HOURS[0] + "Z", HOURS[1], HOURS[2] + "Z"])


def test_a_step_that_is_too_long_is_named_in_the_zone(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"the first ends in row 4, at 2024-01-03 00:00:00\+01:00;"):
        read(tmp_path, [*(time + "+01:00" for time in HOURS[:2]), "2024-01-03T00:00+01:00"])


def test_parts_and_shortened_parts_keep_the_zone(tmp_path: Path) -> None:
    times = pd.date_range("2024-01-01", periods=40, freq="h", tz="+01:00")
    values = [float(row % 5) for row in range(40)]
    pd.DataFrame({"t": times, "x": values}).to_csv(tmp_path / "t.csv", index=False)
    dataset = load_table(path=str(tmp_path / "t.csv"), time="t").shortened(sequences=None, steps=4)
    for part in (dataset.train, dataset.test.pick([0])):
        assert part.times is not None
        assert set(times) > set(in_zone(part.times[0], part.zone))
