"""Of several sequences of a table the one that varies far less than the others is named once."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.files.table_files import TextFormat
from data.tables.sequences import load_table, read_new_sequences

WAVE = np.sin(np.arange(120))


def written(folder: Path, **sold: np.ndarray) -> str:
    parts = [pd.DataFrame({"shop": name, "sold": values, "day": np.arange(120)}) for name, values in sold.items()]
    pd.concat(parts).to_csv(folder / "shops.csv", index=False)
    return str(folder / "shops.csv")


@pytest.mark.parametrize("time", [None, "day"])
def test_a_narrow_sequence_is_named_with_a_remedy(time: str | None, tmp_path: Path) -> None:
    path = written(tmp_path, north=1e6 + 1e5 * WAVE, south=10 + WAVE)
    columns = ["sold"]
    with pytest.warns(UserWarning, match="has a standard deviation") as said:
        load_table(path=path, columns=columns, group="shop", time=time)
    (told,) = said
    assert str(told.message) == (
        f"{path}: column 'sold' has a standard deviation of 0.705 in sequence south, and of 4.99e+04 in all, each "
        "about its own mean; all share one unit, so its forecasts and intervals may be far off; standardise each by "
        "itself, with table[columns] = table.groupby('shop')[columns].transform(lambda s: (s - s.mean()) / (s.std() or "
        "1)), and put the forecasts back, times its standard deviation plus its mean"
    )
    table = pd.read_csv(path)
    command = str(told.message).partition(" by itself, with ")[2].partition(", and put")[0]
    exec(command, {"table": table, "columns": columns})  # noqa: S102
    table.to_csv(path, index=False)
    load_table(path=path, columns=columns, group="shop", time=time)


@pytest.mark.parametrize(("narrow", "others"), [(2, "1 more sequence is"), (3, "2 more sequences are")])
def test_sequences_that_are_as_narrow_are_counted(narrow: int, others: str, tmp_path: Path) -> None:
    path = written(tmp_path, north=1e5 * WAVE, **{f"south{place}": WAVE for place in range(narrow)})
    with pytest.warns(UserWarning, match=f"about its own mean, and {others} as narrow; all"):
        load_table(path=path, columns=["sold"], group="shop")


def test_unlike_levels_and_new_files_of_a_model_are_passed_over(tmp_path: Path) -> None:
    load_table(path=written(tmp_path, north=1e4 + WAVE, south=10 + WAVE), columns=["sold"], group="shop")
    path = written(tmp_path, north=1e6 * WAVE, south=WAVE)
    with warnings.catch_warnings(action="error"):
        read_new_sequences(path, TextFormat(), columns=["sold"], group="shop")
