"""Sentence pairs of the user's own: tasks, splits without a text in common, cells as they are written, each fault."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from data.base import DataError
from data.text_pairs import Removed, Task, TextPairs
from data.translation.table import PairTable

Load = Callable[..., TextPairs]
DE, BACK = Task("de", "en"), Task("en", "de")


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def loaded(frame: pd.DataFrame, **settings) -> TextPairs:
        frame.to_csv(tmp_path / "mine.csv", index=False)
        return PairTable(path=str(tmp_path / "mine.csv"), **settings).load()

    return loaded


def rows(count: int = 20, source: str = "de", target: str = "en") -> pd.DataFrame:
    texts = {"text": [f"{source} text {i}" for i in range(count)], "translation": [f"say {i}" for i in range(count)]}
    return pd.DataFrame({**texts, "from": source, "to": target})


def said(data: TextPairs, task: Task) -> set[str]:
    return {text for part in data.parts for text, _ in data.pairs(part, task)}


def test_a_pair_of_languages_is_a_task(load: Load) -> None:
    frame = pd.concat([rows(), rows(10, "en", "de").assign(text=[f"back {i}" for i in range(10)])])
    data = load(frame)
    assert data.tasks == (DE, BACK)
    assert [tuple(row.values()) for row in data.sizes()] == [("de-en", 16, 2, 2, 0), ("en-de", 8, 1, 1, 0)]
    assert (said(data, DE), len(said(data, BACK))) == ({f"de text {i}" for i in range(20)}, 10)
    assert (data.name, data.source, data.stand_in) == ("mine", "table:mine.csv", False)
    assert load(frame, tasks=["en-de"]).tasks == (BACK,)
    assert load(frame, seed=1).checksum != data.checksum == load(frame).checksum


def test_tasks_with_the_same_english_are_split_alike(load: Load) -> None:
    data = load(pd.concat([rows(40), rows(40, "fr"), rows(10, "cs")]), test=0.3)
    english = [{pair[1] for pairs in part for pair in pairs} for part in data.parts.values()]
    assert sum(map(len, english)) == 40
    assert [row["test"] for row in data.sizes()] == [12, 12, 3]


def test_rows_that_stand_twice_count_once(load: Load) -> None:
    data = load(pd.concat([rows(), rows(5)]))
    assert sum(len(data.pairs(part, DE)) for part in data.parts) == 20
    assert data.removed == (Removed(DE, "train", "stands twice", 5),)


def test_cells_are_the_text_that_they_are(load: Load) -> None:
    frame = rows()
    said_so = ["NA", "null", "007", "1.50", 'a "quoted", word', "two\nlines", "<2de>", "True", "  a  b "]
    frame.loc[: len(said_so) - 1, "text"] = said_so
    expected = {*said_so[:5], "two lines", "<2de>", "True", "a b"}
    assert expected < said(load(frame), DE)


def test_other_files_give_the_same(load: Load, tmp_path: Path) -> None:
    frame, before = rows(), load(rows())
    frame.to_parquet(tmp_path / "mine.parquet")
    frame.to_csv(tmp_path / "mine.tsv", sep="\t", index=False, encoding="utf-8-sig")
    frame.to_csv(tmp_path / "other.csv", sep="|", index=False)
    (tmp_path / "mine.csv.gz").write_bytes(gzip.compress((tmp_path / "mine.csv").read_bytes()))
    for name, delimiter in (("mine.parquet", None), ("mine.tsv", None), ("mine.csv.gz", None), ("other.csv", "pipe")):
        data = PairTable(path=str(tmp_path / name), delimiter=delimiter).load()
        assert data.checksum == before.checksum, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="to"), r"mine\.csv: no column 'to'; there are text, translation, from; needed are"),
        (lambda f: f.assign(text=["a", " ", *f["text"][2:]]), "row 3, column 'text': it is empty; fill it in or leave"),
        (lambda f: f.assign(translation=["", *f["text"][1:]]), "row 2, column 'translation': it is empty"),
        (lambda f: f.assign(text=["a\x07", *f["text"][1:]]), r"row 2, column 'text': it holds the character U\+0007"),
        (lambda f: f.assign(text=["a" * 10_001, *f["text"][1:]]), "row 2, column 'text': it has 10001 characters"),
        (lambda f: f.assign(to="de"), "row 2: from de into de is no translation; give two languages"),
        (lambda f: f.assign(to="zh-Hant"), "row 2: 'zh-Hant' names no language; take up to 16 letters"),
        (lambda f: f.iloc[:2], r"of 2 pairs of de-en none can go to the train part, as pairs that share a text stay"),
        (lambda f: f.assign(translation="yes"), "none can go to the validation part"),
        (lambda f: f.iloc[:0], "there are no rows"),
        (lambda f: pd.concat([f.assign(to=f"x{i}") for i in range(1001)]), "1001 tasks; 1000 are the most: check the"),
    ],
)
def test_each_fault_is_named_in_one_line(load: Load, change, message) -> None:
    with pytest.raises(DataError, match=message) as raised:
        load(change(rows()))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tasks": ["fr-en"]}, r"there is no pair of task fr-en \(tasks\); there are de-en"),
        ({"tasks": "de-en"}, r"mine.csv: tasks=de-en must be a list of tasks, as tasks=\['de-en'\]$"),
        ({"tasks": []}, r"/mine\.csv: tasks=\[\] must be a list of tasks"),
        ({"test": 0.9}, r"^text_pairs: validation=0\.1 and test=0\.9 must lie above 0 and leave a training part"),
        ({"seed": -1}, r"text_pairs: seed must be a whole number of at least 0"),
        ({"delimiter": "dot"}, r"/mine\.csv: cannot be read: delimiter=dot must be one character or one of"),
    ],
)
def test_settings_that_make_no_sense_are_refused(load: Load, settings, message) -> None:
    with pytest.raises(DataError, match=message):
        load(rows(), **settings)


def test_bytes_that_are_no_text_and_cells_that_are_none_are_named(load: Load, tmp_path: Path) -> None:
    load(rows())
    path = tmp_path / "mine.csv"
    path.write_bytes(path.read_bytes().replace(b"de text 3", "dé".encode("latin-1")))
    with pytest.raises(DataError, match=r"mine\.csv, line 5: no UTF-8 \(invalid continuation byte\); save the file as"):
        PairTable(path=str(path)).load()
    rows().assign(text=range(20)).to_parquet(tmp_path / "mine.parquet")
    with pytest.raises(DataError, match=r"mine\.parquet, row 2, column 'text': 0 is no text; write it as text"):
        PairTable(path=str(tmp_path / "mine.parquet")).load()
    rows().assign(text=[None] * 20).to_parquet(tmp_path / "mine.parquet")
    with pytest.raises(DataError, match=r"mine\.parquet, row 2, column 'text': it is empty"):
        PairTable(path=str(tmp_path / "mine.parquet")).load()
    with pytest.raises(DataError, match=r"^a table needs a file \(.*\); give path='FILE'$"):
        PairTable().load()
