"""Predictions of a logged sentiment model: a row for each sample of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from data.base import DataError
from data.files.table_files import TextFormat, existing_file, read_frame
from data.multimodal.utterance_file import SAMPLE, TEXT, of_utterances
from pipeline.settings.messages import of_section
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.others import refuse_others


def predicted_utterances(model: Any, settings: PredictConfig) -> tuple[pd.DataFrame, str]:
    """Returns a row for each sample of the file, with its text where the file has texts, and words about them.

    Raises DataError for a file that cannot be read or that the model cannot read, PipelineError for settings of others.
    """
    refuse_others(settings, ("data.delimiter", "data.decimal"), "says of each sample how positive it is")
    data = settings.data
    with of_section("data"):
        file = existing_file(data.path)
        frame = read_frame(file, of_utterances(TextFormat(data.delimiter, data.decimal))).frame
    if TEXT in frame.columns:  # Parquet may hold numbers there
        frame[TEXT] = frame[TEXT].map(str, na_action="ignore").astype(object)
    try:
        found = model.predict(frame)
    except ValueError as error:
        raise DataError(f"{file}: {getattr(error, 'reason', error)}") from error
    target = model.metadata.metadata["target"]
    lost = int(found[target].isna().sum())
    gaps = f" ({lost} with nothing to read have none)" if lost else ""
    return with_texts(found, frame), f"{target} of {len(found)} samples{gaps}"


def with_texts(found: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Returns predictions, a row a sample, with the text that each sample has in the file, if the file has a column of
    texts. frame: the rows of the file, of which one or all of a sample hold its text."""
    if TEXT not in frame.columns:
        return found
    own = pd.factorize(frame[SAMPLE])[0] if SAMPLE in frame.columns else np.arange(len(frame))
    texts = frame[TEXT].groupby(own, sort=True).first()
    return pd.concat([found[[SAMPLE]], pd.Series(texts.to_numpy(), name=TEXT), found.drop(columns=SAMPLE)], axis=1)
