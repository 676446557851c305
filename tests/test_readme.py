"""The README: it is short, its links lead somewhere, and its map is the tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
LINKS = sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)))


def test_it_is_read_in_a_minute() -> None:
    assert len(TEXT.splitlines()) < 120


@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).is_file()


def test_its_map_names_the_folders_that_there_are() -> None:
    (block,) = re.findall(r"## Map\n\n((?:    .*\n)+)", TEXT)
    for package in ("data", "models", "pipeline"):
        (part,) = re.findall(rf"    src/{package}/ .*\n((?:      .*\n)+)", block)
        named = set(re.findall(r"(\w+)/", part))
        folders = {path.parent.name for path in (ROOT / "src" / package).glob("*/__init__.py")}
        assert named == folders
