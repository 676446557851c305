"""A result page of a multirun of `recipe=experts` made again from its own files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.compare.jobs import compared_jobs
from pipeline.compare.pages import Remade, read_table
from pipeline.systems.experts.claims import paired_of
from pipeline.systems.experts.comparison import TRANSLATION
from pipeline.systems.experts.labels import labelled
from pipeline.systems.experts.multirun import summary_of


def multirun_from(folder: Path) -> Remade:
    """Returns tables, figures and words from jobs.csv; tests of BLEU, which translations are needed for, stay as they
    are in bleu.csv."""
    jobs = labelled(compared_jobs(read_table(folder / "jobs.csv", TRANSLATION.words), TRANSLATION))
    tested = folder / "bleu.csv"
    bleu = read_table(tested, ("against", "challenger")) if tested.is_file() else pd.DataFrame()
    return Remade.of(summary_of(jobs, paired_of(jobs), bleu, folder.name), without=[tested.name])
