"""The model of points as MLflow loads and serves it (models from code): this file travels with the logged model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel

from models.runtime.request_values import numbers_in_column
from models.runtime.scoring_server import bad_request, check_before_mlflow
from models.ssgp.predictor import load_predictor
from models.ssgp.request import POINTS, decoded

BadRequest = bad_request(MlflowException, BAD_REQUEST)


def as_table(rows: Any, names: tuple[str, ...]) -> pd.DataFrame:
    """Returns rows as a table with the model's columns. Rows without names, whose columns are 0 to n − 1 as MLflow
    makes them of an array, have the columns in order. Raises BadRequest for an array that is not (row, input), and for
    a number that is too large."""
    if isinstance(rows, pd.DataFrame):
        unnamed = list(rows.columns) == list(range(len(names)))
        return rows.set_axis(list(names), axis=1) if unnamed else rows
    array = rows if isinstance(rows, np.ndarray) else np.asarray(rows, dtype=object)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise BadRequest(f"expected (row, {len(names)}) inputs {', '.join(names)}, got shape {array.shape}")
    try:
        return pd.DataFrame(array, columns=list(names))
    except OverflowError as error:  # of pandas before 3.1
        raise BadRequest("the rows have a number that is too large") from error


def with_numbers(rows: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Returns the table with the columns `names` as doubles. Raises ValueError where one of them holds anything else
    than numbers; those that are missing or there twice are left to the predictor."""
    once = [name for name in names if list(rows.columns).count(name) == 1]
    return rows.assign(**{name: numbers_in_column(rows.loc[:, name], POINTS.advice) for name in once})


class ServedPredictor(PythonModel):
    """Takes rows of inputs in their own units, by the names of the columns or in their order, and gives for each row
    the mean of the target and the standard deviation of a new observation, in the target's unit."""

    # the schema comes from the signature, not from type hints of `predict`; without this MLflow warns at every load
    _skip_type_hint_validation = True

    decoded = staticmethod(decoded)  # how the strict server reads a body for it

    def load_context(self, context: Any) -> None:
        self.predictor = load_predictor(Path(context.artifacts["parameters"]))
        check_before_mlflow(decoded, BadRequest)

    def predict(self, context, model_input, params=None):  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answers a request. Raises BadRequest, a ValueError, for input that is no table of finite numbers with the
        model's columns."""
        rows = as_table(model_input, self.predictor.input_names)
        if not len(rows):
            raise BadRequest("there are no rows")
        try:
            mean, deviation = self.predictor.predict(with_numbers(rows, self.predictor.input_names))
        except (ValueError, TypeError) as error:
            raise BadRequest(str(error)) from error
        return pd.DataFrame({"mean": mean, "standard_deviation": deviation}, index=rows.index)


set_model(ServedPredictor())
