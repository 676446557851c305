"""Stage five: errors on the test set, over the same scored steps for every model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from models.forecasting.filtering import SequenceModel, filter_sequences, with_padding_observed
from models.forecasting.horizons import horizon_errors
from models.runtime.threads import threads_for
from pipeline.host.progress import progress_bar
from pipeline.systems.psrnn.load import Loaded


class Evaluation(NamedTuple):
    """squared (horizon → sequence, time, feature; NaN where not scored) per model, the run's own model first; and the
    one-step predictions of the latter (sequence, time, feature)."""

    squared: dict[str, dict[int, Tensor]]
    predictions: Tensor

    @property
    def main(self) -> str:
        return next(iter(self.squared))

    def mse(self, model: str | None = None, horizon: int = 1) -> float:
        """Mean squared error of a model, the run's own when none is named."""
        return float(self.squared[model or self.main][horizon].double().nanmean())

    def by_horizon(self) -> pd.DataFrame:
        """Rows: horizons; columns: models."""
        rows = {name: {h: self.mse(name, h) for h in errors} for name, errors in self.squared.items()}
        return pd.DataFrame(rows).rename_axis("horizon")

    def by_feature(self, names: Sequence[str], units: Sequence[str], scale: Tensor) -> pd.DataFrame:
        """One-step errors per feature, standardised and as root mean square in the feature's own unit."""
        frame = pd.DataFrame({"feature": names, "unit": units})
        for model, errors in self.squared.items():
            mean = errors[1].double().nanmean((0, 1)).cpu()
            frame[f"mse_{model}"] = mean.numpy()
            frame[f"rmse_own_unit_{model}"] = (mean.sqrt() * scale).numpy()
        return frame

    def by_sequence(self, names: Sequence[str]) -> pd.DataFrame:
        errors = {f"mse_{m}": e[1].double().nanmean((1, 2)).cpu().numpy() for m, e in self.squared.items()}
        return pd.DataFrame({"sequence": names, **errors})


def reachable_horizons(loaded: Loaded, settings: Any) -> list[int]:
    """1 and the horizons asked for, but those that no test sequence is long enough for."""
    reach = longest_reach(loaded, settings)
    return sorted({1, *(h for h in settings.horizons if h <= reach)})


def longest_reach(loaded: Loaded, settings: Any) -> int:
    """The longest horizon for which a step of the test part is scored."""
    return loaded.test.values.shape[1] - settings.first_step


def say_left_out(loaded: Loaded, settings: Any) -> None:
    """Warns, before a model is trained, of the horizons of `evaluate` that no test sequence is long enough for."""
    reach = longest_reach(loaded, settings)
    too_long = [h for h in settings.horizons if h > reach]
    if too_long:
        named = ", ".join(str(h) for h in too_long)
        warnings.warn(
            f"evaluate.horizons: no test sequence is long enough for {named}; left out (the longest there is: {reach})",
            stacklevel=2,
        )


@torch.no_grad()
def evaluate(models: Mapping[str, SequenceModel], loaded: Loaded, settings: Any) -> Evaluation:
    """Filter the test part with every model, and forecast from each of its steps by feeding predictions back."""
    part = loaded.test
    mask = with_padding_observed(part.mask, loaded.dataset.test.lengths)
    horizons = reachable_horizons(loaded, settings)
    squared: dict[str, dict[int, Tensor]] = {}
    predictions: list[Tensor] = []
    rows = len(models) * part.scored[..., 0].numel() * (1 + max(horizons))
    with progress_bar("evaluate", rows):
        for name, model in models.items():
            with threads_for(model):
                filtered = filter_sequences(model, part.values, mask)
                squared[name] = horizon_errors(model, filtered, part.values, part.scored, horizons, settings.first_step)
            predictions = predictions or [filtered.predictions]
    return Evaluation(squared, predictions[0])


def predictions_table(loaded: Loaded, predictions: Tensor) -> pd.DataFrame:
    """One row per test step: sequence, time, and per feature the observed and the predicted value in its own unit.

    time counts steps from 0; where the data have times of their own, a column of their name has these.
    """
    dataset, scale, mean = loaded.dataset, loaded.standardiser.scale, loaded.standardiser.mean
    own = (predictions.double().cpu() * scale + mean).numpy()
    frames = []
    for i, observed in enumerate(dataset.test.to_arrays()):
        columns: dict[str, Any] = {"sequence": dataset.test.names[i], "time": np.arange(len(observed))}
        if dataset.test.times is not None and dataset.time_name is not None:
            columns[dataset.time_name] = dataset.test.times[i]
        for j, name in enumerate(dataset.feature_names):
            columns[name] = observed[:, j]
            columns[f"{name}_predicted"] = own[i, : len(observed), j]
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
