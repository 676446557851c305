"""Errors over whole windows of forecasts on the test part: the measure of tables on long horizons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from models.forecasting.filtering import MaskedSequences, SequenceModel
from models.forecasting.windows import WindowErrors, whole_windows, window_errors
from models.runtime.threads import threads_for
from pipeline.compare.windows import GROUP
from pipeline.systems.psrnn.comparison import ALONG, COUNTS, WINDOW_MAE, WINDOW_MSE
from pipeline.tracking.run import Run


def check_windows(part: MaskedSequences, length: int | None) -> None:
    """Raises ValueError, before a model is trained, where no window of the test part is scored throughout."""
    if length is not None:
        whole_windows(part.scored, length)


def along(errors: WindowErrors) -> pd.DataFrame:
    """Returns a row for every `GROUP` rows of the part: its place, how many windows begin there, over all sequences,
    and their mean squared error; rows before the first window do not count."""
    counts = errors.counts
    first = int((counts > 0).int().argmax())
    sums = errors.squared.nan_to_num(nan=0.0, posinf=torch.inf).sum(0)
    rows: Any = pd.DataFrame({"windows": counts[first:].cpu().numpy(), "squared": sums[first:].cpu().numpy()})
    table: Any = rows.groupby(np.arange(len(rows)) // GROUP).sum().query("windows > 0")
    mean = table["squared"] / table["windows"]
    return pd.DataFrame({"place": table.index, "windows": table["windows"], "window_mse": mean})


def log_windows(run: Run, model: SequenceModel, part: MaskedSequences, length: int | None) -> None:
    """Logs the model's mean squared and mean absolute error over all windows, and the former along the test part;
    nothing where no length is asked for."""
    if length is None:
        return
    with threads_for(model):
        errors = window_errors(model, part, length)
    run.metric(WINDOW_MSE, float(errors.squared.nanmean()))
    run.metric(WINDOW_MAE, float(torch.nanmean(errors.absolute)))
    for place, windows, error in along(errors).itertuples(index=False):
        run.metric(ALONG, error, step=int(place))
        run.metric(COUNTS, windows, step=int(place))
