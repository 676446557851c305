"""What is said of translations and training pairs: how many there are, and how many were cut."""

from __future__ import annotations

import pandas as pd
import pytest

from pipeline.systems.experts.recipe import said_of_pairs
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


@pytest.mark.parametrize(
    ("pairs", "tasks", "said"),
    [
        (6, 1, "6 training pairs of 1 task"),
        (1, 1, "1 training pair of 1 task"),
        (600, 3, "600 training pairs of 3 tasks"),
    ],
)
def test_pairs_and_tasks_are_counted_in_words(pairs: int, tasks: int, said: str) -> None:
    assert said_of_pairs(pairs, tasks) == said


def test_pairs_that_are_left_out_are_counted_by_reason() -> None:
    left = "6 training pairs of 1 task; left out: "
    repeated = "3 of all parts as repetitions and overlaps"
    long = "2 with more than vocabulary.longest=60 tokens on a side"
    assert said_of_pairs(6, 1, repeated=3) == left + repeated
    assert said_of_pairs(6, 1, too_long=2, longest=60) == left + long
    assert said_of_pairs(6, 1, repeated=3, too_long=2, longest=60) == f"{left}{repeated}, {long}"
