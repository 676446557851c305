"""A table of one's own with a word a row: what is read from it, and each bad input by file, document, page and word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data.base import DataError
from data.documents.table import DocumentTable
from data.pages import Documents
from models.documents.words import centres_of

PARTS = ("train", "validation", "test")


def frame(**changed: dict[int, Any]) -> pd.DataFrame:
    """Returns three documents of four words on two pages, some cells changed: rows 0–3, 4–7 and 8–11."""
    count = 12
    columns: dict[str, list[Any]] = {
        "document": [name for name in "abc" for _ in range(4)], "page": [1, 1, 2, 2] * 3,
        "word": [f"word{i}" for i in range(count)],
        "x0": [10, 30, 10, 30] * 3, "y0": [20] * count, "x1": [25, 45, 25, 45] * 3, "y1": [32] * count,
        "page_width": [600] * count, "page_height": [800] * count,
        "tag": ["B-sum", "I-sum", "O", "O"] * 3, "label": ["bill"] * 8 + ["letter"] * 4,
    }  # fmt: skip
    own = pd.DataFrame(columns, dtype=object)
    for name, cells in changed.items():
        if name not in own.columns:
            own[name] = ""
        for row, value in cells.items():
            own.loc[row, name] = value
    return own


def load(folder: Path, table: pd.DataFrame, **settings: Any) -> Documents:
    table.to_csv(folder / "own.csv", index=False)
    return DocumentTable(path=str(folder / "own.csv"), validation=0.3, test=0.3, **settings).load()


def named(data: Documents) -> dict[str, Any]:
    return {document.name: document for _, document in data.all()}


def test_words_boxes_pages_tags_and_labels_are_read(tmp_path: Path) -> None:
    data = load(tmp_path, frame())
    own = named(data)["a"]
    assert own.words == ("word0", "word1", "word2", "word3")
    assert own.boxes.tolist() == [[10, 20, 25, 32], [30, 20, 45, 32]] * 2
    assert own.pages.tolist() == [0, 0, 1, 1]
    assert own.tags == ("B-sum", "I-sum", "O", "O")
    assert centres_of(own)[2].tolist() == [17.5, 826]
    assert data.classes == ("bill", "letter")
    assert data.tags == ("O", "B-sum", "I-sum")
    assert [len(data.parts[part]) for part in PARTS] == [1, 1, 1]


def test_parquet_and_other_delimiters_and_decimals_give_the_same_data(tmp_path: Path) -> None:
    table = frame(x0={0: 10.5})
    expected = load(tmp_path, table).checksum
    typed = table.astype({"page": int} | dict.fromkeys(("x0", "y0", "x1", "y1", "page_width", "page_height"), float))
    typed.to_parquet(tmp_path / "own.parquet")
    settings: dict[str, Any] = {"validation": 0.3, "test": 0.3}
    assert DocumentTable(path=str(tmp_path / "own.parquet"), **settings).load().checksum == expected
    typed.to_csv(tmp_path / "own.csv", index=False, sep=";", decimal=",")
    read = DocumentTable(path=str(tmp_path / "own.csv"), delimiter="semicolon", decimal="comma", **settings)
    assert read.load().checksum == expected


def test_pages_may_be_counted_from_0_and_one_may_be_empty(tmp_path: Path) -> None:
    table = frame()
    table["page"] = [0, 0, 2, 2] * 3
    own = named(load(tmp_path, table))["a"]
    assert own.pages.tolist() == [0, 0, 2, 2]
    assert [tuple(size) for size in own.sizes] == [(600, 800)] * 3
    assert centres_of(own)[2].tolist() == [17.5, 1626]


def test_each_document_counts_its_pages_by_itself(tmp_path: Path) -> None:
    data = named(load(tmp_path, frame(page=dict(zip(range(4, 8), [0, 0, 1, 1], strict=True)))))
    assert [(data[name].pages.tolist(), data[name].first_page) for name in "abc"] == [
        ([0, 0, 1, 1], first) for first in (1, 0, 1)
    ]  # fmt: skip
    assert [len(data[name].sizes) for name in "abc"] == [2, 2, 2]


def test_a_box_may_be_empty_and_words_that_look_like_nothing_are_kept(tmp_path: Path) -> None:
    empty = {key: {1: ""} for key in ("x0", "y0", "x1", "y1")}
    own = named(load(tmp_path, frame(word={0: "NA", 1: "null"}, **empty)))["a"]
    assert own.words[:2] == ("NA", "null")
    assert np.isnan(own.boxes[1]).all()
    assert own.without_box == 1


def test_rows_of_characters_that_are_not_seen_are_left_out_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="1 rows without a word are left out"):
        own = named(load(tmp_path, frame(word={2: "\u200b", 3: "Ne\u200bw"})))["a"]
    assert own.words == ("word0", "word1", "New")
    assert own.pages.tolist() == [0, 0, 1]


def test_words_without_a_tag_among_others_that_have_o_are_counted(tmp_path: Path) -> None:
    table = frame(tag=dict.fromkeys((2, 6, 7), ""), word={2: ""})  # one of the three is no word
    said = (
        r"own.csv: 2 of 11 words have no tag, the first in row 8, document b; they are taken for O, which others have; "
        "give them a tag, or leave documents without tags out$"
    )
    with pytest.warns(UserWarning, match=said), pytest.warns(UserWarning, match="1 rows without a word"):
        assert named(load(tmp_path, table))["b"].tags == ("B-sum", "I-sum", "O", "O")
    table["tag"] = table["tag"].replace("O", "")
    with pytest.warns(UserWarning, match="1 rows without a word") as others:  # empty is O throughout
        assert named(load(tmp_path, table))["b"].tags == ("B-sum", "I-sum", "O", "O")
    assert len(others) == 1


def test_a_column_part_says_the_split(tmp_path: Path) -> None:
    parts = dict(zip(range(12), [part for part in ("test", "train", "validation") for _ in range(4)], strict=True))
    data = load(tmp_path, frame(part=parts))
    assert [data.parts[part][0].name for part in PARTS] == ["b", "c", "a"]
    with pytest.raises(DataError, match=r"row 3, document a, page 1, word 'word1': column 'part' changes"):
        load(tmp_path, frame(part=parts | {1: "train"}))
    with pytest.raises(DataError, match=r"row 6, document b, .*: its part 'dev' is unknown"):
        load(tmp_path, frame(part=parts | dict.fromkeys(range(4, 8), "dev")))


@pytest.mark.parametrize("seed", range(4))
def test_documents_with_the_same_words_are_drawn_into_one_part(tmp_path: Path, seed: int) -> None:
    table, alone = frame(), load(tmp_path, frame(), seed=seed)
    again = table.assign(document="copy of " + table["document"], page_width=700)
    with pytest.warns(UserWarning, match=r"own.csv: 3 of 6 documents hold the same as another; each stays in one part"):
        data = load(tmp_path, pd.concat([table, again]), seed=seed)
    for part in PARTS:
        (name,) = (own.name for own in alone.parts[part])
        assert [own.name for own in data.parts[part]] == [name, f"copy of {name}"]


def test_given_parts_that_share_words_are_told_of(tmp_path: Path) -> None:
    """Of a part of which no document would be left, none is to be left out."""
    parts = dict(zip(range(12), [part for part in ("test", "train", "validation") for _ in range(4)], strict=True))
    same = {row: f"word{row + 4}" for row in range(4)}
    said = r"own.csv: 1 of 2 held-out documents hold the same as one of another part, the first is document a; .*, so "
    table = frame(part=parts, word=same)
    with pytest.warns(UserWarning, match=rf"{said}part or group them otherwise$"):
        load(tmp_path, table)
    more = frame(part=dict.fromkeys(range(12), "test")).iloc[8:].assign(document="d", word="else")
    with pytest.warns(UserWarning, match=rf"{said.replace('2', '3')}leave them out$"):
        load(tmp_path, pd.concat([table, more]))


def test_documents_of_too_few_words_are_drawn_one_by_one_with_a_warning(tmp_path: Path) -> None:
    said = r"own.csv: 3 documents hold only 2 different contents, which .*: 1 of 2 held-out .* so give a column `part`$"
    with pytest.warns(UserWarning, match=said):
        data = load(tmp_path, frame(word={row: f"word{row + 4}" for row in range(4)}))
    alone = load(tmp_path, frame())
    assert [data.parts[part][0].name for part in PARTS] == [alone.parts[part][0].name for part in PARTS]


def shares() -> pd.DataFrame:
    """Returns the table with all boxes of document b as shares of the page."""
    low, high = dict.fromkeys(range(4, 8), 0.1), dict.fromkeys(range(4, 8), 0.2)
    return frame(x0=low, y0=low, x1=high, y1=high)


RENAME = "rename the column where it holds what a model said of each word"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (frame(x1={5: 20}), r"document b, page 1, word 2 \('word5'\): it has a box whose second corner"),
        (frame(x0={5: -9}), r"document b, page 1, word 2 .* outside its page"),
        (frame(y1={6: 900}), r"document b, page 2, word 3 .* outside its page"),
        (frame(y0={6: ""}), r"document b, page 2, word 3 .* a side is missing"),
        (frame(x0={5: "ten"}), r"row 7, document b, page 1, word 'word5': column 'x0': 'ten' is no finite number"),
        (frame(x0={5: "inf"}), r"row 7, document b, .* column 'x0': 'inf' is no finite number"),
        (frame(page_width={7: 0}), r"row 9, document b, page 2, word 'word7': page_width and page_height are missing"),
        (frame(page_height={7: ""}), r"row 9, document b, page 2, .* are missing or 0"),
        (frame(page_height={7: 700}), r"row 9, document b, page 2, .* two sizes"),
        (frame(page={5: 3}), r"document b, page 2, word 3 .* on an earlier page than the word before"),
        (frame(page={4: 0, 5: 0}, x1={5: 20}), r"document b, page 0, word 2 .* whose second corner"),
        (frame(page={5: 1.5}), r"row 7, document b, page 1.5, word 'word5': its page must be a whole number"),
        (frame(page={5: ""}), r"row 7, document b, .* its page must be a whole number"),
        (frame(document={11: "a"}), r"row 13, document a, page 2, word 'word11': the document begins again"),
        (frame(document={11: ""}), r"row 13, document , .* column 'document' is empty; fill it in or drop the row$"),
        (frame(tag={4: "I-sum"}), r"document b, page 1, word 1 .* a tag that is not O, B-kind, or I-kind"),
        (frame(tag={4: "sum"}), r"document b, page 1, word 1 .* a tag that is not O, B-kind, or I-kind"),
        (frame(label={5: "letter"}), rf"row 7, document b, .* 'label' changes .*; give all .* the same, or {RENAME}$"),
        (frame(label={5: ""}), rf"row 7, document b, .* 'label' is empty; fill it in or drop the row, or {RENAME}$"),
        (shares(), r"document b: all boxes lie within 1, on pages of 600 × 800"),
        (frame().drop(columns="x1"), r"no column 'x1'; there are document, page"),
        (frame().iloc[:8], r"2 documents cannot be split three ways"),
    ],
)  # fmt: skip
def test_bad_input_ends_in_a_line(tmp_path: Path, table: pd.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        load(tmp_path, table)
    assert "\n" not in str(raised.value)


@pytest.mark.filterwarnings("ignore:.*rows without a word")
def test_a_document_without_a_word_is_refused_by_file_and_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"own.csv, document b: 0 words"):
        load(tmp_path, frame(word=dict.fromkeys(range(4, 8), " ")))


def test_shares_that_leave_nothing_and_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(DataError, match=r"must lie above 0 and leave a training part"):
        DocumentTable(path=str(tmp_path / "own.csv"), validation=0.5, test=0.5).load()
    with pytest.raises(DataError, match="there is no such file"):
        DocumentTable(path=str(tmp_path / "none.csv")).load()
    with pytest.raises(DataError, match=r"^a table needs a file \(.*\); give path='FILE'$"):
        DocumentTable().load()
