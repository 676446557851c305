"""An index is no feature, and is not lost in silence: columns without a name, and what Parquet keeps of pandas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.base import DataError
from data.files.table_files import TextFormat
from data.tables.points import load as load_points
from data.tables.sequences import read_new_sequences, read_sequences

ROWS = {"x": [3.0, 1.0, 2.0], "y": [5.0, 5.0, 7.0]}


def written(folder: Path, index: object, name: str = "t.csv") -> str:
    """The path of a table with this index."""
    frame = pd.DataFrame(ROWS, index=index)  # pyright: ignore[reportArgumentType]
    (frame.to_parquet if name.endswith("parquet") else frame.to_csv)(folder / name)
    return str(folder / name)


def values(path: str, **settings: object) -> list:
    """The rows of the only sequence of a file."""
    return read_sequences(path, **{"columns": None, **settings}).to_arrays()[0].tolist()


EXPECTED = [list(row) for row in zip(*ROWS.values(), strict=True)]


@pytest.mark.parametrize("start", [0, 1, 100])
def test_a_column_without_a_name_that_counts_rows_is_left_out(start: int, tmp_path: Path) -> None:
    path = written(tmp_path, range(start, start + 3))
    with pytest.warns(UserWarning, match=r"t\.csv: column 1 has no name and counts the rows; it is left out"):
        assert values(path) == EXPECTED
    assert values(path, columns=["x", "y"]) == EXPECTED
    assert values(path, columns=["Unnamed: 0"]) == [[start], [start + 1], [start + 2]]


def test_points_have_no_index_among_their_inputs(tmp_path: Path) -> None:
    pd.DataFrame({"x": np.arange(20.0) % 7, "y": np.arange(20.0) % 3}).to_csv(tmp_path / "p.csv")
    with pytest.warns(UserWarning, match="column 1 has no name and counts the rows"):
        assert load_points(path=str(tmp_path / "p.csv"), target="y").input_names == ("x",)
    pd.DataFrame({"x": np.arange(20.0) % 7, "y": 1.0}, index=np.arange(20) // 2).to_csv(tmp_path / "p.csv")
    with pytest.raises(DataError, match=r"column 1 has no name .* go on without it: columns=\['x'\]$"):
        load_points(path=str(tmp_path / "p.csv"), target="y")


@pytest.mark.parametrize("index", [[0, 2, 5], [0.5, 1.5, 2.5], [2, 1, 0]])
def test_another_column_without_a_name_is_refused(index: list, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv: column 1 has no name and may be an index; .*: columns=\['x', 'y'\]$"):
        values(written(tmp_path, index))


def test_a_column_without_a_name_that_is_the_only_one_is_refused_without_a_list(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",when\n5,2024-01-01\n3,2024-01-02\n")
    with pytest.raises(DataError, match=r"column 1 has no name .*; name it in the file, as no other column is left to"):
        values(str(tmp_path / "t.csv"), time="when")


def test_columns_of_parquet_with_names_of_two_levels_are_refused(tmp_path: Path) -> None:
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    pd.DataFrame([[1.0, 2.0]], columns=columns).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        DataError, match=r"t\.parquet: cannot be read: its columns have names of 2 levels; make one name"
    ):
        values(str(tmp_path / "t.parquet"))


def test_a_blank_line_is_no_break_in_the_counting(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",x\n0,1\n\n1,2\n")
    blank = pytest.warns(UserWarning, match="row 3: a blank line is read as a step without values")
    with blank, pytest.warns(UserWarning, match="counts the rows"):
        np.testing.assert_array_equal(values(str(tmp_path / "t.csv")), [[1.0], [np.nan], [2.0]])


@pytest.mark.parametrize("index", [range(3), range(50, 53), [4, 5, 6], pd.RangeIndex(3, name="row")])
def test_an_index_of_parquet_that_counts_rows_is_left_out(index: object, tmp_path: Path) -> None:
    assert values(written(tmp_path, index, "t.parquet")) == EXPECTED


DAYS = pd.to_datetime(["2024-01-03", "2024-01-01", "2024-01-02"])


@pytest.mark.parametrize(
    ("index", "name", "settings", "found"),
    [
        (pd.Index(DAYS, name="day"), "day", {"time": "day"}, [[1, 5], [2, 7], [3, 5]]),
        (DAYS, "index", {"time": "index"}, [[1, 5], [2, 7], [3, 5]]),
        (pd.Index(["a", "a", "a"], name="who"), "who", {"group": "who"}, EXPECTED),
        (pd.Index([9, 4, 5], name="z"), "z", {"columns": ["z", "x"]}, [[9, 3], [4, 1], [5, 2]]),
        (pd.MultiIndex.from_arrays([[1] * 3, DAYS]), "level_1", {"time": "level_1", "group": "level_0"}, None),
    ],
)
def test_an_index_of_parquet_can_be_asked_for(
    index: object, name: str, settings: dict, found: list | None, tmp_path: Path
) -> None:
    path = written(tmp_path, index, "t.parquet")
    assert values(path, **settings) == (found or [[1, 5], [2, 7], [3, 5]])
    if found is not None:
        for read in (values, lambda file: read_new_sequences(file, TextFormat(), columns=["x"])):
            with pytest.warns(UserWarning, match=rf"t\.parquet: the index '{name}' is left out; if it says when"):
                read(path)


def test_a_column_goes_before_a_level_of_its_name(tmp_path: Path) -> None:
    pd.DataFrame(ROWS).set_index("y", drop=False).to_parquet(tmp_path / "t.parquet")
    assert values(str(tmp_path / "t.parquet")) == EXPECTED
