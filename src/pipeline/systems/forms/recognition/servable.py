"""A trained recogniser as the rest of the pipeline keeps it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from data.word_images import HandwrittenWords, WordImages
from models.forms.recognise.saved import save_recogniser
from pipeline.systems.forms.recognition.fitting import FittedRecogniser
from pipeline.systems.forms.servable import base64_of, trained_form_model
from pipeline.tracking.servable import TrainedModel


def table_of(words: WordImages, count: int, invert: str = "auto") -> pd.DataFrame:
    """Returns the first images as the table that a model takes whose images are read with that `invert`."""
    return pd.DataFrame({"image": [base64_of(words.image(number), invert) for number in range(count)]})


def trained_model(fitted: FittedRecogniser, data: HandwrittenWords) -> TrainedModel:
    """Returns a recogniser as it is kept, with one image, of the test part, as its example."""

    def save(folder: Path) -> None:
        save_recogniser(fitted.recogniser, folder / "words", correction=fitted.correction)

    return trained_form_model(save, table_of(data.parts["test"], 1, data.invert), fitted.validation, data.invert)
