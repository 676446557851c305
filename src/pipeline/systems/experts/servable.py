"""A fitted translator as the rest of the pipeline keeps, logs and serves it; `served.py` is what travels with it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

from data.text_pairs import TextPairs
from models.experts.predictor import TranslationPredictor, load_predictor
from models.experts.tables import COLUMNS
from pipeline.tracking.servable import EXAMPLE, Servable, TrainedModel, pinned

SERVED = Path(__file__).with_name("served.py")
FOLDER = "translator"
EXAMPLE_SENTENCES = 5
OUTPUTS = {
    "translation": DataType.string, "score": DataType.double, "truncated": DataType.boolean,
    "finished": DataType.boolean,
}  # fmt: skip


def servable(parameters: Path) -> Servable:
    """Returns what MLflow makes a model of, given the folder of a saved translator with `EXAMPLE` in it.

    There is no input schema, as MLflow would refuse an empty cell; the model checks its input itself. The parameters
    beam and longest are 0 for the model's own.
    """
    predictor = load_predictor(parameters / FOLDER)
    outputs: list[Any] = [ColSpec(kind, name) for name, kind in OUTPUTS.items()]
    asked = ParamSchema([ParamSpec(name, DataType.long, 0) for name in ("beam", "longest")])
    return Servable(
        code=SERVED,
        parameters=parameters,
        signature=ModelSignature(outputs=Schema(outputs), params=asked),
        example=pd.read_csv(parameters / EXAMPLE, dtype=str, keep_default_na=False),
        requirements=pinned([f"tokenizers=={version('tokenizers')}"]),
        metadata={
            "takes": "sentences", "columns": list(COLUMNS), "tasks": ["-".join(task) for task in predictor.tasks],
        },
    )  # fmt: skip


def trained_model(predictor: TranslationPredictor, data: TextPairs, error: float) -> TrainedModel:
    """Returns a translator as it is kept, with some test sentences as its example. error: of the validation part."""
    rows = [
        {"text": pairs[0][0], "from": task.source, "to": task.target}
        for task, pairs in zip(data.tasks, data.parts["test"], strict=True)
    ]

    def save(folder: Path) -> None:
        predictor.save(folder / FOLDER)

    return TrainedModel(save, servable, pd.DataFrame(rows[:EXAMPLE_SENTENCES]), error)
