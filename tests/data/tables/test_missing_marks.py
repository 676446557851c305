"""Numbers of nines alone that lie far outside the others of their column are told as marks of missing values."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.base import DataError
from data.tables.missing_marks import marks_of
from data.tables.points import load, read_inputs
from data.tables.sequences import load_table

STAFF = [5, 6, 7, 8, 9, 10, 11] * 6


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([*STAFF, -999, -999, -999], ["column 'a': 3 values are -999"]),
        ([*STAFF, 9999.0, np.nan, 9999.0], ["column 'a': 2 values are 9999"]),
        ([0.5, 1.5, -99.99, -99.99], ["column 'a': 2 values are -99.99"]),
        ([*STAFF, -99, -99, -999, -999], ["column 'a': 2 values are -999", "column 'a': 2 values are -99"]),
        ([0, 1, 2, 99999, 99999], ["column 'a': 2 values are 99999"]),
        ([20.9, 21.3, 21.4, 999.9, 999.9], ["column 'a': 2 values are 999.9"]),
        ([0, 1, 3, 999, 999, 9999, 9999], ["column 'a': 2 values are 999", "column 'a': 2 values are 9999"]),
        ([*STAFF, -999], []),  # once
        ([*STAFF, -1, -1], []),
        ([*STAFF, 9, 9], []),
        ([90, 95, 99, 99, 105], []),  # within the others
        ([0, 50, 90, -99, -99], ["column 'a': 2 values are -99"]),
        ([0, 50, 100, -99, -99], []),  # near the others
        ([0, 200, 251, 999, 999], []),  # near the others
        ([-999, -999, 9999, 9999], []),  # no others
        ([np.nan, np.nan], []),
        ([1e300, 1, 2, -999, -999], []),
    ],
)
def test_marks_stand_twice_and_lie_far_outside_the_others(values: list, told: list[str]) -> None:
    assert [str(mark) for mark in marks_of(np.array(values, np.float64), "a")] == told


@pytest.mark.parametrize(
    "kinds",
    [
        [98, 99],
        [99, 99.9, 100],
        [999, 1000],
        [0, 9999],
        [0, 512, 9999],
        [1, 99],
        [0, 1, 2, 99],
        [*range(40), 99],
        [20, 20.5, 21, 99.9],
        [9.99, 19.99, 99.99, 999.99],
        [9.99, 14.49, 19.99, 999.99],
        [0, -99],
    ],
)
def test_values_of_nines_that_are_no_marks_are_not_told(kinds: list[float]) -> None:
    assert marks_of(np.array(kinds * 3, np.float64), "a") == []


@pytest.mark.parametrize("value", [-999.9, -99.99, 9999.9])
def test_a_mark_of_single_precision_is_told_by_the_digits_of_its_column(value: float) -> None:
    values = np.array([20.25, 21.3, 22.7, value, value], np.float32).astype(np.float64)
    assert [str(mark) for mark in marks_of(values, "a")] == [f"column 'a': 2 values are {value}"]


def test_of_many_different_values_only_those_at_the_ends_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = list[float]()
    monkeypatch.setattr("data.tables.missing_marks.is_mark", lambda value: looked.append(value) or value == -999)
    assert [mark.times for mark in marks_of(np.array([*range(500), -999, -999], np.float64), "a")] == [2]
    assert len(looked) < 10


def test_a_table_tells_them_in_one_line_and_new_rows_are_not_looked_at(tmp_path: Path) -> None:
    path = str(tmp_path / "t.csv")
    pd.DataFrame({"a": [*STAFF, -999, -999], "b": range(44), "c": [*[0.5, 0.25] * 21, -99.9, -99.9]}).to_csv(
        path, index=False
    )
    line = r"t\.csv, column 'a': 2 values are -999, column 'c': 2 values are -99\.9; empty these cells if that marks"
    with pytest.warns(UserWarning, match=line):
        load_table(path=path, columns=["a", "c"])
    with pytest.warns(UserWarning, match=r"t\.csv, column 'a': 2 values are -999; empty these cells"):
        load(path=path, target="a", columns=["b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_inputs(path, columns=["a", "b"]).shape == (44, 2)


def test_an_infinite_value_of_points_is_told_what_an_emptied_cell_does(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n2,inf,4\n")
    with pytest.raises(DataError, match=r"'inf' is not a finite number \(the row of an emptied cell is left out"):
        load(path=str(tmp_path / "t.csv"), target="y")


def test_a_decimal_comma_hides_no_mark(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "1,5;2\n2,5;3\n" * 10 + "-999,9;4\n" * 2)
    with pytest.warns(UserWarning, match=r"column 'a': 2 values are -999\.9; empty"):
        load_table(path=str(path), delimiter="semicolon", decimal="comma")
