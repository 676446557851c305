"""Jobs that were scored on unlike test images are not compared: an image of one is no image of the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from data.forms.dhsd import Dhsd
from pipeline.compare.words import Summary
from pipeline.systems.forms.cases import TOLD, by_cases
from pipeline.systems.forms.multirun import summary_of

TRUTH = ("part", "image", "characters", "form")  # a column that is not there is passed over
JOBS = pd.DataFrame({"run_id": list("abcd"), "data": ["dhsd", "dhsd", "dhsd", "own"], "arm": list("xyzx"), "seed": 0})


def read_by(run: str, characters: list[int]) -> pd.DataFrame:
    """What a job read of so many images: their true lengths do not depend on it."""
    return pd.DataFrame({"part": "test", "image": range(len(characters)), "characters": characters, "run_id": run,
                         "faults": ord(run)})  # fmt: skip


@pytest.mark.parametrize(
    ("third", "names"),
    [
        ([5, 3], ["dhsd", "dhsd", "dhsd", "own"]),
        ([5, 3, 4], ["dhsd, 2 cases", "dhsd, 2 cases", "dhsd, 3 cases", "own"]),
        ([5, 4], ["dhsd, 2 cases, 1 of 2", "dhsd, 2 cases, 1 of 2", "dhsd, 2 cases, 2 of 2", "own"]),
    ],
)
def test_data_of_unlike_cases_are_named_apart(third: list[int], names: list[str]) -> None:
    rows = pd.concat([read_by("a", [5, 3]), read_by("b", [5, 3]), read_by("c", third), read_by("d", [9])])
    assert by_cases(JOBS, rows, TRUTH)["data"].tolist() == names


def test_a_form_that_is_read_twice_is_one_case() -> None:
    rows = pd.concat([read_by("a", [5, 3]), read_by("a", [5, 3]), read_by("b", [5, 3])])
    assert by_cases(JOBS[:2], rows, TRUTH)["data"].tolist() == ["dhsd", "dhsd"]


def test_it_is_said_and_no_pair_is_made() -> None:
    def told_of(jobs: Any, files: Any, title: str) -> Summary:
        return Summary({}, {}, f"{title}: {len(files)} file, {jobs['data'].nunique()} sets")

    stage: Any = SimpleNamespace(CASES="read.csv", TRUTH=TRUTH, SETS=("data",), summary_of=told_of)
    rows = pd.concat([read_by("a", [5, 3]), read_by("b", [5, 3, 4])])
    jobs = JOBS[:2].assign(overrides="", augment="none")
    assert summary_of(stage, jobs, jobs, {"read.csv": rows}, "ink").text == f"{TOLD}ink: 1 file, 2 sets"


def test_the_ink_of_training_images_changes_no_other_part() -> None:
    how: Any = {"source": "stand_in", "vocabulary": "parts", "least": 2}
    dhsd, *others = (Dhsd(**how, ink=ink).load().parts for ink in ("dhsd", "synthetic", "both"))
    for own in others:
        assert own["train"].digests != dhsd["train"].digests
        for part in ("validation", "test"):
            assert own[part].digests == dhsd[part].digests
