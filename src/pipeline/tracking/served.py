"""The model as MLflow loads and serves it (models from code): this file travels with the logged model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from models.forecaster import load_forecaster

SEQUENCE = "sequence"


def as_frame(data: Any, names: tuple[str, ...]) -> pd.DataFrame:
    """A frame with the model's columns and `sequence`, from a frame or an array ([sequence,] time, feature)."""
    if (
        isinstance(data, pd.DataFrame)
        and not any(name in data.columns for name in names)
        and len(data.columns) == len(names)
    ):
        data = data.to_numpy()
    if isinstance(data, pd.DataFrame):
        absent = [name for name in names if name not in data.columns]
        if absent:
            raise ValueError(f"column {', '.join(absent)} is missing; the model needs {', '.join(names)}")
        return data if SEQUENCE in data.columns else data.assign(**{SEQUENCE: ""})
    array = np.asarray(data, dtype=np.float64)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[2] != len(names):
        raise ValueError(f"expected an array (time, {len(names)}) or (sequence, time, {len(names)}), got {array.shape}")
    frames = [pd.DataFrame(series, columns=list(names)).assign(**{SEQUENCE: str(i)}) for i, series in enumerate(array)]
    return pd.concat(frames, ignore_index=True)


class ServedForecaster(PythonModel):
    """Rows in time order in, in the data's own units; rows of the same sequence share the column `sequence`.

    horizon 0: the one-step prediction of every row, in the same order.
    horizon h ≥ 1: h rows a sequence, the steps after its last row.
    """

    # the schema comes from the signature, not from type hints of `predict`; without this MLflow warns at every load
    _skip_type_hint_validation = True

    def load_context(self, context: Any) -> None:
        self.forecaster = load_forecaster(Path(context.artifacts["parameters"]))

    def predict(self, context, model_input, params=None):  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        horizon = int((params or {}).get("horizon", 0))
        if horizon < 0:
            raise ValueError(f"horizon must be 0 (one-step predictions) or greater, got {horizon}")
        names = self.forecaster.feature_names
        frame = as_frame(model_input, names)
        parts = []
        for label, rows in frame.groupby(SEQUENCE, sort=False, dropna=False):
            series = rows[list(names)].to_numpy(np.float64)
            values = self.forecaster.forecast(series, horizon) if horizon else self.forecaster.predict(series)
            index = None if horizon else rows.index
            parts.append(pd.DataFrame(values, columns=list(names), index=index).assign(**{SEQUENCE: label}))
        result = pd.concat(parts, ignore_index=bool(horizon))
        return result if horizon else result.loc[frame.index]


set_model(ServedForecaster())
