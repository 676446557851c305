"""The table of taggers at a small budget, on a few generated documents in place of contracts."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from data.documents.generator import SyntheticDocuments, with_kinds

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "document_small_budget", raising=False)
    found = importlib.import_module("document_small_budget")
    for name, value in {"STEPS": 2, "RISING": 1, "TOKENS": 200, "PIECES": 300, "CHUNK": 128, "SHARED": 8}.items():
        monkeypatch.setattr(found, name, value)
    return found


def test_every_arm_has_a_row_halfway_and_at_the_end(benchmark: Any) -> None:
    made = SyntheticDocuments(cue="textual", train=4, validation=2, test=1, words=60, values=2).load()
    data = with_kinds(made, "made", ("party", "term"))
    for name, arm in benchmark.ARMS.items():
        rows = [row.split(" | ") for row in benchmark.rows_of(name, arm, data)]
        assert [row[1] for row in rows] == ["1", "2"]
        assert all(0 <= float(row[2]) <= 1 for row in rows)
