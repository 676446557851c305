"""A fitted network as the rest of the pipeline keeps, logs and serves it; `served.py` is what travels with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, Schema

from data.files.exact_numbers import EXACT
from data.utterances import WORD, Part, Utterances
from models.mctn.arms import MODALITIES
from models.mctn.network import SentimentNetwork
from models.mctn.predictor import SentimentPredictor
from models.mctn.tables import SAMPLE, STEP, TEXT, TablePredictor, Vocabulary, load_table_predictor
from pipeline.systems.mctn.load import Prepared
from pipeline.tracking.servable import EXAMPLE, Servable, TrainedModel, pinned

SERVED = Path(__file__).with_name("served.py")
EXAMPLE_SAMPLES = 5


def servable(parameters: Path) -> Servable:
    """Returns what MLflow makes a model of, given the folder of a saved predictor with `EXAMPLE` in it.

    There is no input schema, as MLflow would refuse the columns of targets. The model checks its input itself; its
    columns stand in the input example and the metadata.
    """
    predictor = load_table_predictor(parameters)
    classes = [str(name) for name in predictor.predictor.classes]
    types = {"class": DataType.string, **{f"probability_{name}": DataType.double for name in classes}}
    if not classes:
        types = {"score": DataType.double, "positive": DataType.boolean}
    outputs: list[Any] = [ColSpec(kind, name) for name, kind in {SAMPLE: DataType.string, **types}.items()]
    return Servable(
        code=SERVED,
        parameters=parameters,
        signature=ModelSignature(outputs=Schema(outputs)),
        example=pd.read_csv(parameters / EXAMPLE, dtype={SAMPLE: str, TEXT: str}, **EXACT),
        requirements=pinned(),
        metadata={"takes": "utterances", "columns": predictor.read, "target": "class" if classes else "score"},
    )


def predictor_of(network: SentimentNetwork, data: Utterances, samples: Prepared) -> TablePredictor:
    """Returns what predicts a table: the network with the units, the columns and the word vectors of what it reads, and
    the number of steps that the data were cut to."""
    read = network.plan.read
    words = data.words if "t" in read else None
    named = {MODALITIES[letter]: data.columns_of(MODALITIES[letter]) for letter in read}
    columns = {name: own for name, own in named.items() if words is None or name != "text"}
    known = None if words is None else Vocabulary(words.words, words.vectors.numpy().astype(np.float16), WORD.pattern)
    units = {letter: samples.units[letter] for letter in read}
    scores = SentimentPredictor(network, units, data.classes)
    return TablePredictor(scores, columns, known, data.positive_from, data.most_steps)


def table_of(part: Part, predictor: TablePredictor) -> pd.DataFrame:
    """Returns the samples of a part as the table that the predictor takes: texts alone, a row a sample, or a row a step
    of the longest modality, with empty cells past the end of the others."""
    if not predictor.columns:
        return pd.DataFrame({SAMPLE: part.names, TEXT: part.texts})
    rows = [rows_of(part, place, predictor) for place in range(len(part))]
    return pd.concat(rows, ignore_index=True)


def rows_of(part: Part, place: int, predictor: TablePredictor) -> pd.DataFrame:
    """Returns the rows of one sample."""
    own = part.pick([place])
    tables = [
        pd.DataFrame(own.modalities[name].to_arrays()[0], columns=list(columns))
        for name, columns in predictor.columns.items()
    ]
    steps = pd.concat(tables, axis=1)
    steps = steps if len(steps) else steps.reindex([0])
    front: dict[str, Any] = {SAMPLE: own.names[0], STEP: np.arange(1, len(steps) + 1)}
    text = {TEXT: own.texts[0]} if predictor.vocabulary is not None and own.texts else {}
    return pd.concat([pd.DataFrame({**front, **text}, index=steps.index), steps], axis=1)


def trained_model(network: SentimentNetwork, data: Utterances, samples: Prepared, error: float) -> TrainedModel:
    """Returns a network as it is kept, with some test samples as its example. error: of the validation part."""
    predictor = predictor_of(network, data, samples)
    example = table_of(data.test.pick(range(min(EXAMPLE_SAMPLES, len(data.test)))), predictor)
    return TrainedModel(predictor.save, servable, example, error)
