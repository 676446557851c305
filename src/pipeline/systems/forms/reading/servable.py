"""A trained reader of forms as the rest of the pipeline keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from data.form_images import HandwrittenForms
from models.forms.reader import WholeReader
from models.forms.recognise.saved import save_recogniser
from models.forms.saved import save_reader
from pipeline.systems.forms.reading.load import cut_out
from pipeline.systems.forms.reading.scores import Reader
from pipeline.systems.forms.recognition import servable as recognition
from pipeline.systems.forms.segmentation.servable import table_of
from pipeline.systems.forms.servable import WHOLE_FORMS, trained_form_model
from pipeline.tracking.servable import TrainedModel


def trained_model(reader: Reader, data: HandwrittenForms, error: float, *, given: bool) -> TrainedModel:
    """Returns a reader as it is kept, with a form of the test part as its example; where boxes are given, its
    recogniser alone, with a word. error: of the validation part."""
    forms = data.parts["test"]
    if given:
        return kept_recogniser(
            reader, "words", recognition.table_of(cut_out(forms), 1, data.invert), error, data.invert
        )
    example = table_of(forms, 1, data.invert)
    if isinstance(reader, WholeReader):
        return kept_recogniser(reader, WHOLE_FORMS, example, error, data.invert)
    return trained_form_model(lambda folder: save_reader(reader, folder / "pages"), example, error, data.invert)


def kept_recogniser(reader: Reader, name: str, example: pd.DataFrame, error: float, invert: str) -> TrainedModel:
    """Returns the recogniser of a reader as it is kept, in a folder of that name."""
    recogniser: Any = reader.recogniser

    def save(folder: Path) -> None:
        save_recogniser(recogniser, folder / name, correction=reader.correction)

    return trained_form_model(save, example, error, invert)
