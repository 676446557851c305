"""Forms of one's own: boxes, classes and texts of a table, words in the order of its rows, and each bad row by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from data.base import DataError
from data.form_images import DATE, HandwrittenForms
from data.forms.forms_folder import FormsFolder

HEADER = "file,x0,y0,x1,y1,class,text"


def load(folder: Path, rows: list[str], forms: int = 6, **settings: Any) -> HandwrittenForms:
    """A folder with images 0.png, 1.png and so on, each with two words and a stamp, and with further rows."""
    own = [HEADER]
    for i in range(forms):
        image = np.full((40, 60), 240, np.uint8)
        image[5:9, 3:20] = 20 + i
        Image.fromarray(image).save(folder / f"{i}.png")
        own += [f"{i}.png,30,5,50,9,word,zwei", f"{i}.png,3,5,20,9,Word,eins", f"{i}.png,1.5,20,30,40,stamp,"]
    (folder / "boxes.csv").write_text("\n".join([*own, *rows]) + "\n", encoding="utf-8")
    return FormsFolder(path=str(folder / "boxes.csv"), **settings).load()


def test_boxes_classes_texts_and_order_are_read(tmp_path: Path) -> None:
    data = load(tmp_path, ["0.png,5,12,25,18,date,1.1.70", "1.png,,,,,,"])
    assert [len(part) for part in data.parts.values()] == [4, 1, 1]
    assert data.source == "boxes.csv"
    forms = {int(form.image.min()) - 20: form for part in data.parts.values() for form in part.forms()}
    assert forms[0].text() == "zwei eins"
    assert forms[0].classes.tolist() == [1, 1, 3, DATE]
    assert forms[0].texts[3] == "1.1.70"
    assert forms[0].boxes[2].tolist() == [1.5, 20, 30, 40]
    assert forms[0].order.tolist() == [0, 1, -1, -1]
    assert forms[0].crop(2).shape == (20, 29)
    assert len(forms[1].boxes) == 3
    assert forms[0].characters is None
    assert load(tmp_path, [], seed=0).checksum == load(tmp_path, [], seed=0).checksum


def test_each_form_keeps_its_file_through_a_cut(tmp_path: Path) -> None:
    whole = load(tmp_path, [])
    for data in (whole, whole.shortened(train=2, held=1)):
        for part, own in data.parts.items():
            assert tuple(f"{form.image.min() - 20}.png" for form in own.forms()) == data.files[part]
    assert whole.shortened() is whole
    assert whole.shortened(train=9, held=9).checksum == whole.checksum


@pytest.mark.parametrize(("given", "kept"), [("auto", "auto"), (True, "true"), ("FALSE", "false")])
def test_the_data_know_how_ink_was_told(given: Any, kept: str, tmp_path: Path) -> None:
    data = load(tmp_path, [], invert=given)
    assert data.invert == data.shortened(train=1).invert == kept
    assert bool(data.parts["train"].image(0)[0, 0] < 128) is (kept == "true")


def with_writers(folder: Path, writers: dict[str, str]) -> Path:
    """The table of `load` with a column `writer`."""
    table = pd.read_csv(folder / "boxes.csv")
    table.assign(writer=[writers[name] for name in table["file"]]).to_csv(folder / "boxes.csv", index=False)
    return folder / "boxes.csv"


def test_forms_of_a_writer_stay_together_where_writers_are_disjoint(tmp_path: Path) -> None:
    writers = {f"{i}.png": "abcd"[i % 4] for i in range(9)}
    load(tmp_path, [], forms=9)
    path = str(with_writers(tmp_path, writers))
    for seed in range(5):
        files = FormsFolder(path=path, writers="disjoint", seed=seed).load().files
        assert sorted(name for own in files.values() for name in own) == sorted(writers)
        own = [{writers[name] for name in names} for names in files.values()]
        assert [len(each) for each in own] == [2, 1, 1]
        assert len(set.union(*own)) == 4
    assert FormsFolder(path=path).load().files == load(tmp_path, [], forms=9).files


@pytest.mark.parametrize("how", ["shared", "disjoint"])
def test_the_data_know_who_wrote_each_form_however_forms_are_parted(how: str, tmp_path: Path) -> None:
    writers = {f"{i}.png": "abcd"[i % 4] for i in range(9)}
    unknown = load(tmp_path, [], forms=9)
    whole = FormsFolder(path=str(with_writers(tmp_path, writers)), writers=how).load()
    for data in (whole, whole.shortened(train=2, held=1)):
        assert data.writers == {part: tuple(writers[file] for file in own) for part, own in data.files.items()}
    assert unknown.writers == {}
    others = {file: writer.upper() for file, writer in writers.items()}
    load(tmp_path, [], forms=9)
    renamed = FormsFolder(path=str(with_writers(tmp_path, others)), writers=how).load()
    assert len({unknown.checksum, whole.checksum, renamed.checksum}) == 3


def test_a_form_of_two_writers_is_refused_where_they_are_shared_too(tmp_path: Path) -> None:
    load(tmp_path, [])
    table = with_writers(tmp_path, {f"{i}.png": "a" for i in range(6)})
    two = table.read_text(encoding="utf-8").replace("eins,a", "eins,b", 1)
    table.write_text(two, encoding="utf-8")
    with pytest.raises(DataError, match=r"row 3, file '0.png': writer 'b', and 'a' in a row before; give a form one"):
        FormsFolder(path=str(table)).load()


def test_a_writer_may_stand_once_a_form_in_any_script_or_nowhere(tmp_path: Path) -> None:
    load(tmp_path, [])
    path = with_writers(tmp_path, {f"{i}.png": ("\u05d0\u05d1", "07", "7")[i % 3] for i in range(6)})
    table = pd.read_csv(path, dtype=str)

    def writers_with(column: pd.Series) -> set[str]:
        table.assign(writer=column).to_csv(path, index=False)
        return {name for own in FormsFolder(path=str(path)).load().writers.values() for name in own}

    again = table["file"].duplicated()
    assert writers_with(table["writer"].mask(again, "")) == {"\u05d0\u05d1", "07", "7"}
    assert writers_with(table["writer"].where(table["writer"] == "", "")) == set()
    with pytest.raises(DataError, match=r"column 'writer' is empty; fill it in, or drop the column$"):
        writers_with(table["writer"].where(table["file"] == "0.png", ""))


def test_writers_that_cannot_part_forms_are_refused(tmp_path: Path) -> None:
    load(tmp_path, [])
    table = tmp_path / "boxes.csv"
    disjoint = FormsFolder(path=str(table), writers="disjoint")
    with pytest.raises(DataError, match="no column 'writer'; there are file, x0"):
        disjoint.load()
    whole = table.read_text(encoding="utf-8")
    with_writers(tmp_path, {f"{i}.png": "ab"[i % 2] for i in range(6)})
    with pytest.raises(DataError, match="2 writers are too few for three parts"):
        disjoint.load()
    two = table.read_text(encoding="utf-8").replace("eins,a", "eins,b", 1)
    table.write_text(two, encoding="utf-8")
    with pytest.raises(DataError, match=r"row 3, file '0.png': writer 'b', and 'a' in a row before; give a form one"):
        disjoint.load()
    lines = whole.splitlines()
    table.write_text("\n".join([f"{lines[0]},writer", *(f"{line}," for line in lines[1:])]), encoding="utf-8")
    with pytest.raises(DataError, match=r"row 2, file '0.png': column 'writer' is empty"):
        disjoint.load()
    with pytest.raises(DataError, match=r"^forms_folder: writers=apart is unknown; choose one of shared, disjoint"):
        FormsFolder(path=str(table), writers="apart").load()


def test_a_form_without_a_box_is_read(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 255]], np.uint8)).save(tmp_path / "empty.png")
    data = load(tmp_path, ["empty.png,,,,,,"])
    assert [form.text() for part in data.parts.values() for form in part.forms()].count("") == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("0.png,1,2,70,8,word,a", r"row 20, file '0.png': box \[1.0, 2.0, 70.0, 8.0\]: it lies outside"),
        ("0.png,9,2,5,8,word,a", "its second corner lies before its first"),
        ("0.png,5,2,5,8,word,a", "it has no area"),
        ("0.png,1,2,5,8,logo,a", "class 'logo' is unknown; choose one of word, signature, stamp, date, noise"),
        ("0.png,1,2,5,8,background,a", "class 'background' is unknown"),
        ("0.png,1,two,5,8,word,a", "row 20, file '0.png': column 'y0': 'two' is no finite number"),
        ("0.png,1,inf,5,8,word,a", "column 'y0': 'inf' is no finite number"),
        ("0.png,1,2,5,8,word,", "column 'text' is empty"),
        ("0.png,1,2,5,8,word,שלום", "is written from right to left"),
        ("9.png,1,2,5,8,word,a", "row 20, file '9.png': there is no file"),
        ("copy.png,1,2,5,8,word,a", r"file 'copy.png': it is the same image as '0.png'; leave one of them out"),
        (",1,2,5,8,word,a", "column 'file' is empty"),
        ("0.png,3.0,5,20,9,word,one", "row 20, file '0.png': it is the same box as that of row 3; leave one of them"),
    ],
)
def test_each_bad_row_is_named(tmp_path: Path, row: str, said: str) -> None:
    image = np.full((40, 60), 240, np.uint8)
    image[5:9, 3:20] = 20
    Image.fromarray(image).save(tmp_path / "copy.png")
    with pytest.raises(DataError, match=said):
        load(tmp_path, [row])


def test_a_form_of_too_many_boxes_names_the_first_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.forms.forms_folder.MOST_BOXES", 2)
    with pytest.raises(DataError, match=r"row \d+, file '0.png': it is box 3 of its form, and 2 are the most"):
        load(tmp_path, ["0.png,1,2,5,8,word,a", "0.png,2,2,5,8,word,a", "0.png,3,2,5,8,word,a"])


def test_too_few_forms_and_missing_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 forms are too few for three parts"):
        load(tmp_path, [], forms=2)
    with pytest.raises(DataError, match=r"^forms_folder: test=0 must lie between 0 and 1"):
        load(tmp_path, [], test=0)
    (tmp_path / "boxes.csv").write_text("file,text\n0.png,a\n")
    with pytest.raises(DataError, match="no column 'x0'; there are file, text"):
        FormsFolder(path=str(tmp_path / "boxes.csv")).load()
    with pytest.raises(DataError, match=r"^a table needs a file \(.*\); give path='FILE'$"):
        FormsFolder().load()


def test_a_table_parted_by_semicolons_is_read_where_it_is_said_and_one_that_is_not_utf8_is_refused(
    tmp_path: Path,
) -> None:
    data, table = load(tmp_path, []), tmp_path / "boxes.csv"
    table.write_text(table.read_text(encoding="utf-8").replace(",", ";"), encoding="utf-8")
    with pytest.raises(DataError, match=r"give delimiter='semicolon'$"):
        FormsFolder(path=str(table)).load()
    assert FormsFolder(path=str(table), delimiter="semicolon").load().checksum == data.checksum
    table.write_bytes(f"{HEADER}\n0.png,3,5,20,9,word,Straße\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"boxes.csv: cannot be read: it is not UTF-8 \(.*\); save the file as UTF-8"):
        FormsFolder(path=str(table)).load()
