"""Tables of texts in the docs are read so that no word of them becomes a gap."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
WORDS = ["NA", "N/A", "None", "null", "nan"]
CALL = re.compile(r'pd\.read_csv\("(?P<file>words|yours)\.csv", dtype=[^)]*\)')


@pytest.mark.parametrize(
    "page", ["documents.md", "notebooks/tag_your_own_contracts.md", "notebooks/sentiment_of_your_reviews.md"]
)
def test_words_that_pandas_takes_for_gaps_are_read(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    (call,) = CALL.finditer(text)
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{word},{word},O,{word},\n" for word in WORDS)
    Path(f"{call['file']}.csv").write_text(f"document,word,tag,text,x0\n{rows}", encoding="utf-8")
    table = eval(call[0], {"pd": pd, "str": str, "texts": {"document": str, "word": str, "tag": str}})  # noqa: S307
    assert list(table["word"]) == list(table["text"]) == WORDS
    assert table["x0"].isna().all()
