"""Cells of a table as texts and as numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.files.cells import numbers_of, texts_of
from data.forms.folder import read_rows


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(["a ", None, " b"]), ["a", "", "b"]),
        (pd.Series(["a", np.nan], dtype=object), ["a", ""]),
        (pd.Series([3.0, np.nan, 1e15]), ["3", "", "1000000000000000"]),
        (pd.Series([3.0, 2.5]), ["3.0", "2.5"]),
        (pd.Series([3, None], dtype="Int64"), ["3", ""]),
        (pd.Series([12, 7]), ["12", "7"]),
        (pd.Series([np.nan, np.nan]), ["", ""]),
        (pd.Series(["x", "y"], index=[1, 0]), ["x", "y"]),
    ],
)
def test_cells_are_texts(column: pd.Series, expected: list[str]) -> None:
    assert texts_of(column) == expected


def test_a_table_of_images_from_parquet_has_no_text_for_a_missing_one(tmp_path: Path) -> None:
    table = pd.DataFrame({"file": ["a.png", "b.png"], "text": ["word", None], "writer": [3, np.nan]})
    table.to_parquet(tmp_path / "t.parquet")
    rows = read_rows(str(tmp_path / "t.parquet"), None, ("file", "text"))
    assert rows.columns == {"file": ["a.png", "b.png"], "text": ["word", ""], "writer": ["3", ""]}


@pytest.mark.parametrize("kind", ["timedelta64[s]", "datetime64[ns]"])
def test_no_time_is_no_number(kind: str) -> None:
    assert np.isnan(numbers_of(pd.Series(np.array([1, "NaT"], dtype=kind)))).tolist() == [False, True]
