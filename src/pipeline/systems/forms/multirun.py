"""The jobs of a multirun of `recipe=forms` as its parent shows them, and the page of one made again from its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.tracking import MlflowClient

from data.files.exact_numbers import EXACT
from pipeline.compare.jobs import compared_jobs
from pipeline.compare.pages import Remade, read_table
from pipeline.compare.panels import joined
from pipeline.compare.words import Summary
from pipeline.systems.forms.arms import said_of_seeds
from pipeline.systems.forms.cases import TOLD, by_cases
from pipeline.systems.forms.comparison import FORMS
from pipeline.systems.forms.labels import (
    labelled,
    said_of_alphabets,
    said_of_lacking,
    said_of_repeats,
    with_rows,
)
from pipeline.systems.forms.reading import multirun as reading
from pipeline.systems.forms.recognition import multirun as recognition
from pipeline.systems.forms.segmentation import multirun as segmentation
from pipeline.systems.forms.writers import WRITER
from pipeline.tracking.artifacts import read_by_run

STAGES = {"segmentation": segmentation, "recognition": recognition, "pipeline": reading}
NAMES = {WRITER: str}  # as they are written: 01 and 1 are two writers, and NA is one
SEVERAL = "Jobs of several stages have no error in common."


def summarise(client: MlflowClient, jobs: Any, title: str) -> Summary:
    """Returns what the parent shows of its jobs: tables, a figure, and words about them."""
    if jobs["stage"].nunique() > 1:
        return Summary({}, {}, SEVERAL)
    every, jobs = jobs, labelled(jobs)
    own = STAGES[jobs["stage"].iloc[0]]
    files = {
        file: joined([
            rows.assign(run_id=run)
            for run, rows in read_by_run(client, jobs["run_id"], file, partial(rows_in, columns=columns))
        ])
        for file, columns in own.FILES.items()
    }  # fmt: skip
    return summary_of(own, every, jobs, files, title)


def summary_of(own: Any, every: Any, jobs: Any, files: Mapping[str, Any], title: str) -> Summary:
    """Returns what a stage, a module of `STAGES`, shows of its jobs, with words in front about jobs that repeat others,
    jobs that are left out as its file `CASES` has no row of them, alphabets, unlike test parts, and arms with unequal
    seeds.

    every: all jobs; jobs: what `labelled` keeps of them. files: the stage's `FILES`, by their names.
    """
    named = with_rows(jobs, files[own.CASES])
    kept = by_cases(named, files[own.CASES], own.TRUTH)
    unlike = "" if kept["data"].equals(named["data"]) else TOLD
    said = (said_of_repeats(every, jobs), said_of_lacking(jobs, kept, own.CASES), said_of_alphabets(kept), unlike,
            said_of_seeds(kept, own.SETS))  # fmt: skip
    summary = own.summary_of(kept, files, title)
    return summary._replace(text="".join(said) + summary.text)


def rows_in(path: Path, columns: list[str] | None) -> pd.DataFrame:
    """Returns the rows of a job's file, with the names of writers as they are written. columns: as of `wanted`."""
    return pd.read_csv(path, usecols=wanted(columns), converters=NAMES, **EXACT)


def wanted(columns: list[str] | None) -> Callable[[str], bool] | None:
    """Returns which columns of a file are read, None for all; files of older versions need not have each."""
    return None if columns is None else columns.__contains__


def multirun_from(folder: Path) -> Remade:
    """Returns tables, figure and words from jobs.csv and the files of all jobs beside it."""
    every = compared_jobs(read_table(folder / "jobs.csv", FORMS.words), FORMS)
    jobs = labelled(every)
    own = STAGES[jobs["stage"].iloc[0]]
    there = [file for file in own.FILES if file not in recognition.LACKED or (folder / file).exists()]
    files = {file: read_table(folder / file, ("part", "run_id", WRITER)) for file in there}
    return Remade.of(summary_of(own, every, jobs, files, folder.name))
