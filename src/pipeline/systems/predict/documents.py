"""Predictions of a logged model of documents: a row for each word of a file, or for each document."""

from __future__ import annotations

from typing import Any

import pandas as pd

from data.base import DataError
from data.documents.table import NEEDED, PAGE, SIDES, SIZE, WordTable
from data.files.table_files import TextFormat
from models.documents.tables import OF_FILE
from pipeline.settings.messages import of_section
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.others import refuse_others


def read_words(settings: PredictConfig) -> pd.DataFrame:
    """Returns the rows of the file, numbers as numbers. Raises DataError, naming the row, for what is no table of
    words."""
    with of_section("data"):
        table = WordTable.read(settings.data.path, TextFormat(settings.data.delimiter, settings.data.decimal))
        numbers = {name: table.numbers(name) for name in (PAGE, *SIDES, *SIZE)}
        return table.frame.assign(**numbers, **{name: table.texts(name) for name in NEEDED if name not in numbers})


def said_of_kept_columns(frame: pd.DataFrame, found: pd.DataFrame) -> None:
    """Prints the columns of the file that have other names in the predictions, which have columns of those names."""
    others = [str(name) for name in found.columns if str(name).endswith(OF_FILE) and name not in frame.columns]
    if others:
        print(f"the file has columns that the model adds too; the file's own are kept as {', '.join(others)}")


def predicted_documents(model: Any, settings: PredictConfig) -> tuple[pd.DataFrame, str]:
    """Returns the rows of the file with the tags of their words, or a row a document with its class, and words about
    them.

    Words behind the first tokens of a document, which a model that was trained with documents.overflow=cut does not
    read, are left without a tag, counted in a warning. Raises DataError for a file that cannot be read or that the
    model cannot read, and PipelineError for settings of others.
    """
    refuse_others(settings, ("data.delimiter", "data.decimal"), "reads documents")
    frame = read_words(settings)
    try:
        found = model.predict(frame)
    except ValueError as error:
        raise DataError(f"{settings.data.path}: {getattr(error, 'reason', error)}") from error
    count = frame["document"].nunique()
    long = found.loc[found["chunks"] > 1, "document"].nunique()
    parts = f", {long} of them read in overlapping chunks" if long else ""
    if model.metadata.metadata["gives"] == "classes":
        return found, f"classes of {count} documents{parts}"
    said_of_kept_columns(frame, found)
    found[PAGE] = found[PAGE].astype(int)
    return found, f"tags of {int(found['label'].notna().sum())} words in {count} documents{parts}"
