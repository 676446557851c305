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
        ([0.5, 1.5, -99.99, -99.99, 99, 99], ["column 'a': 2 values are -99.99", "column 'a': 2 values are 99"]),
        ([*STAFF, -99, -99, -999, -999], ["column 'a': 2 values are -999", "column 'a': 2 values are -99"]),
        ([0, 0, 99999, 99999], ["column 'a': 2 values are 99999"]),
        ([*STAFF, -999], []),  # once
        ([*STAFF, -1, -1], []),
        ([*STAFF, 9, 9], []),
        ([90, 95, 99, 99, 105], []),  # within the others
        ([0, 50, 99, 99], []),  # near the others
        ([-999, -999, 9999, 9999], []),  # no others
        ([np.nan, np.nan], []),
    ],
)
def test_marks_stand_twice_and_lie_outside_the_others_by_more_than_their_range(values: list, told: list[str]) -> None:
    assert [str(mark) for mark in marks_of(np.array(values, np.float64), "a")] == told


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
