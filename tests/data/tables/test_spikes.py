"""A value far from all others of its column is named once; data that are merely heavy-tailed are not."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.files.table_files import TextFormat
from data.tables.sequences import load_table, read_new_sequences
from data.tables.spikes import FAR, farthest

ROWS = 10_000


def legitimate() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    rests = 20 + 1e-5 * random.normal(size=ROWS)
    rests[::50] = 25.0
    rain = np.where(random.random(ROWS) < 0.05, random.exponential(5, ROWS), 0.0)
    return {
        "normal": random.normal(1e6, 1e-3, ROWS),
        "log-normal": random.lognormal(0, 2, ROWS),
        "log-normal, long": random.lognormal(0, 2, 200_000),
        "binary": random.integers(0, 2, ROWS).astype(float),
        "an event": np.eye(1, ROWS, 77)[0],
        "rare events": (random.random(ROWS) < 1e-3).astype(float),
        "constant": np.full(ROWS, 1e12),
        "rests at a value": rests,
        "rain": rain,
        "counts to a limit": np.arange(ROWS) ** 3.0,
        "exponential growth": 1.02 ** np.arange(1000),
        "steps up": np.repeat([0.0, 1e9], ROWS),
        "gaps": np.where(random.random(ROWS) < 0.5, np.nan, random.normal(size=ROWS)),
        "one cell": np.array([np.nan, 5.0, np.nan]),
        "few cells": np.array([0.0, 0.0, 3e-144, np.nan, 0.0, 1e9]),
        "empty": np.full(5, np.nan),
        "largest numbers": random.choice([-1.7e308, 1.7e308], ROWS),
    }


LEGITIMATE = legitimate()


@pytest.mark.parametrize("name", LEGITIMATE)
def test_no_legitimate_value_is_far(name: str) -> None:
    assert farthest(LEGITIMATE[name]).times < FAR / 10


@pytest.mark.parametrize("name", ["normal", "log-normal", "log-normal, long", "binary", "rests at a value", "gaps"])
@pytest.mark.parametrize("spike", [1e12, -1e300])
def test_a_spike_is_found_wherever_it_stands(name: str, spike: float) -> None:
    values = LEGITIMATE[name].copy()
    values[7_321] = spike
    found = farthest(values)
    assert (found.row, found.value) == (7_321, spike)
    assert found.times > FAR


def test_two_equal_spikes_do_not_hide_each_other() -> None:
    values = np.random.default_rng(0).normal(size=600)
    values[[5, 9]] = 1e12
    assert farthest(values).row == 5


def test_the_worst_of_a_table_is_named_once_by_column_and_row(tmp_path: Path) -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 3)), columns=["a", "b", "c"])
    table.loc[10, "a"], table.loc[20, "b"] = 1e6, 1e12
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(UserWarning, match="spoils") as said:
        load_table(path=str(tmp_path / "t.csv"))
    told = [str(warning.message) for warning in said]
    assert len(told) == 1
    assert "t.csv, column 'b', row 22: 1e+12 is " in told[0]
    assert told[0].endswith("if it is an error, empty the cell")


def test_new_rows_of_a_fitted_model_are_not_looked_at(tmp_path: Path) -> None:
    pd.DataFrame({"a": [*np.random.default_rng(0).normal(size=600), 1e12]}).to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_new_sequences(str(tmp_path / "t.csv"), TextFormat(), columns=["a"])
