"""The table of document baselines, on a few generated documents in place of contracts and forms."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.documents.generator import SyntheticDocuments, with_kinds
from data.pages import Documents
from pipeline.systems.documents import baselines

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("document_baselines")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def data() -> Documents:
    """Questions whose answer stands three words before, each document labelled by its name's last figure."""
    made = SyntheticDocuments(cue="textual", train=12, validation=4, test=4, words=60, values=2).load()
    named = with_kinds(made, "made", ("party", "jurisdiction"))
    parts = {
        part: tuple(
            own._replace(label="ab"[int(own.name[-1]) % 2], values=(("jurisdiction", "bada"),)) for own in given
        )
        for part, given in named.parts.items()
    }
    return replace(named, parts=parts, classes=("a", "b"))


def test_every_row_has_a_score(benchmark: Any, data: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "ALPHAS", (1e-3, 1e-4))
    monkeypatch.setattr(baselines, "PENALTIES", (1.0,))
    labels, states = list(benchmark.label_rows(data)), list(benchmark.state_rows(data))
    assert labels[0].baseline == "majority"
    assert labels[0].score == 0.5
    assert [row.baseline for row in states][:3] == [
        f"most-named state, {read}" for read in ("all words", "first 512 words", "first 2048 words")
    ]
    assert len(labels) + len(states) == 1 + 3 + 6
    whole, cut = (benchmark.tag_row(data, layout=False, most=most) for most in (None, 20))
    assert whole.score > 0.6 > cut.score
    assert "values" in whole.more
    assert "party" in whole.more
