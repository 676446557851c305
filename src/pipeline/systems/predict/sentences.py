"""Translations by a logged model: a row for each sentence of a file."""

from __future__ import annotations

from typing import Any

import pandas as pd

from data.base import DataError
from data.files.table_files import TextFormat, existing_file, read_frame
from data.files.textfile import read_rows
from data.translation.table import TEXT_FILES
from pipeline.settings.messages import of_section
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.others import refuse_others

TEXT, FROM, TO = COLUMNS = ("text", "from", "to")


def predicted_sentences(model: Any, settings: PredictConfig) -> tuple[pd.DataFrame, str]:
    """Returns text, from and to of each row of the file with translation, score, truncated and finished, and words
    about them.

    Raises DataError for a file that cannot be read or that the model cannot translate, naming the line of bytes that
    are no UTF-8, and PipelineError for settings of others.
    """
    refuse_others(settings, ("data.delimiter", "beam"), "translates sentences")
    with of_section("data"):
        file = existing_file(settings.data.path)
        if file.name.lower().endswith(TEXT_FILES):
            read_rows(file)  # to name the line of bytes that are no text
        frame = read_frame(file, TextFormat(settings.data.delimiter, as_written=True))[0]
    try:
        found = model.predict(frame, params={"beam": settings.beam or 0})
    except ValueError as error:
        raise DataError(f"{file}: {getattr(error, 'reason', error)}") from error
    return pd.concat([frame[list(COLUMNS)].reset_index(drop=True), found], axis=1), said_of(found)


def said_of(found: pd.DataFrame) -> str:
    """Returns words about translations: how many there are, and how many sentences or translations were cut."""
    cut, endless = list(found["truncated"]).count(True), list(found["finished"]).count(False)
    faults = [
        *([f"{cut} were cut, as they are too long"] if cut else []),
        *([f"{endless} translations did not end and were cut, finished is false"] if endless else []),
    ]
    return f"translations of {len(found)} sentences" + (f" ({'; '.join(faults)})" if faults else "")
