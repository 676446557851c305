"""A fitted model of documents as the rest of the pipeline keeps, logs and serves it; `served.py` travels with it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, Schema

from data.files.exact_numbers import EXACT
from data.pages import Document
from models.documents.predictor import TAGS, DocumentPredictor, load_predictor
from models.documents.tables import COLUMNS, DOCUMENT, SIDES, WORD
from pipeline.tracking.servable import EXAMPLE, Servable, TrainedModel, pinned

SERVED = Path(__file__).with_name("served.py")
FOLDER = "documents"
EXAMPLE_DOCUMENTS, EXAMPLE_WORDS = 2, 40  # words of each


def servable(parameters: Path) -> Servable:
    """Returns what MLflow makes a model of, given the folder of a saved predictor with `EXAMPLE` in it.

    There is no input schema, as MLflow would refuse a word without a box; the model checks its input itself.
    """
    predictor = load_predictor(parameters / FOLDER)
    by_word = predictor.head == TAGS
    types = {DOCUMENT: DataType.string, "label": DataType.string, "probability": DataType.double}
    types |= {"entity": DataType.long} if by_word else {}
    types |= {"chunks": DataType.long}
    types |= {} if by_word else {f"probability_{name}": DataType.double for name in predictor.outputs}
    outputs: list[Any] = [ColSpec(kind, name) for name, kind in types.items()]
    return Servable(
        code=SERVED,
        parameters=parameters,
        signature=ModelSignature(outputs=Schema(outputs)),
        example=example_in(parameters / EXAMPLE),
        requirements=pinned(f"{name}=={version(name)}" for name in ("scipy", "tokenizers")),
        metadata={"takes": "documents", "columns": list(COLUMNS), "gives": predictor.head},
    )


def example_in(path: Path) -> pd.DataFrame:
    """Returns the rows of an example; a word "NA" is a word."""
    empty: Any = {side: [""] for side in SIDES}
    return pd.read_csv(path, dtype={DOCUMENT: str, WORD: str}, keep_default_na=False, na_values=empty, **EXACT)


def table_of(documents: Sequence[Document], *, most: int | None = None) -> pd.DataFrame:
    """Returns documents, of each at most so many words, as the table that the model takes."""
    parts = [rows_of(document, slice(most)) for document in documents]
    return pd.concat(parts, ignore_index=True)


def rows_of(document: Document, chosen: slice) -> pd.DataFrame:
    """Returns some words of a document, a row each."""
    pages = document.pages[chosen].astype(np.int64)
    sizes = np.array(document.sizes, np.float64).reshape(-1, 2)[pages]
    columns = (
        [document.name] * len(pages), pages + 1, list(document.words[chosen]),
        *document.boxes[chosen].astype(np.float64).T, *sizes.T,
    )  # fmt: skip
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def trained_model(predictor: DocumentPredictor, documents: Sequence[Document], error: float) -> TrainedModel:
    """Returns a predictor as it is kept, with the first words of some documents, of the test part, as its example.

    error: of the validation part.
    """

    def save(folder: Path) -> None:
        predictor.save(folder / FOLDER)

    most = min(words_read(predictor, own) for own in documents[:EXAMPLE_DOCUMENTS])
    example = table_of(documents[:EXAMPLE_DOCUMENTS], most=most)
    return TrainedModel(save, servable, example, error)


def words_read(predictor: DocumentPredictor, document: Document) -> int:
    """Returns how many words of a document stand in an example: not more than the predictor reads."""
    if predictor.reading.whole:
        return EXAMPLE_WORDS
    return min(EXAMPLE_WORDS, predictor.reading.chunks(document)[0].stretch.end)
