"""A model of forms as MLflow loads and serves it (models from code): this file travels with the logged model."""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel

from data.forms.images import read_image
from models.forms.detect.saved import load_detector
from models.forms.reader import FormReader
from models.forms.tables import found_table
from models.runtime.request import read_table_body
from models.runtime.scoring_server import check_before_mlflow

COLUMNS = ("form", "image")


class BadRequest(MlflowException, ValueError):
    """Says in one line what is wrong with the input; a server answers 400 with it, without the data or a stack
    trace."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, error_code=BAD_REQUEST)
        self.reason = reason

    def serialize_as_json(self) -> str:
        return json.dumps({"error_code": self.error_code, "message": self.reason})


def bytes_of(image: Any, where: str) -> bytes:
    """Returns the bytes of an image file, which may be written in base64. Raises BadRequest for anything else."""
    if isinstance(image, bytes):
        return image
    if not isinstance(image, str):
        raise BadRequest(f"{where}: image must be the bytes of a PNG, JPEG or TIFF file, in base64 where it is JSON")
    try:
        return base64.b64decode(image, validate=True)
    except binascii.Error as error:
        raise BadRequest(f"{where}: image is no base64 ({error})") from error


class ServedForms(PythonModel):
    """Takes a table with a form a row, `form` (its name) and `image` (the bytes of its file, or the same in base64);
    gives a row a box. Parameter least_score: boxes of a lower score are left out."""

    # the schema comes from the signature, not from type hints of `predict`; without this MLflow warns at every load
    _skip_type_hint_validation = True

    decoded = staticmethod(read_table_body)  # how the strict server reads a body for it

    def load_context(self, context: Any) -> None:
        detector, _ = load_detector(Path(context.artifacts["parameters"]) / "forms")
        self.reader = FormReader(detector)
        check_before_mlflow(read_table_body, BadRequest)

    def predict(self, context, model_input, params=None):  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answers a request. Raises BadRequest, a ValueError, for what is no table of forms, for a form that comes
        twice and for an image that cannot be read, by its name."""
        if not isinstance(model_input, pd.DataFrame) or not set(COLUMNS) <= set(model_input.columns):
            raise BadRequest(f"expected a table with the columns {' and '.join(COLUMNS)}")
        names = [str(name) for name in model_input["form"]]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise BadRequest(f"form {twice!r} comes twice; give each a name of its own")
        least = float((params or {}).get("least_score", 0.05))
        try:
            read = {name: self.reader.read(grey_of(image, name), least)
                    for name, image in zip(names, model_input["image"], strict=True)}  # fmt: skip
        except (ValueError, TypeError) as error:
            raise error if isinstance(error, BadRequest) else BadRequest(str(error)) from error
        return found_table(read)


def grey_of(image: Any, name: str) -> np.ndarray:
    """Returns the greys of the image of a form."""
    where = f"form {name!r}"
    return read_image(bytes_of(image, where), where=where).grey


set_model(ServedForms())
