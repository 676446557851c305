"""Translations of a table: a sentence a row, with the languages that it is translated from and into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from models.experts.predictor import TranslationPredictor
from models.runtime.request_values import cells_in_column

if TYPE_CHECKING:
    import pandas as pd

TEXT, FROM, TO = COLUMNS = ("text", "from", "to")
FOUND = ("translation", "score", "truncated", "finished")


def translated_table(
    predictor: TranslationPredictor, table: pd.DataFrame, *, beam: int | None = None, longest: int | None = None
) -> pd.DataFrame:
    """Returns a row for each row of the table, in their order: translation, score (mean log p for each token that was
    written, 0 for an empty text), truncated, whether the source was cut, and finished, false for a translation that did
    not end and was cut. Other columns are not looked at.

    Raises ValueError, in one line that names row (from 0) and column, for a column that is missing or there twice, no
    rows, a cell that is no text, and languages that are no task of the model, and as `TranslationPredictor.translate`.
    """
    import pandas as pd

    check_columns(table)
    cells: Any = table
    given, sources, targets = (cells_in_column(cells[name]) for name in COLUMNS)
    texts = [text_of(value, row) for row, value in enumerate(given)]
    tasks = [task_of(predictor, *pair, row) for row, pair in enumerate(zip(sources, targets, strict=True))]
    found = predictor.translate(texts, tasks, beam=beam, longest=longest)
    return pd.DataFrame([(one.text, one.score, one.truncated, one.finished) for one in found], columns=pd.Index(FOUND))


def check_columns(table: pd.DataFrame) -> None:
    """Raises ValueError for a column that is missing or there twice, and for no rows."""
    counts = {name: list(table.columns).count(name) for name in COLUMNS}
    for name, count in counts.items():
        if count != 1:
            is_there = "is missing" if count == 0 else "is there twice"
            raise ValueError(f"column {name} {is_there}; the model needs {', '.join(COLUMNS)}")
    if not len(table):
        raise ValueError("there are no rows")


def text_of(value: Any, row: int) -> str:
    """Returns a cell's text, "" for an empty cell. Raises ValueError for what is no text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"column {TEXT}, row {row}: {repr(value)[:40]} is no text; write it as text")
    return value


def task_of(predictor: TranslationPredictor, source: Any, target: Any, row: int) -> int:
    """Returns the number of a row's task. Raises ValueError for one that the model does not know."""
    if source == target:
        raise ValueError(f"row {row}: {FROM} and {TO} are both {source!r}; give two languages")
    try:
        return predictor.task(source, target)
    except ValueError as error:
        raise ValueError(f"row {row}: {error}") from error
