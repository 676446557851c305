"""The text of each sample beside its prediction, as it stands in the file."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from pipeline.systems.predict.utterances import with_texts


@pytest.mark.parametrize(
    ("columns", "names", "texts"),
    [
        ({"text": ["good", None, "bad"]}, ["1", "2", "3"], ["good", None, "bad"]),
        ({"sample": ["b", "a", "b", "c"], "text": [None, "dull", "fine", None]}, list("bac"), ["fine", "dull", None]),
        ({"sample": ["b", "b"], "a_1": [1.0, 2.0]}, ["b"], None),
    ],
)
def test_each_sample_has_its_own_text(columns: dict[str, list[Any]], names: list[str], texts: list[Any] | None) -> None:
    frame = pd.DataFrame(columns)
    found = with_texts(pd.DataFrame({"sample": names, "score": range(len(names))}), frame)
    assert found["sample"].tolist() == names
    assert list(found) == ["sample", *(["text"] if texts else []), "score"]
    if texts is not None:
        assert [None if pd.isna(text) else text for text in found["text"]] == texts
