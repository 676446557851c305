"""How far a fitted estimator is off: skill, intervals and backtests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from models.forecasting.backtest import BacktestResult, compared, rolling_origin
from models.forecasting.conformal import conformal_radii, smallest_calibration
from models.forecasting.estimators.held_out import forecasts_from, rows_of
from models.forecasting.estimators.input import Rows
from models.forecasting.estimators.learnt import Learnt, residuals
from models.forecasting.estimators.position import Position
from models.forecasting.estimators.series_units import restored, widened
from models.forecasting.known_ahead import as_seen_by
from models.runtime.threads import threads_for

TOO_LARGE = "X holds values too large to reckon with; mend them, or scale them and fit anew"


def one_step(learnt: Learnt, rows: Rows) -> list[np.ndarray]:
    """Returns the prediction of each row from those before it, (time, target) for each series.

    rows: their columns are `Columns.labels`. Raises ValueError for values so large that a prediction is no number.
    """
    model: Any = learnt.forecaster.model
    series, start = (rows_of(learnt.columns, group) for group in rows.groups), model.initial_state(1)
    seen = [as_seen_by(model, start, each, learnt.columns.leads) for each in series]
    with threads_for(model):
        predictions = learnt.forecaster.predict_all(seen)
    if not all(np.isfinite(values).all() for values in predictions):
        raise ValueError(TOO_LARGE)
    targets = len(learnt.columns.targets)
    pairs = zip(predictions, rows.groups, strict=True)
    return [restored(values[:, :targets], group.units) for values, group in pairs]


def skill(learnt: Learnt, rows: Rows, firsts: Sequence[int]) -> float:
    """Returns 1 − MSE / MSE of the last value, over what was observed in two rows in a row, see
    `ForecastingEstimator.score`. firsts: how many of the first rows of each series are left out.

    Raises ValueError where no two rows in a row differ, and for values whose squares are no numbers.
    """
    targets = len(learnt.columns.targets)
    common = learnt.forecaster.scale[:targets].cpu().numpy()
    scales = [widened(common, group.units) for group in rows.groups]
    truths = [group.values[:, :targets] / scale for group, scale in zip(rows.groups, scales, strict=True)]
    error = np.concatenate([
        (truth - ours / scale)[max(1, first) :]
        for truth, ours, scale, first in zip(truths, one_step(learnt, rows), scales, firsts, strict=True)
    ])  # fmt: skip
    last = np.concatenate([
        np.diff(truth, axis=0)[max(0, first - 1) :] for truth, first in zip(truths, firsts, strict=True)
    ])  # fmt: skip
    both = ~np.isnan(error) & ~np.isnan(last)
    with np.errstate(over="ignore", invalid="ignore"):  # which is told of below
        missed, moved = np.square(error[both]).sum(), np.square(last[both]).sum()
    if not (np.isfinite(missed) and np.isfinite(moved)):
        raise ValueError(TOO_LARGE)
    if not moved > 0:
        behind = f" behind the first {max(firsts)}, of which the unit of a new series is taken" if any(firsts) else ""
        raise ValueError(f"X has no two rows in a row that differ{behind}, so there is nothing to score; give more")
    return float(1 - missed / moved)


def interval_radii(learnt: Learnt, horizon: int, coverage: float) -> np.ndarray:
    """Returns half the widths (horizon, target) of intervals, in the units of `HeldOut`.

    Raises ValueError where the held-out part has too few forecasts for the coverage, and where one diverges.
    """
    errors = residuals(learnt, horizon)
    scored, needed = (~np.isnan(errors)).sum(0), smallest_calibration(coverage)
    if (scored < needed).any():
        step = int(np.argmax((scored < needed).any(1))) + 1
        raise ValueError(
            f"an interval of {coverage:g} needs {needed} forecasts of the validation part, and {step} steps ahead "
            f"there are {scored[step - 1].min()}; ask for fewer steps or less coverage, or fit with a larger validation"
        )
    return conformal_radii(errors, coverage=coverage)


def backtested(learnt: Learnt, rows: Rows, *, first: int, step: int, horizon: int) -> BacktestResult:
    """Returns forecasts of the targets from many rows, see `models.forecasting.backtest.backtest`.

    Raises ValueError as it does.
    """
    series, targets = [rows_of(learnt.columns, group) for group in rows.groups], len(learnt.columns.targets)
    origins = rolling_origin([len(values) for values in series], first=first, step=step, horizon=horizon)
    forecasts = np.empty((len(origins.origin), horizon, targets))
    with threads_for(learnt.forecaster.model):
        for place, (values, group) in enumerate(zip(series, rows.groups, strict=True)):
            own = origins.sequence == place
            if own.any():
                ahead = forecasts_from(learnt.forecaster, learnt.columns, values, origins.origin[own], horizon)
                forecasts[own] = restored(ahead, group.units)
    names = tuple(map(str, learnt.columns.targets))
    return compared([group.values[:, :targets] for group in rows.groups], origins, forecasts, names)


def intervals(learnt: Learnt, forecasts: Any, positions: Iterable[Position], radii: np.ndarray) -> Any:
    """Returns the bounds of the intervals around forecasts from some positions, see `bounds`.

    radii: of `interval_radii`, which are widened to the units of each series."""
    return bounds(forecasts, [widened(radii, position.units) for position in positions], learnt.columns.targets)


def bounds(forecasts: Any, by_series: Sequence[np.ndarray], labels: Sequence[Any]) -> Any:
    """Returns the bounds of forecasts of any form of `handed_back`; by_series: radii (horizon, target) of each. Several
    groups in a table follow one another."""
    if isinstance(forecasts, list):
        return [bounds(each, [own], labels) for each, own in zip(forecasts, by_series, strict=True)]
    radii = np.concatenate(by_series)
    if not hasattr(forecasts, "columns"):
        radii = radii[:, 0] if forecasts.ndim == 1 else radii
        return np.stack([forecasts - radii, forecasts + radii], axis=-1)
    import pandas as pd

    columns = {}
    for place, label in enumerate(labels):
        columns[f"{label}_lower"] = forecasts[label] - radii[:, place]
        columns[f"{label}_upper"] = forecasts[label] + radii[:, place]
    return pd.DataFrame(columns, index=forecasts.index)
