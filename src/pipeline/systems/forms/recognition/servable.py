"""A trained recogniser as the rest of the pipeline keeps it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from data.word_images import WordImages
from models.forms.recognise.saved import save_recogniser
from pipeline.systems.forms.recognition.fitting import Fitted
from pipeline.systems.forms.servable import base64_of, servable
from pipeline.tracking.servable import TrainedModel


def table_of(words: WordImages, count: int) -> pd.DataFrame:
    """Returns the first images as the table that the model takes."""
    return pd.DataFrame({"image": [base64_of(words.image(number)) for number in range(count)]})


def trained_model(fitted: Fitted, words: WordImages) -> TrainedModel:
    """Returns a recogniser as it is kept, with one image, of the test part, as its example."""

    def save(folder: Path) -> None:
        save_recogniser(fitted.recogniser, folder / "words", correction=fitted.correction)

    return TrainedModel(save, servable, table_of(words, 1), fitted.validation)
