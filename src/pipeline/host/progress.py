"""Bars for stages that take long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from models.runtime.progress import heard

PATIENCE = 5.0  # seconds that a stage may take without a bar


@contextmanager
def progress_bar(what: str, rows: int | None = None) -> Iterator[None]:
    """Shows a bar on standard error of the rows that models are done with in the block (`models.runtime.progress`).

    It appears after `PATIENCE` seconds, is cleared away at the end, and stays away where standard error is no terminal.
    rows: how many there will be; None where that is not known, and they are counted.
    """
    settings = {"unit": "row", "unit_scale": True, "leave": False, "disable": None}
    with tqdm(total=rows, desc=what, delay=PATIENCE, **settings) as bar, heard(bar.update):
        yield
