"""Known texts of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.base import DataError
from data.forms.vocabulary import read_texts, read_vocabulary


def test_lines_are_texts_in_their_order_each_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffAm Markt\r\n\r\n  Ölweg 3 \nAm Markt\nx".encode())
    assert read_vocabulary(tmp_path / "a.txt", where="forms.vocabulary") == ("Am Markt", "Ölweg 3", "x")
    assert read_texts(tmp_path / "a.txt", where="forms.vocabulary") == ("Am Markt", "Ölweg 3", "Am Markt", "x")


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, r"a.txt cannot be read \(No such file"), (b" \n\n", "has no text; give one a line"),
     ("Ölweg".encode("latin-1"), r"is not UTF-8 \(byte 0\); save it as UTF-8")],
)  # fmt: skip
def test_what_is_no_file_of_texts_is_refused(content: bytes | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=said) as found:
        read_vocabulary(tmp_path / "a.txt", where="forms.vocabulary")
    assert str(found.value).startswith("forms.vocabulary: ")
