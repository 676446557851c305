"""A result page of a multirun of `recipe=mctn` made again from its own files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.compare.jobs import compared_jobs
from pipeline.compare.pages import Remade, read_table
from pipeline.systems.mctn.comparison import SENTIMENT
from pipeline.systems.mctn.labels import labelled
from pipeline.systems.mctn.multirun import summary_of


def multirun_from(folder: Path) -> Remade:
    """Returns tables and words from jobs.csv. Intervals by video need the predictions, and stay as they are in
    accuracy.csv."""
    jobs = labelled(compared_jobs(read_table(folder / "jobs.csv", SENTIMENT.words), SENTIMENT))
    measured = folder / "accuracy.csv"
    accuracy = read_table(measured, ("against",)) if measured.is_file() else pd.DataFrame()
    return Remade.of(summary_of(jobs, accuracy, folder.name), without=[measured.name])
