"""A result page of a multirun of `recipe=forms` made again from its own files."""

from __future__ import annotations

from pathlib import Path

from pipeline.compare.jobs import compared_jobs
from pipeline.compare.pages import Remade, read_table
from pipeline.systems.forms.comparison import FORMS
from pipeline.systems.forms.multirun import summary_of


def multirun_from(folder: Path) -> Remade:
    """Returns tables, figure and words from jobs.csv, found.csv and boxes.csv."""
    jobs = compared_jobs(read_table(folder / "jobs.csv", FORMS.words), FORMS)
    found, boxes = (read_table(folder / name, ("part", "run_id")) for name in ("found.csv", "boxes.csv"))
    summary = summary_of(jobs, found, boxes, folder.name)
    return Remade(
        dict(summary.tables), {Path(name).name: figure for name, figure in summary.figures.items()}, summary.text
    )
