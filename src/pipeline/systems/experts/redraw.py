"""A result page of a multirun of `recipe=experts` made again from its own files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.compare.jobs import compared_jobs
from pipeline.compare.pages import Remade, read_table
from pipeline.systems.experts.claims import paired_of
from pipeline.systems.experts.comparison import TRANSLATION
from pipeline.systems.experts.extra_tables import EXTRA_TABLES, with_extra_tables
from pipeline.systems.experts.labels import labelled
from pipeline.systems.experts.multirun import summary_of

TEXTS = ("task", "other", "source", "reference", "translation")  # columns of words, numbers or not


def multirun_from(folder: Path) -> Remade:
    """Returns tables, figures and words from jobs.csv, and from tables of embeddings, curves and translations where the
    page has them. These stay as they are, and so do tests of BLEU, which translations are needed for, in bleu.csv."""
    jobs = labelled(compared_jobs(read_table(folder / "jobs.csv", TRANSLATION.words), TRANSLATION))
    tested = folder / "bleu.csv"
    bleu = read_table(tested, ("against", "challenger")) if tested.is_file() else pd.DataFrame()
    extra = {name: read_table(folder / name, TEXTS) for name in EXTRA_TABLES if (folder / name).is_file()}
    summary = with_extra_tables(summary_of(jobs, paired_of(jobs), bleu, folder.name), extra, folder.name)
    return Remade.of(summary, without=[tested.name])
