"""Predictions of a logged model of points: mean and standard deviation for each row of a file."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from data.tables.points import read_inputs
from pipeline.host.digits import with_sure_digits
from pipeline.settings.messages import of_section
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.others import refuse_others


def predicted_points(model: Any, settings: PredictConfig) -> tuple[pd.DataFrame, str]:
    """Returns a row for each row of the file, and words about them. A row has its number in the file, from 1 for the
    first row of data, without blank lines; mean and standard deviation of the target, empty where a cell of the row is;
    and with `interval` the bounds that hold a new observation with that probability.

    Raises DataError as `data.tables.points.read_inputs`, PipelineError for settings of forecasters.
    """
    refuse_others(
        settings, ("interval", "data.delimiter", "data.decimal"), "predicts each row by itself and no sequences"
    )
    data, told = settings.data, model.metadata.metadata
    with of_section("data"):
        inputs = read_inputs(data.path, columns=told["columns"], delimiter=data.delimiter, decimal=data.decimal)
    whole = ~np.isnan(inputs).any(axis=1)
    found = pd.DataFrame(index=np.arange(len(inputs)), columns=["mean", "standard_deviation"], dtype=np.float64)
    if whole.any():
        found.loc[whole] = model.predict(pd.DataFrame(inputs[whole], columns=told["columns"])).to_numpy()
    if settings.interval:
        wide = NormalDist().inv_cdf((1 + settings.interval) / 2) * found["standard_deviation"]
        found = found.assign(lower=found["mean"] - wide, upper=found["mean"] + wide)
    found, lost = with_sure_digits(found, found.columns), int((~whole).sum())
    found.insert(0, "data_row", np.arange(1, len(found) + 1))
    gaps = f" ({lost} with an empty cell have none)" if lost else ""
    return found, f"mean and standard deviation of {told['target']} for {len(found)} rows{gaps}"
