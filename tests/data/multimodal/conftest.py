"""A table of one's own that is written to a file and loaded, which all tests of such tables share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from data.multimodal.table import load_utterances
from data.utterances import Utterances


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Utterances]:
    def loaded(frame: pd.DataFrame, **settings) -> Utterances:
        frame.to_csv(tmp_path / "mine.csv", index=False)
        return load_utterances(path=str(tmp_path / "mine.csv"), **{"words": "own", **settings})

    return loaded
