"""What `recipe=predict` says of translations: how many sentences, and how many of them or of translations were cut."""

from __future__ import annotations

import pandas as pd
import pytest

from pipeline.systems.predict.sentences import said_of


@pytest.mark.parametrize(
    ("truncated", "finished", "said"),
    [
        ([False, False], [True, True], ""),
        ([True, False], [True, True], " (1 were cut, as they are too long)"),
        ([False, False], [True, False], " (1 translations did not end and were cut, finished is false)"),
        (
            [True, False],
            [False, False],
            " (1 were cut, as they are too long; 2 translations did not end and were cut, finished is false)",
        ),
    ],
)
def test_what_was_cut_is_counted(truncated: list[bool], finished: list[bool], said: str) -> None:
    found = pd.DataFrame({"truncated": truncated, "finished": finished})
    assert said_of(found) == f"translations of 2 sentences{said}"
