"""The translator as MLflow loads and serves it (models from code): this file travels with the logged model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel

from models.experts.predictor import load_predictor
from models.experts.tables import translated_table
from models.runtime.request import read_table_body
from models.runtime.scoring_server import bad_request, check_before_mlflow

BadRequest = bad_request(MlflowException, BAD_REQUEST)


class ServedTranslator(PythonModel):
    """Takes a table with a sentence a row and the languages that it is translated from and into; gives a row for each:
    translation, score, truncated, finished. Other columns are not looked at."""

    # the schema comes from the signature, not from type hints of `predict`; without this MLflow warns at every load
    _skip_type_hint_validation = True

    decoded = staticmethod(read_table_body)  # how the strict server reads a body for it

    def load_context(self, context: Any) -> None:
        self.predictor = load_predictor(Path(context.artifacts["parameters"]) / "translator")
        check_before_mlflow(read_table_body, BadRequest)

    def predict(self, context, model_input, params=None):  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answers a request. Raises BadRequest, a ValueError, for what is no table of sentences that the model can
        translate."""
        if not isinstance(model_input, pd.DataFrame):
            raise BadRequest("expected a table with text, from, to")
        own = params or {}
        try:
            return translated_table(
                self.predictor, model_input, beam=own.get("beam") or None, longest=own.get("longest") or None
            )
        except (ValueError, TypeError) as error:
            raise BadRequest(str(error)) from error


set_model(ServedTranslator())
