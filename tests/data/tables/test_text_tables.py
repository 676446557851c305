"""Tables in text files: what is read there as another number, row or column than was meant is refused or warned of."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from data.base import DataError
from data.documents.table import WordTable
from data.files import text_checks
from data.files.table_files import TextFormat, read_frame
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


NAN = float("nan")


@pytest.mark.parametrize(
    ("text", "steps", "said"),
    [
        ("a,b\n1,2\n\n3,4\n", [[1, 2], [NAN, NAN], [3, 4]], "row 3: a blank line is read as a step without values;"),
        ("\n\na,b\n1,2\n \n3,4\n\n \n\n", [[1, 2], [NAN, NAN], [3, 4]], "row 5: a blank line is"),
        ("a,b\r\n1,2\r\n\r\n3,4\r\n,5\r\n\r\n", [[1, 2], [NAN, NAN], [3, 4], [NAN, 5]], "row 3: a blank line is"),
        ("a\n1\n\n3\n\n\n5\n", [[1], [NAN], [3], [NAN], [NAN], [5]], "row 3: .* without values, as 3 are;"),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_blank_line_between_rows_is_a_gap_and_said(
    text: str, steps: list, said: str, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"t{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    with pytest.warns(UserWarning, match=said):
        np.testing.assert_array_equal(read(str(path))["t"], steps)


@pytest.mark.parametrize("end", ["\r\r\n", "\n\n", "\n\n\n"])
def test_blank_lines_behind_every_row_are_no_steps(end: str, tmp_path: Path) -> None:
    """As Python's csv module writes them on Windows into a file that was opened without newline=''."""
    path = tmp_path / "t.csv"
    path.write_bytes("".join(f"{row}{end}" for row in ("a,b", "1,2", "3,4", "5,6", "7,8")).encode())
    with pytest.warns(UserWarning, match="a blank line follows each row; blank lines are passed over"):
        np.testing.assert_array_equal(read(str(path))["t"], [[1, 2], [3, 4], [5, 6], [7, 8]])
    path.write_bytes(b"a,b\n1,2\n3,4\n\n\n\n")
    np.testing.assert_array_equal(read(str(path))["t"], [[1, 2], [3, 4]])


def test_blank_lines_say_nothing_where_times_or_groups_do(tmp_path: Path) -> None:
    timed = written(tmp_path, "t,a\n1,5\n\n2,6\n\n3,7\n")
    assert read(timed, time="t") == {"t": [[5.0], [6.0], [7.0]]}
    grouped = written(tmp_path, "g,a\n\n01,5\n01,6\n\n\n1,7\n")
    assert read(grouped, group="g") == {"01": [[5.0], [6.0]], "1": [[7.0]]}
    inside = written(tmp_path, "g,a\n1,5\n\n1,6\n2,7\n")
    with pytest.raises(DataError, match="column 'g', row 3: a blank line within a group; delete it, or"):
        read(inside, group="g")
    with pytest.raises(DataError, match="column 'g', row 3: the group is empty"):
        read(written(tmp_path, "g,a\n1,5\n,3\n1,6\n2,7\n"), group="g")


@pytest.mark.parametrize(
    ("end", "said"),
    [(",\n,\n,\n", "row 4: the file ends with 3 rows of empty"), ("NA,\n", "row 4: the file ends with a row of empty")],
)
@pytest.mark.parametrize("settings_", [{}, {"group": "a"}])
def test_empty_rows_at_the_end_are_no_steps(end: str, said: str, settings_: dict, tmp_path: Path) -> None:
    """As spreadsheets write them."""
    path = written(tmp_path, f"a,b\n1,2\n1,4\n{end}\n")
    with pytest.warns(UserWarning, match=rf"t\.csv, {said}"):
        assert read(path, columns=["b"], **settings_) == {"1" if settings_ else "t": [[2.0], [4.0]]}


def test_blank_lines_between_points_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,y\n" + "\n".join(f"{i},2,3\n" for i in range(6)) + "\n7,,3\n")
    with pytest.warns(UserWarning, match="1 of 7 rows have an empty cell and are left out"):
        assert len(load_points(path=path, target="y", test=0.2, validation=0.2).targets) == 6
    assert read_inputs(path, columns=["a", "b"])[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 7]
    one = written(tmp_path, "a\n1\n\n3\n")
    np.testing.assert_array_equal(read_inputs(one, columns=["a"]), [[1], [NAN], [3]])


def test_row_names_that_have_no_name_are_refused_with_a_way(tmp_path: Path) -> None:
    path = written(tmp_path, '"a","b"\n"1",2,3\n"2",4,5\n')
    with pytest.raises(DataError, match=r"more cells than the first line has names; .* or write it without row names$"):
        read(path)


def test_blank_lines_between_texts_are_passed_over(tmp_path: Path) -> None:
    rows = "\n\n".join(f"good film {i},{i}" for i in range(10))
    data = load_utterances(path=written(tmp_path, f"text,label\n\n{rows}\n\n"), words="own")
    assert sum(len(part) for part in data.parts.values()) == 10
    pairs = written(tmp_path, "text,translation,from,to\na,b,en,de\n\n,d,en,de\n\n")
    assert read_frame(Path(pairs), TextFormat(as_written=True)).frame["translation"].tolist() == ["b", "d"]


UNPAIRED = 'text,translation,from,to\na,b,en,de\n"c,d,en,de\ne,f,en,de\n5",h,en,de\ni,j,en,de\n'


def test_a_quotation_mark_without_a_partner_is_named(tmp_path: Path) -> None:
    path = Path(written(tmp_path, UNPAIRED))
    with pytest.raises(DataError, match=r"read: row 3, column 'text': .* like rows \(unpaired quotation mark"):
        read_frame(path, TextFormat(as_written=True))
    with pytest.warns(UserWarning, match=r"t\.csv, row 3, column 'text': .*; if a quotation mark is unpaired there"):
        read_frame(path, TextFormat())
    fine = 'text,from\n"two\nlines",en\n"one, two",en\n'
    assert len(read_frame(Path(written(tmp_path, fine)), TextFormat(as_written=True)).frame) == 2
    letter = 'text,translation,from,to\n"Dear Sir,\nyes","Mein Herr,\nja",en,de\n'
    assert len(read_frame(Path(written(tmp_path, letter)), TextFormat(as_written=True)).frame) == 1


@pytest.mark.parametrize(
    "cell",
    [
        "Dear Sir,\nmy name is Anna, I am 30, and I live here.",
        "Eggs, milk, bread, tea\nThanks",
        "first\n\nsecond, third, fourth, fifth\nlast",
    ],
)
@pytest.mark.parametrize("as_written", [False, True])
def test_texts_of_several_lines_may_have_commas(cell: str, *, as_written: bool, tmp_path: Path) -> None:
    path = Path(written(tmp_path, f'text,translation,from,to\n"{cell}",b,en,de\nc,"{cell}",en,de\n'))
    frame = read_frame(path, TextFormat(as_written=as_written)).frame
    assert frame["text"].tolist() == [cell, "c"]


@pytest.mark.parametrize(
    "rows", ['"c,d,en,de\n5",h,en,de\n', '"c, d, en, de\ne, f, en, de\n5", h, en, de\n', 'c,d,"en,de\ne,f,5",de\n']
)
def test_a_text_that_may_have_swallowed_a_row_is_told(rows: str, tmp_path: Path) -> None:
    path = Path(written(tmp_path, f"text,translation,from,to\na,b,en,de\n{rows}"))
    with pytest.warns(
        UserWarning, match=r"t\.csv, row 3, column '(text|from)': the cell holds lines that look like rows;"
    ):
        assert len(read_frame(path, TextFormat(as_written=True)).frame) == 2


@pytest.mark.parametrize("text", ['load,note\n1,"a\n\nb"\n2,c\n', 'load,note\n1,"a\n"\n2,"\n\n"\n'])
def test_blank_lines_within_quotes_are_no_steps(text: str, tmp_path: Path) -> None:
    assert read(written(tmp_path, text), columns=["load"]) == {"t": [[1.0], [2.0]]}


def test_a_blank_line_behind_texts_of_several_lines_is_named_by_its_row(tmp_path: Path) -> None:
    path = written(tmp_path, 'load,note\n1,"a\n\nb"\n\n2,5" pipe\n\n3,c\n\n\n')
    with pytest.warns(UserWarning, match="row 3: a blank line is .* without values, as 2 are;"):
        np.testing.assert_array_equal(read(path, columns=["load"])["t"], [[1], [NAN], [2], [NAN], [3]])


@pytest.mark.parametrize(
    ("text", "blank"),
    [("a,b\r\n1,2\r\n", False), ("a\n1 \n2", False), ("a\n1\n \n2", True), ("\na\n", True), ("a\n1\n\n", True)],
)
@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_blank_lines_are_seen_across_parts_of_a_file(
    text: str, chunk: int, *, blank: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_checks, "CHUNK", chunk)
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert text_checks.may_have_blank_lines(tmp_path / "t.csv") == blank


def test_groups_are_called_as_they_are_written(tmp_path: Path) -> None:
    path = written(tmp_path, "who,x\n01,1\n1 ,2\n001,3\n1,4\n")
    assert read(path, group="who") == {"01": [[1.0]], "1": [[2.0], [4.0]], "001": [[3.0]]}
    assert read(written(tmp_path, "who,x\n2,1\n10,2\n"), group="who") == {"2": [[1.0]], "10": [[2.0]]}
    with pytest.raises(DataError, match="column 'who', row 3: the group is empty"):
        read(written(tmp_path, 'who,x\n1,1\n" ",2\n'), group="who")


def test_samples_and_speakers_are_called_as_they_are_written(tmp_path: Path) -> None:
    rows = "".join(f"{'0' * (i % 2)}{i // 2},{'0' * (i % 3)}7,{i},{i}\n" for i in range(12))
    data = load_utterances(path=written(tmp_path, f"sample,who,a_0,label\n{rows}"), group="who", test=0.3)
    assert sorted(name for part in data.parts.values() for name in part.names)[:3] == ["0", "00", "01"]
    assert {group for part in data.parts.values() for group in part.groups} == {"7", "07", "007"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,c\n1,2,3\n4,5\n6\n7,8,\n", r"row 3: it has fewer cells than .*, as 2 of 4 rows have; the last cells are"),
        ("a,b,c\n1,2,3\n\n4,5\n", r"row 4: .* as 1 of 3 rows"),
        ('n,b\n"one\nline",2\nlost\n', r"row 3: .* as 1 of 2 rows"),
    ],
)
def test_rows_with_too_few_cells_are_told(text: str, said: str, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=rf"t\.csv, {said}"):
        read_frame(Path(written(tmp_path, text)), TextFormat())


def test_empty_last_cells_are_no_missing_cells(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="row 3: a blank line is read as a step without values"):
        assert len(read(written(tmp_path, 'a,b\n1,"2,5"\n\n3,\n', "u.csv"), decimal="comma")["u"]) == 3
    long = f'a,b\n"{"1" * 140_000}",\n'
    assert len(read_frame(Path(written(tmp_path, long)), TextFormat(as_written=True)).frame) == 1


@pytest.mark.parametrize("first", ["0.5,0.25", "3", "1,2", "1,2,3", "1,2,4"])
def test_a_first_line_of_numbers_is_told(first: str, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=rf"t\.csv: the first line \({first.replace(',', ', ')}\) holds numbers alone"):
        read(written(tmp_path, f"{first}\n{first}\n"))


@pytest.mark.parametrize("first", ["0,1", "x,2019"])
def test_names_that_count_columns_are_names(first: str, tmp_path: Path) -> None:
    assert read(written(tmp_path, f"{first}\n5,3\n")) == {"t": [[5.0, 3.0]]}


@pytest.mark.parametrize("first", ["2019,2020,2021", "0.1,0.2,0.3"])
def test_numbers_that_rise_evenly_over_rows_that_do_not_are_names(first: str, tmp_path: Path) -> None:
    assert read(written(tmp_path, f"{first}\n5,3,4\n1,2,3\n")) == {"t": [[5.0, 3.0, 4.0], [1.0, 2.0, 3.0]]}
