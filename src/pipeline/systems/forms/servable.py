"""A trained model of forms as the rest of the pipeline keeps, logs and serves it; `served.py` travels with it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from PIL import Image

from data.forms.images import as_in_a_file, load_reading, save_reading
from models.forms.reader import CutWarning
from models.forms.tables import SIDES
from pipeline.host.errors import PipelineError
from pipeline.tracking.servable import EXAMPLE, Servable, TrainedModel, pinned

SERVED = Path(__file__).with_name("served.py")
WHOLE_FORMS = "whole"
TAKES_FORMS: dict[str, Any] = {"takes": "forms", "columns": ["form", "image"], "gives": "boxes"}
BOXES = {
    "form": DataType.string, "order": DataType.long, **dict.fromkeys(SIDES, DataType.double), "class": DataType.string,
    "score": DataType.double, "text": DataType.string, "probability": DataType.double,
    "read": DataType.string,
}  # fmt: skip
TEXTS = {"text": DataType.string, "probability": DataType.double, "corrected": DataType.string}


class Kind(NamedTuple):
    """Holds what a model answers, by column, its parameters, and what is read of it without loading it."""

    answers: dict[str, DataType]
    params: dict[str, ParamSchema]
    metadata: dict[str, Any]


KINDS = {  # by the folder among the saved parameters
    "forms": Kind(
        BOXES,
        {"params": ParamSchema([ParamSpec("least_score", DataType.double, 0.0)])},  # as validation chose it
        TAKES_FORMS,
    ),
    "pages": Kind(
        BOXES,
        {
            "params": ParamSchema(
                [
                    ParamSpec("least_score", DataType.double, 0.0),  # the same
                    ParamSpec("vocabulary", DataType.boolean, False),
                ]
            )
        },
        TAKES_FORMS,
    ),
    WHOLE_FORMS: Kind(BOXES, {}, TAKES_FORMS),
    "words": Kind(TEXTS, {}, {"takes": "words", "columns": ["image"], "gives": "texts"}),
}


def servable(parameters: Path) -> Servable:
    """Returns what MLflow makes a model of, given the folder of a saved model of forms with `EXAMPLE` in it.

    There is no input schema: an image may come as bytes, as text in base64 or as an array, and the model checks its
    input itself.
    Raises PipelineError for a folder with none of them.
    """
    own = next((kind for name, kind in KINDS.items() if (parameters / name).is_dir()), None)
    if own is None:
        raise PipelineError(f"{parameters} holds no detector, reader or recogniser; train anew")
    outputs: list[Any] = [ColSpec(kind, name) for name, kind in own.answers.items()]
    return Servable(
        code=SERVED,
        parameters=parameters,
        signature=ModelSignature(outputs=Schema(outputs), **own.params),
        example=pd.read_csv(parameters / EXAMPLE, dtype=str),
        requirements=pinned(f"{name}=={version(name)}" for name in ("scipy", "pillow", "rapidfuzz")),
        metadata=own.metadata | {"invert": load_reading(parameters).invert},
        packages=("models", "data"),
        silent=(CutWarning,),
    )


def trained_form_model(save: Callable[[Path], None], example: pd.DataFrame, error: float, invert: str) -> TrainedModel:
    """Returns a trained model as it is kept: it tells light ink from dark as its training images were read."""

    def write(folder: Path) -> None:
        save(folder)
        save_reading(invert, folder)

    return TrainedModel(write, servable, example, error)


def png_of(grey: np.ndarray) -> bytes:
    """Returns a grey image as the bytes of a PNG file."""
    file = io.BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    return file.getvalue()


def base64_of(grey: np.ndarray, invert: str) -> str:
    """Returns the PNG file of a grey image in base64, as it is read with that `invert`."""
    return base64.b64encode(png_of(as_in_a_file(grey, invert))).decode()
