"""The sentiment model as MLflow loads and serves it (models from code): this file travels with the logged model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel

from models.mctn.tables import load_table_predictor
from models.runtime.request import read_table_body
from models.runtime.scoring_server import bad_request, check_before_mlflow

BadRequest = bad_request(MlflowException, BAD_REQUEST)


class ServedReader(PythonModel):
    """Takes a table with the columns that the model reads: a text a row, or rows of a `sample` in order. Gives a row
    for each sample: sample, score and positive, or class and probabilities. Other columns are not looked at."""

    # the schema comes from the signature, not from type hints of `predict`; without this MLflow warns at every load
    _skip_type_hint_validation = True

    decoded = staticmethod(read_table_body)  # how the strict server reads a body for it

    def load_context(self, context: Any) -> None:
        self.predictor = load_table_predictor(Path(context.artifacts["parameters"]))
        check_before_mlflow(read_table_body, BadRequest)

    def predict(self, context, model_input, params=None):  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answers a request. Raises BadRequest, a ValueError, for input that is no table which the model can read."""
        if not isinstance(model_input, pd.DataFrame):
            raise BadRequest(f"expected a table with {', '.join(self.predictor.read)}")
        try:
            return self.predictor.predict(model_input)
        except (ValueError, TypeError) as error:
            raise BadRequest(str(error)) from error


set_model(ServedReader())
