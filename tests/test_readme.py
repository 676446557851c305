"""The README: it is short, its links lead somewhere, its map is the tree, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
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


def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(snippet.splitlines()) <= 6
    steps = np.arange(400)
    noise = 0.1 * np.random.default_rng(0).standard_normal((400, 2))
    clean = np.column_stack([np.sin(0.3 * steps), np.cos(0.3 * steps)])
    times = pd.date_range("2024-01-01", periods=400, freq="h", name="time")
    pd.DataFrame(clean + noise, columns=["load", "heat"], index=times).to_csv(tmp_path / "readings.csv")
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out
    assert "heat_upper" in printed
    assert "2024-01-18 15:00:00" in printed
