"""A result page of a multirun of `recipe=documents` made again from its own files."""

from __future__ import annotations

from pathlib import Path

from pipeline.compare.jobs import compared_jobs
from pipeline.compare.pages import Remade, read_table
from pipeline.systems.documents.comparison import DOCUMENTS
from pipeline.systems.documents.multirun import summary_of


def multirun_from(folder: Path) -> Remade:
    """Returns tables, figure and words from jobs.csv and documents.csv."""
    jobs = compared_jobs(read_table(folder / "jobs.csv", DOCUMENTS.words), DOCUMENTS)
    documents = read_table(folder / "documents.csv", ("document", "run_id", "baseline")).fillna(0)
    return Remade.of(summary_of(jobs, documents, folder.name))
