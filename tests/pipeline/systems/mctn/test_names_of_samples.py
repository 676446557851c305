"""Samples of a file are called in predictions as they are in the file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from models.mctn.tables import numbered
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.utterances import predicted_utterances


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Scores of 0 for the samples of a table, by the names that a model gives them."""
    return pd.DataFrame({"sample": numbered(frame)[1], "score": 0.0})


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["7", "8"], ["7", "8"]), (["01", "1 ", "001"], ["01", "1", "001"]), (["1.50", "", "a"], ["1.50", "a"])],
)
def test_a_sample_is_called_as_in_the_file(names: list[str], expected: list[str], tmp_path: Path) -> None:
    rows = [f"{name},{i}" if name else "" for i, name in enumerate(names)]
    (tmp_path / "new.csv").write_text("\n".join(["sample,a_0", *rows, ""]))
    settings = PredictConfig(recipe="predict")
    settings.data.path = str(tmp_path / "new.csv")
    model: Any = SimpleNamespace(predict=named, metadata=SimpleNamespace(metadata={"target": "score"}))
    found, words = predicted_utterances(model, settings)
    assert found["sample"].tolist() == expected
    assert words == f"score of {len(expected)} samples"
