"""The model of points as MLflow loads and serves it (models from code): this file travels with the logged model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel

from models.ssgp.predictor import load_predictor


class BadRequest(MlflowException, ValueError):
    """Says in one line what is wrong with the input; a server answers 400 with it, without the data or a stack
    trace."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, error_code=BAD_REQUEST)
        self.reason = reason

    def serialize_as_json(self) -> str:
        return json.dumps({"error_code": self.error_code, "message": self.reason})


class ServedPredictor(PythonModel):
    """Takes rows of inputs in their own units, by the names of the columns or in their order; gives for each the mean
    of the target and the standard deviation of a new observation, in the target's unit."""

    # the schema comes from the signature, not from type hints of `predict`; without this MLflow warns at every load
    _skip_type_hint_validation = True

    def load_context(self, context: Any) -> None:
        self.predictor = load_predictor(Path(context.artifacts["parameters"]))

    def predict(self, context, model_input, params=None):  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answers a request. Raises BadRequest, a ValueError, for input that is no table of finite numbers with the
        model's columns."""
        rows = self.in_order(model_input)
        if not len(rows):
            raise BadRequest("there are no rows")
        try:
            mean, deviation = self.predictor.predict(rows)
        except (ValueError, TypeError) as error:
            raise BadRequest(str(error)) from error
        return pd.DataFrame({"mean": mean, "standard_deviation": deviation}, index=getattr(rows, "index", None))

    def in_order(self, rows: Any) -> Any:
        """Returns the rows; without the names of the columns, which MLflow takes from an array, they are in order."""
        names = self.predictor.input_names
        if isinstance(rows, pd.DataFrame):
            unnamed = not set(names) & set(rows.columns) and len(rows.columns) == len(names)
            return rows.set_axis(list(names), axis=1) if unnamed else rows
        return rows if isinstance(rows, np.ndarray) else np.asarray(rows, dtype=object)


set_model(ServedPredictor())
