"""The table of taggers at a small budget, on a few generated documents in place of contracts."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from data.documents.generator import SyntheticDocuments, with_kinds
from models.documents.tokens import joined_tokens

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "document_small_budget", raising=False)
    found = importlib.import_module("document_small_budget")
    for name, value in {"STEPS": 2, "RISING": 1, "TOKENS": 200, "PIECES": 300, "CHUNK": 128, "SHARED": 8}.items():
        monkeypatch.setattr(found, name, value)
    return found


def test_every_arm_has_a_row_halfway_and_at_the_end_and_none_sees_another_document(benchmark: Any) -> None:
    made = SyntheticDocuments(cue="textual", train=4, validation=2, test=1, words=60, values=2).load()
    data = with_kinds(made, "made", ("party", "term"))
    for name, arm in benchmark.ARMS.items():
        rows = [row.split(" | ") for row in benchmark.rows_of(name, arm, data)]
        assert [row[1] for row in rows] == ["1", "2"]
        assert all(0 <= float(row[2]) <= 1 for row in rows)
    reading = benchmark.reading_of(data, lower=True)
    network = benchmark.network_of(benchmark.Arm(lower=True, mixed=True), reading, 3).eval()
    first, second = (reading.chunks(own)[0].document.tokens for own in data.parts["train"][:2])
    with torch.inference_mode():
        both = network.embedding(joined_tokens([first, second]))
        assert torch.allclose(both[: len(first.ids)], network.embedding(first), atol=1e-6)
        assert torch.allclose(both[len(first.ids) :], network.embedding(second), atol=1e-6)
