"""The errors of a run's model and of those beside it on the test part, over the same scored steps for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from torch import Tensor

from data.base import Dataset
from data.tables.zones import in_zone
from models.forecasting.forecaster import Forecaster
from models.forecasting.intervals import Intervals
from pipeline.host.digits import with_sure_digits
from pipeline.systems.psrnn.baselines import Season
from pipeline.systems.psrnn.load import OwnUnits

SAME_MODEL = {"last_value": "persistence"}  # a model, and the baseline that is the same


class Evaluation(NamedTuple):
    """Holds the squared errors of each model, the run's own model first, and the one-step predictions of the run's own
    model (sequence, time, feature).

    squared: by model and horizon (sequence, time, feature), NaN where not scored.
    """

    squared: dict[str, dict[int, Tensor]]
    predictions: Tensor

    @property
    def main(self) -> str:
        return next(iter(self.squared))

    def mse(self, model: str | None = None, horizon: int = 1) -> float:
        """Returns the mean squared error of a model, the run's own when none is named."""
        return float(self.squared[model or self.main][horizon].double().nanmean())

    def shown(self) -> Evaluation:
        """Returns the evaluation as it is shown: without the baseline that is the run's own model."""
        left_out = SAME_MODEL.get(self.main)
        return self._replace(squared={name: errors for name, errors in self.squared.items() if name != left_out})

    def by_horizon(self) -> pd.DataFrame:
        """Returns the mean squared errors with a row for each horizon and a column for each model."""
        rows = {name: {h: self.mse(name, h) for h in errors} for name, errors in self.squared.items()}
        return pd.DataFrame(rows).rename_axis("horizon")

    def by_feature(self, own: OwnUnits) -> pd.DataFrame:
        """Returns the one-step errors per feature, standardised and as root mean square in the feature's own unit."""
        frame = pd.DataFrame({"feature": own.names, "unit": own.units})
        for model, errors in self.squared.items():
            mean = errors[1].double().nanmean((0, 1)).cpu()
            frame[f"mse_{model}"] = mean.numpy()
            frame[f"rmse_own_unit_{model}"] = own.deviations(mean)
        return frame

    def by_sequence(self, names: Sequence[str]) -> pd.DataFrame:
        errors = {f"mse_{m}": e[1].double().nanmean((1, 2)).cpu().numpy() for m, e in self.squared.items()}
        return pd.DataFrame({"sequence": names, **errors})


class Evaluated(NamedTuple):
    """Holds the errors of all models, the season of one of them, and the run's own model with its units and intervals.

    diverged: the models that diverge on the validation part, with the horizons at which they do.
    """

    evaluation: Evaluation
    season: Season | None
    forecaster: Forecaster
    diverged: dict[str, list[int]]


def longest_scored(evaluation: Evaluation, intervals: Intervals | None, window: int | None) -> int | None:
    """Returns the longest horizon at which an error of the run's model was measured, on the test part or, for the
    widths of intervals, on the validation part. Returns None where none was measured. window: steps of the windows that
    are scored on the test part, None where none are."""
    tested = [
        horizon for horizon in evaluation.squared[evaluation.main] if not np.isnan(evaluation.mse(horizon=horizon))
    ]
    widths = [] if intervals is None else np.flatnonzero(np.isfinite(intervals.radii).any((0, 2)))
    calibrated = [int(place) + 1 for place in widths]
    return max([*tested, *calibrated, *([] if window is None else [window])], default=None)


def predictions_table(dataset: Dataset, predicted: np.ndarray) -> pd.DataFrame:
    """Returns a row for each test step: sequence, time, and per feature the observed and the predicted value in its own
    unit.

    predicted: (sequence, time, feature), in its own unit. time counts steps from 0; where the data have times of their
    own, a column of their name has these, in their zone. Predictions have the digits that are sure.
    """
    frames = []
    for i, observed in enumerate(dataset.test.to_arrays()):
        columns: dict[str, Any] = {"sequence": dataset.test.names[i], "time": np.arange(len(observed))}
        if dataset.test.times is not None and dataset.time_name is not None:
            columns[dataset.time_name] = in_zone(dataset.test.times[i], dataset.test.zone)
        for j, name in enumerate(dataset.feature_names):
            columns[name] = observed[:, j]
            columns[f"{name}_predicted"] = predicted[i, : len(observed), j]
        frames.append(pd.DataFrame(columns))
    return with_sure_digits(
        pd.concat(frames, ignore_index=True), [f"{name}_predicted" for name in dataset.feature_names]
    )
