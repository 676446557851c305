"""The page about these modules names every one of them, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_names_the_files_that_there_are() -> None:
    rows = re.findall(r"^\| `.*", (ROOT / "docs" / "sequence.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+\.py)`", row)}
    assert named == {path.name for path in (ROOT / "src/models/sequence").glob("*.py")} - {"__init__.py"}
