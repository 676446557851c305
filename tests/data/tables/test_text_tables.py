"""Tables in text files: what is read there as another number, row or column than was meant is refused or warned of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.base import DataError
from data.documents.table import WordTable
from data.files.table_files import TextFormat
from data.multimodal.table import load_utterances
from data.tables.points import load as load_points
from data.tables.points import read_inputs
from data.tables.sequences import read_sequences

COMMAS = {"delimiter": "semicolon", "decimal": "comma"}


def written(folder: Path, text: str, name: str = "t.csv") -> str:
    """The path of a file with this text."""
    (folder / name).write_text(text)
    return str(folder / name)


def read(path: str, **settings_: object) -> dict[str, list]:
    """The rows of each sequence of a file."""
    found = read_sequences(path, **{"columns": None, **settings_})
    return {name: rows.tolist() for name, rows in zip(found.names, found.to_arrays(), strict=True)}


@pytest.mark.parametrize(
    ("cells", "row", "said"),
    [
        ("980 1.234 12.500", 3, r"'1\.234' .* \(it has a point, which may part thousands: then write 1234\); mend"),
        ("980,5 1 1.234", 4, r"'1\.234' .* then write 1234\)"),
        ("1 1.234.567,5", 3, r"'1\.234\.567,5' .* then write 1234567,5\)"),
        ("1 -0.5", 3, r"'-0\.5' .* \(it has a point; with decimal='comma' write a comma\)"),
    ],
)
def test_a_point_beside_decimal_commas_is_refused(cells: str, row: int, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a;b\n" + "".join(f"{cell};1\n" for cell in cells.split()))
    for load in (lambda: read(path, **COMMAS), lambda: load_points(path=path, target="b", **COMMAS)):
        with pytest.raises(DataError, match=rf"t\.csv, column 'a', row {row}: {said}"):
            load()
    with pytest.raises(DataError, match=rf"column 'a', row {row}: .*it has a point"):
        read_inputs(path, columns=["a"], **COMMAS)
    with pytest.raises(DataError, match=rf"column 'a', row {row}: .*it has a point"):
        read(path, time="a", **COMMAS)
    assert read(path, columns=["b"], **COMMAS) == {"t": [[1.0]] * len(cells.split())}


def test_groups_and_dates_may_have_points_beside_decimal_commas(tmp_path: Path) -> None:
    path = written(tmp_path, "g;t;a\n1.1;2024-01-01T00:00:00.5;1,5\n1.2;2024-01-01T00:00:01.5;2,5\n")
    assert read(path, group="g", time="t", **COMMAS) == {"1.1": [[1.5]], "1.2": [[2.5]]}


def test_points_in_numbers_of_other_tables_are_refused_beside_decimal_commas(tmp_path: Path) -> None:
    sides = "document;page;word;x0;y0;x1;y1;page_width;page_height\n"
    words = WordTable.read(written(tmp_path, f"{sides}d;1;a;1.234;2,5;3;4;9;9\n"), TextFormat(**COMMAS))
    np.testing.assert_array_equal(words.numbers("y0"), [2.5])
    with pytest.raises(DataError, match=r"row 2, .* column 'x0': '1\.234' is no finite number \(it has a point, which"):
        words.numbers("x0")
    steps = written(tmp_path, "sample;a_0;label\n" + "".join(f"s{i};1.{i}50;{i},5\n" for i in range(8)))
    with pytest.raises(DataError, match=r"row 2, column 'a_0': 1\.050 is not a finite number \(it has a point"):
        load_utterances(path=steps, **COMMAS)
    labels = written(tmp_path, "sample;a_0;label\n" + "".join(f"s{i};{i},5;1.{i}\n" for i in range(8)))
    with pytest.raises(DataError, match=r"row 2, column 'label': 1\.0 is not a finite number \(it has a point"):
        load_utterances(path=labels, **COMMAS)
