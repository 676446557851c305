"""Published files: found, fetched or stood in for, and one wording for each case."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from data.base import DataError
from data.files.published import Published

CONTENT = {"a.csv": b"1,2\n", "below/b.csv": b"3,4\n"}
FILES = Published(
    "walks", "lab", "https://example.org/", {name: hashlib.sha256(text).hexdigest() for name, text in CONTENT.items()}
)


def place(root: Path, *names: str) -> None:
    for name in names:
        path = root / "walks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CONTENT[name])


def test_files_that_are_there_are_checked_and_returned_in_order(tmp_path, forbidden) -> None:
    place(tmp_path, *reversed(CONTENT))
    found = FILES.find(str(tmp_path), source="lab", opener=forbidden)
    assert found == [tmp_path / "walks" / name for name in CONTENT]
    (tmp_path / "walks" / "a.csv").write_bytes(b"1")
    with pytest.raises(DataError, match=r"a\.csv: damaged or cut short"):
        FILES.find(str(tmp_path), source="auto", opener=forbidden)


def test_only_missing_files_are_fetched(tmp_path, web) -> None:
    place(tmp_path, "a.csv")
    web.files = {"https://example.org/below/b.csv": CONTENT["below/b.csv"]}
    found = FILES.find(str(tmp_path), source="auto", opener=web)
    assert [path.read_bytes() for path in found or []] == list(CONTENT.values())
    assert [method for method, _, _ in web.asked] == ["HEAD", "GET"]


@pytest.mark.parametrize(
    ("present", "lack", "remedy"),
    [
        (
            [],
            "2 of 2 files are missing in {folder} (the first: a.csv)",
            "them there (from https://example.org/a.csv …)",
        ),
        (["a.csv"], "{folder}/below/b.csv is missing", "it there (from https://example.org/below/b.csv)"),
    ],
)
def test_what_is_said_without_a_network(tmp_path, offline, present: list[str], lack: str, remedy: str) -> None:
    place(tmp_path, *present)
    said = f"walks: {{}}{lack.format(folder=tmp_path / 'walks')} and there is no network; "
    message = said.format("") + f"put {remedy}, or choose source='stand_in'"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        FILES.find(str(tmp_path), source="lab", opener=offline)
    warning = said.format("NOT REAL DATA: ") + "using a generated stand-in"
    with pytest.warns(UserWarning, match=f"^{re.escape(warning)}$"):
        assert FILES.find(str(tmp_path), source="auto", opener=offline) is None


def test_the_stand_in_asks_nobody_and_other_sources_are_named(tmp_path, forbidden) -> None:
    assert FILES.find(str(tmp_path), source="stand_in", opener=forbidden) is None
    with pytest.raises(DataError, match=r"^walks: source=web is unknown; choose one of auto, lab, stand_in, own$"):
        FILES.find(str(tmp_path), source="web", opener=forbidden, others=("own",))
