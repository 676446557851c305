"""Names of columns as settings give them: columns that are called by numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data.base import DataError
from data.files.column_names import column_name, column_names
from data.multimodal.table import load_utterances
from data.tables.points import load
from data.tables.sequences import load_table


@pytest.fixture
def numbered(tmp_path: Path) -> str:
    path = tmp_path / "num.csv"
    values = np.random.default_rng(0).standard_normal((60, 3))
    table = pd.DataFrame(values, columns=["1", "2", "10"]).assign(time=range(60), **{"0": np.arange(60) // 20})
    table.to_csv(path, index=False)
    return str(path)


def test_columns_of_sequences_may_be_called_by_numbers(numbered: str) -> None:
    found = load_table(path=numbered, columns=[1, 10], group=0, time="time", units={10: "m"})  # pyright: ignore[reportArgumentType]
    same = load_table(path=numbered, columns=["1", "10"], group="0", time="time", units={"10": "m"})
    assert (found.feature_names, found.units, found.group_name) == (("1", "10"), ("", "m"), "0")
    np.testing.assert_array_equal(found.train.values.numpy(), same.train.values.numpy())
    with pytest.raises(DataError, match="units names 3, which is no column of"):
        load_table(path=numbered, columns=[1], units={3: "m"})  # pyright: ignore[reportArgumentType]


def test_the_time_may_be_called_by_a_number(tmp_path: Path) -> None:
    pd.DataFrame({"7": range(40), "x": np.random.default_rng(0).random(40)}).to_csv(tmp_path / "t.csv", index=False)
    assert load_table(path=str(tmp_path / "t.csv"), time=7).time_name == "7"  # pyright: ignore[reportArgumentType]


def test_target_and_inputs_of_points_may_be_called_by_numbers(numbered: str) -> None:
    found = load(path=numbered, target=1, columns=[2])  # pyright: ignore[reportArgumentType]
    assert (found.target_name, found.input_names) == ("1", ("2",))


def test_label_and_group_of_utterances_may_be_called_by_numbers(tmp_path: Path) -> None:
    texts = [f"film number {i}" for i in range(20)]
    table = pd.DataFrame({"text": texts, "7": np.linspace(-1, 2, 20), "8": np.arange(20) // 2})
    table.to_csv(tmp_path / "t.csv", index=False)
    found = load_utterances(path=str(tmp_path / "t.csv"), label=7, group=8)  # pyright: ignore[reportArgumentType]
    assert set(found.train.groups or ()) < set(map(str, range(10)))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (column_name, True, "^setting=True is no name of a column; put it in quotes, as in setting='True'$"),
        (column_name, 1.5, "^setting=1.5 is no name of a column"),
        (column_names, [1, 2.5], r"^setting=\[1, 2.5\] has what is no name of a column; .* setting=\['1', '2.5'\]$"),
        (column_names, False, "^setting=False is no name of a column"),
    ],
)
def test_what_may_be_written_otherwise_is_refused(name: Callable[..., Any], given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        name(given, "setting")


def test_names_stay_as_they_are() -> None:
    assert column_name(None, "time") is column_names(None) is None
    assert column_names("x") == column_name("x", "time") == "x"
    assert column_names(("x", np.int64(3))) == ["x", "3"]
