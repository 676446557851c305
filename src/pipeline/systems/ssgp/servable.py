"""A fitted process as the rest of the pipeline keeps, logs and serves it; `served.py` is what travels with it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, Schema

from data.files.exact_numbers import EXACT
from data.points import Points
from models.ssgp.predictor import Predictor, load_predictor, write_predictor
from pipeline.tracking.servable import EXAMPLE, Servable, TrainedModel, pinned

SERVED = Path(__file__).with_name("served.py")
EXAMPLE_ROWS = 10
OUTPUTS = ("mean", "standard_deviation")


def servable(parameters: Path) -> Servable:
    """Returns what MLflow makes a model of, given the folder of a saved predictor with `EXAMPLE` in it.

    There is no input schema: MLflow would turn an array into a frame without names and drop all of its columns. The
    model checks its input itself; its columns stand in the input example and the metadata.
    """
    predictor = load_predictor(parameters)
    return Servable(
        code=SERVED,
        parameters=parameters,
        signature=ModelSignature(outputs=Schema([ColSpec(DataType.double, name) for name in OUTPUTS])),
        example=pd.read_csv(parameters / EXAMPLE, **EXACT),
        requirements=pinned(),
        metadata={"takes": "points", "columns": list(predictor.input_names), "target": predictor.target_name},
    )


def trained_model(predictor: Predictor, points: Points, error: float) -> TrainedModel:
    """Returns a predictor as it is kept, with some test rows as its example. error: of the validation part."""
    rows = points.part(points.test[:EXAMPLE_ROWS])[0].numpy()
    example = pd.DataFrame(rows, columns=list(points.input_names))
    return TrainedModel(partial(write_predictor, predictor), servable, example, error)
