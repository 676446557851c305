"""Artifacts that some runs logged and others did not."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.tracking.artifacts import read_by_run, tables_by_run


class Store:
    """Is a client of a store that keeps the artifacts of a run in a folder of its name, and counts what is fetched."""

    def __init__(self, root: Path) -> None:
        self.root, self.asked = root, list[str]()

    def list_artifacts(self, run: str, within: str | None) -> list[Any]:
        paths = (self.root / run / (within or "")).glob("*")
        return [SimpleNamespace(path=str(path.relative_to(self.root / run))) for path in paths]

    def download_artifacts(self, run: str, path: str, folder: str) -> str:
        self.asked.append(run)
        target = Path(folder) / path
        target.parent.mkdir(exist_ok=True)
        return str(shutil.copy(self.root / run / path, target))


@pytest.fixture
def store(tmp_path: Path) -> Any:
    for run, text in {"1": "a,b\n0.1,x\n", "2": "", "3": "a,b\n0.30000000000000004,NA\n"}.items():
        (tmp_path / run / "evaluate").mkdir(parents=True)
        if text:
            (tmp_path / run / "evaluate" / "table.csv").write_text(text)
    return Store(tmp_path)


def test_tables_are_of_the_runs_that_logged_one_in_their_order(store: Any) -> None:
    tables = tables_by_run(store, [3, 2, 1], "evaluate/table.csv", keep_default_na=False)
    assert {run: table.to_numpy().tolist() for run, table in tables} == {
        "3": [[0.1 + 0.2, "NA"]], "1": [[0.1, "x"]],
    }  # fmt: skip
    assert store.asked == ["3", "1"]
    assert list(tables_by_run(store, ["1"], "table.csv")) == []


def test_who_needs_one_file_fetches_no_more(store: Any) -> None:
    found = read_by_run(store, ["2", "1", "3"], "evaluate/table.csv", Path.read_text)
    assert next(found) == ("1", "a,b\n0.1,x\n")
    assert store.asked == ["1"]
