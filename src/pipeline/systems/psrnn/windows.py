"""Errors over whole windows of forecasts on the test part: the measure of tables on long horizons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from data.base import Sequences
from models.forecasting.filtering import MaskedSequences, SequenceModel
from models.forecasting.windows import WindowErrors, whole_windows, window_errors
from models.runtime.threads import threads_for
from pipeline.compare.comparison import HOURS
from pipeline.systems.psrnn.comparison import ALONG, COUNTS, DAY, WINDOW_MAE, WINDOW_MSE
from pipeline.tracking.run import Run


def check_windows(part: MaskedSequences, length: int | None) -> None:
    """Raises ValueError, before a model is trained, where no window of the test part is scored throughout."""
    if length is not None:
        whole_windows(part.scored, length)


def rows_of_day(part: Sequences) -> int:
    """Returns how many rows a day has by the times of the first sequence, at least 1: a day over the median step.

    It is 24, as of hourly rows, where the data have no times.
    """
    times = None if part.times is None else np.asarray(part.times[0])
    if times is None or not np.issubdtype(times.dtype, np.datetime64) or len(times) < 2:
        return HOURS
    step = np.median(np.diff(times).astype("timedelta64[ns]").astype(np.int64))
    return max(1, round(np.timedelta64(1, "D") / np.timedelta64(max(1, int(step)), "ns")))


def along(errors: WindowErrors, day: int) -> pd.DataFrame:
    """Returns a row for every `day` rows of the part: its place, how many windows begin there, over all sequences, and
    their mean squared error; rows before the first window do not count."""
    counts = errors.counts
    first = int((counts > 0).int().argmax())
    sums = errors.squared.nan_to_num(nan=0.0, posinf=torch.inf).sum(0)
    rows: Any = pd.DataFrame({"windows": counts[first:].cpu().numpy(), "squared": sums[first:].cpu().numpy()})
    table: Any = rows.groupby(np.arange(len(rows)) // day).sum().query("windows > 0")
    mean = table["squared"] / table["windows"]
    return pd.DataFrame({"place": table.index, "windows": table["windows"], "window_mse": mean})


def log_windows(run: Run, model: SequenceModel, part: MaskedSequences, length: int | None, *, day: int) -> None:
    """Logs the model's mean squared and mean absolute error over all windows, and the former along the test part, for
    every `day` rows; nothing where no length is asked for."""
    if length is None:
        return
    with threads_for(model):
        errors = window_errors(model, part, length)
    run.metric(WINDOW_MSE, float(errors.squared.nanmean()))
    run.metric(WINDOW_MAE, float(torch.nanmean(errors.absolute)))
    run.tags({DAY: str(day)})
    for place, windows, error in along(errors, day).itertuples(index=False):
        run.metric(ALONG, error, step=int(place))
        run.metric(COUNTS, windows, step=int(place))
