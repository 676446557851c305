"""What stands beside the recognisers of a multirun: their readings corrected, and the nearest training image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pipeline.systems.forms.labels import NEAREST
from pipeline.systems.forms.recognition.scores import FAULTS_NEAREST, SUFFIXES

RATES = "rates.csv"
RATES_CAPTION = (
    "Character error rates in % and word accuracies of the test part by what was read, means over seeds, each with the "
    "lowest and the highest seed. *read* is what the tables above are of; *path*: without the language model; "
    "*corrected*: a known text that is near (`forms.corrected_within`) is taken for what was read; *nearest*: the text "
    "of the nearest training image, for which nothing is trained."
)
BESIDE = (
    "The nearest training image is not trained and has no seeds, so it is paired with every arm. p of its pairs is "
    "adjusted by Holm over these alone."
)
SHOWN = {"cer": "cer", "word_accuracy": "accuracy"}  # metrics, by the names of their columns


def rates_by_reading(jobs: Any) -> pd.DataFrame:
    """Returns a row a data set, arm and reading that all seeds of the arm have: character error rate in % and word
    accuracy. The nearest training image is an arm of its own where it reads the same in all jobs. jobs: with the scores
    of `scores.metrics_of`."""
    rows = []
    for data, own in jobs.groupby("data", sort=False):
        for arm, of_arm in own.groupby("arm", sort=False):
            rows += [{"data": data, "arm": arm, **row} for row in rows_of(of_arm)]
        nearest = [row for row in rows if row["data"] == data and row["reading"] == "nearest"]
        if shared := shared_by(nearest):
            rows = [row for row in rows if row not in nearest] + [{**nearest[0], **shared, "arm": NEAREST}]
    return pd.DataFrame(rows)


def shared_by(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Returns each rate that is the same for all seeds of some rows of `rows_of`; none where a rate is not. The lowest
    and the highest seed are held against each other, as means of equal numbers may differ by rounding."""
    ends = [{name: row[f"{name}_{end}"] for name in SHOWN.values()} for row in rows for end in ("low", "high")]
    return ends[0] if ends and all(own == ends[0] for own in ends) else {}


def rows_of(jobs: Any) -> list[dict[str, Any]]:
    """Returns a row a reading that all jobs of an arm have: each rate, the mean over seeds, the lowest and the
    highest."""
    rows = []
    for reading, suffix in SUFFIXES.items():
        columns = {name: f"test_{metric}{suffix}" for metric, name in SHOWN.items()}
        if not all(column in jobs and jobs[column].notna().all() for column in columns.values()):
            continue
        row: dict[str, Any] = {"reading": reading}
        for name, column in columns.items():
            row |= {name: jobs[column].mean(), f"{name}_low": jobs[column].min(), f"{name}_high": jobs[column].max()}
        rows.append(row)
    return rows


def with_nearest(jobs: Any, read: Any) -> tuple[Any, Any]:
    """Returns the jobs of a data set and their readings with the nearest training image as an arm of its own.

    It is not trained and reads the same for every seed, so it has one job, copied from the first. It is left out where
    not all jobs have its faults, and where these differ, as those of arms with unlike training images do.
    """
    if FAULTS_NEAREST not in read or read[FAULTS_NEAREST].isna().any():
        return jobs, read
    if (read.groupby("image")[FAULTS_NEAREST].nunique() > 1).any():
        return jobs, read
    run = str(jobs["run_id"].iloc[0])
    name = f"{run}, {NEAREST}"
    own = jobs[:1].assign(run_id=name, arm=NEAREST, model=NEAREST, augment="none", settings=[()], seconds=0.0,
                          parameters=0)  # fmt: skip
    rows = read[read["run_id"] == run]
    rows = rows.assign(run_id=name, faults=rows[FAULTS_NEAREST])
    return pd.concat([jobs, own], ignore_index=True), pd.concat([read, rows], ignore_index=True)
