"""A trained detector as the rest of the pipeline keeps, logs and serves it; `served.py` travels with it."""

from __future__ import annotations

import base64
import io
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from PIL import Image

from data.form_images import FormImages
from models.forms.detect.detector import Detector
from models.forms.detect.saved import save_detector
from models.forms.tables import SIDES
from pipeline.tracking.servable import EXAMPLE, Servable, TrainedModel, pinned

SERVED = Path(__file__).with_name("served.py")
FOLDER = "forms"
LEAST_SCORE = 0.05


def servable(parameters: Path) -> Servable:
    """Returns what MLflow makes a model of, given the folder of a saved detector with `EXAMPLE` in it.

    There is no input schema: an image may come as bytes or as text in base64, and the model checks its input itself.
    """
    types = {"form": DataType.string, "order": DataType.long, **dict.fromkeys(SIDES, DataType.double)}
    types |= {"class": DataType.string, "score": DataType.double, "text": DataType.string}
    types |= {"probability": DataType.double}
    outputs: list[Any] = [ColSpec(kind, name) for name, kind in types.items()]
    params = ParamSchema([ParamSpec("least_score", DataType.double, LEAST_SCORE)])
    return Servable(
        code=SERVED,
        parameters=parameters,
        signature=ModelSignature(outputs=Schema(outputs), params=params),
        example=pd.read_csv(parameters / EXAMPLE, dtype=str),
        requirements=pinned(f"{name}=={version(name)}" for name in ("scipy", "pillow")),
        metadata={"takes": "forms", "columns": ["form", "image"], "gives": "boxes"},
        packages=("models", "data"),
    )


def png_of(forms: FormImages, number: int) -> bytes:
    """Returns the image of a form as the bytes of a PNG file."""
    file = io.BytesIO()
    Image.fromarray(forms.image(number)).save(file, "PNG")
    return file.getvalue()


def table_of(forms: FormImages, count: int) -> pd.DataFrame:
    """Returns the first forms as the table that the model takes."""
    images = [base64.b64encode(png_of(forms, number)).decode() for number in range(count)]
    return pd.DataFrame({"form": [f"form {number + 1}" for number in range(count)], "image": images})


def trained_model(detector: Detector, forms: FormImages, error: float) -> TrainedModel:
    """Returns a detector as it is kept, with one form, of the test part, as its example. error: of the validation
    part."""

    def save(folder: Path) -> None:
        save_detector(detector, folder / FOLDER)

    return TrainedModel(save, servable, table_of(forms, 1), error)
