"""The tables of a result page, read back to the last digit, and what is made again from them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import pandas as pd
from matplotlib.figure import Figure

from pipeline.compare.words import Summary
from pipeline.host.errors import PipelineError

WORDS = ("run", "run_id", "data", "arm", "overrides", "varied")  # columns of any table that are words, numbers or not


class Remade(NamedTuple):
    """Holds tables and figures by file name, and the words of a page."""

    tables: dict[str, pd.DataFrame]
    figures: dict[str, Figure]
    text: str

    @classmethod
    def of(cls, summary: Summary, without: Container[str] = ()) -> Self:
        """Returns the page of a summary, whose figures lie beside the tables. without: tables that stay as they are."""
        tables = {name: table for name, table in summary.tables.items() if name not in without}
        return cls(tables, {Path(name).name: figure for name, figure in summary.figures.items()}, summary.text)


def typed(texts: list[str]) -> list[Any]:
    """Returns truth values, whole numbers or floats to the last digit, whichever all texts are; else the texts. An
    empty text is NaN among numbers."""
    if set(texts) <= {"True", "False"}:
        return [text == "True" for text in texts]
    for kind in (int, float):
        try:
            return [kind(text or "nan") for text in texts]
        except ValueError:
            continue
    return texts


def read_table(path: Path, words: Sequence[str] = ()) -> pd.DataFrame:
    """Returns a table with its numbers to the last digit and no gaps in its words. Raises PipelineError where it is
    missing.

    words: columns of words beside `WORDS`, as `Comparison.words` names them.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise PipelineError(f"{path} cannot be read ({error.strerror}); a page is made again from it") from error
    texts: dict[str, list[str]] = {str(name): list(table[name]) for name in table}
    return pd.DataFrame({k: column if k in (*WORDS, *words) else typed(column) for k, column in texts.items()})
