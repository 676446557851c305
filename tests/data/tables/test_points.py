"""`data=points`: the user's own table for regression."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from data.base import DataError
from data.files.exact_numbers import EXACT
from data.tables.points import load


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    path = tmp_path / "houses.csv"
    chance = np.random.default_rng(0)
    table = pd.DataFrame({"rooms": chance.integers(1, 9, 50), "age": chance.random(50), "price": np.arange(50.0)})
    table.assign(sold=pd.date_range("2020-01-01", periods=50), colour="red").to_csv(path, index=False)
    return path


INPUTS = ["rooms", "age"]


def test_rows_are_points_and_parts_are_drawn_under_the_seed(houses: Path) -> None:
    found = load(path=str(houses), target="price", columns=INPUTS, validation=0.1, test=0.2, seed=3)
    assert (found.name, found.source, found.stand_in) == ("houses", "file", False)
    assert (found.input_names, found.target_name) == (("rooms", "age"), "price")
    assert [len(part) for part in (found.train, found.validation, found.test)] == [35, 5, 10]
    assert sorted(torch.cat([found.train, found.validation, found.test]).tolist()) == list(range(50))
    table = pd.read_csv(houses, **EXACT)
    np.testing.assert_array_equal(found.inputs.numpy(), table[INPUTS].to_numpy(np.float64))
    np.testing.assert_array_equal(found.targets.numpy(), table["price"].to_numpy())
    again = load(path=str(houses), target="price", columns=INPUTS, seed=4)
    assert again.test.tolist() != found.test.tolist()


def test_as_many_rows_as_asked_for_are_drawn(houses: Path) -> None:
    found = load(path=str(houses), target="price", columns=INPUTS, points=20)
    assert found.targets.tolist() == sorted(found.targets.tolist())
    assert [len(part) for part in (found.train, found.validation, found.test)] == [14, 2, 4]
    assert len(load(path=str(houses), target="price", columns=INPUTS, points=60).targets) == 50


def test_rows_with_an_empty_cell_are_left_out_and_counted(houses: Path) -> None:
    table = pd.read_csv(houses, **EXACT)
    table.loc[[4, 9], "age"] = np.nan
    table.loc[30, "price"] = np.nan
    table.to_csv(houses, index=False)
    with pytest.warns(UserWarning, match=r"houses\.csv: 3 of 50 rows have an empty cell and are left out"):
        found = load(path=str(houses), target="price", columns=INPUTS)
    assert set(found.targets.tolist()) == set(range(50)) - {4, 9, 30}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": None}, r"^a table needs a file \(.*\); give path='FILE'$"),
        ({"path": "missing.csv"}, r"missing\.csv: there is no such file"),
        ({"target": "pric"}, r"no column 'pric'; there are .*; did you mean 'price'\?$"),
        ({"target": None}, r"^points: name the column to predict; give target='COLUMN'$"),
        ({"target": "prices"}, "no column 'prices'; there are rooms, age, price"),
        ({"columns": ["rooms", "price"]}, "^columns names the target 'price'"),
        (
            {"columns": None},
            r"'sold' holds dates; column 'colour', row 2: 'red' is not a finite number; .*: columns=\['rooms', 'ag"
            r"e'\]$",
        ),
        ({"columns": ["colour"]}, r"column 'colour', row 2: 'red' is not a finite number"),
        ({"target": "colour"}, r"column 'colour', row 2.*; mend it: 'colour' is the column to predict$"),
        ({"validation": 0.0}, r"^validation=0\.0 must be a share of the rows"),
        ({"test": 1.0}, r"^test=1\.0 must be a share of the rows"),
        ({"validation": 0.001}, r"^validation=0\.001 of 50 rows is less than one row"),
        ({"validation": 0.6, "test": 0.5}, "leave none for training"),
        ({"points": 0}, r"^points=0 must be at least 1"),
        ({"points": 1}, r"of 1 rows is less than one row"),
    ],
)
def test_what_cannot_be_used_is_refused(houses: Path, settings, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(**({"path": str(houses), "target": "price", "columns": INPUTS} | settings))


def test_dates_are_not_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"day": pd.date_range("2020-01-01", periods=5), "y": np.arange(5.0)}).to_parquet(path)
    with pytest.raises(
        DataError, match=r"column 'day' holds dates or durations; mend the file; no other column is left"
    ):
        load(path=str(path), target="y")


def test_an_input_that_numbers_the_rows_is_warned_of_unless_it_is_named(houses: Path) -> None:
    table = pd.read_csv(houses, **EXACT)[[*INPUTS, "price"]]
    table["price"] = table["age"] ** 2  # which rises no longer
    table.assign(id=range(1001, 1051)).to_csv(houses, index=False)
    with pytest.warns(UserWarning, match=r"houses\.csv: column 'id' rises by one in every row and is an inp"):
        found = load(path=str(houses), target="price")
    assert found.input_names == (*INPUTS, "id")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path=str(houses), target="price", columns=[*INPUTS, "id"])
        for numbers in (range(1050, 1000, -1), [0, *range(2, 51)], [each / 2 for each in range(50)],
                        range(1960, 2010), range(0, 250, 5)):  # fmt: skip
            table.assign(id=numbers).to_csv(houses, index=False)
            load(path=str(houses), target="price")
        table[["price"]].assign(day=range(50)).to_csv(houses, index=False)  # the only input
        load(path=str(houses), target="price")
