"""Prediction intervals of the run's model: calibrated on the validation part, their coverage measured on the test."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from data.base import Dataset
from models.forecasting.conformal import share_inside
from models.forecasting.filtering import MaskedSequences, rows_before
from models.forecasting.forecaster import Forecaster, beneath
from models.forecasting.held_out import rows_seen
from models.forecasting.horizons import FORECAST_BYTES
from models.forecasting.intervals import Intervals, calibrate
from models.runtime.threads import threads_for
from pipeline.systems.psrnn.evaluation import Evaluation
from pipeline.systems.psrnn.load import OwnUnits
from pipeline.tracking.run import Run

SHOWN_COVERAGE = 0.9  # coverage of the bands in figures
TABLED = (0.5, 0.8, SHOWN_COVERAGE, 0.95)
MOST_FEATURES = 20  # that have rows of their own in the table
FURTHER = 2  # times the longest of evaluate.horizons: as far as intervals of one's own table are calibrated
MOST_NUMBERS = 2**26  # residuals kept at once; longer horizons than fit are not calibrated


class Calibration(NamedTuple):
    """Holds the intervals of the run's model. Where it has none, `intervals` is None and `lacking` says why."""

    intervals: Intervals | None
    lacking: str = ""


def own_from(model: Any) -> int:
    """Returns how many rows a model has to see before its forecasts are its own: `last_value_until` of the model, or of
    the one beneath its readout; 0 where it has no such number.

    Lower autoregressions that stand in for lags (`models.forecasting.start_up`) are fitted with the model and count as
    its own forecasts. The last value is another model's.
    """
    return int(getattr(beneath(model), "last_value_until", 0))


def scored_behind(squared: Mapping[int, Tensor], part: MaskedSequences, rows: int) -> dict[int, Tensor]:
    """Returns errors by horizon, each (sequence, time, feature), NaN where fewer than `rows` rows of the sequence come
    before the forecast, see `rows_before`."""
    if not rows:
        return dict(squared)
    early = (rows_before(part.mask) < rows).unsqueeze(2)
    return {horizon: errors.masked_fill(early, torch.nan) for horizon, errors in squared.items()}


def calibrated_horizons(part: MaskedSequences, settings: Any, *, further: bool, wants: int = 0) -> tuple[int, int]:
    """Returns two horizons. The first is the longest horizon asked for that the validation part is long enough for and
    whose residuals can be kept. The second is the horizon up to which intervals are calibrated.

    The second is the first, or up to `FURTHER` times the horizon asked for where `further` says so and the forecasts
    are few enough to be made all at once, as then the others stay what they are to the last digit.

    wants: rows before the first forecast that is calibrated on, see `own_from`; `evaluate.first_step` if that is more.
    """
    asked, numbers = max(settings.horizons), part.values.numel()
    reach = min(part.values.shape[1] - max(settings.first_step, wants), MOST_NUMBERS // numbers)
    at_once = FORECAST_BYTES // (numbers * part.values.element_size())
    longest = max(1, min(asked, reach))
    return longest, max(longest, min(FURTHER * asked, reach, at_once)) if further else longest


def own_residuals(squared: Sequence[Tensor], own: OwnUnits) -> np.ndarray:
    """Returns |truth − forecast| (forecast, horizon, feature) in the data's own units; NaN where not scored."""
    return np.stack([own.deviations(errors.flatten(0, 1)) for errors in squared], 1)


def before_divergence(residuals: np.ndarray, *, longest: int) -> np.ndarray | None:
    """Returns the residuals (forecast, horizon, feature) up to the last horizon before a forecast diverges; None where
    one of the first `longest` horizons has a forecast that diverges."""
    diverged = np.flatnonzero(np.isinf(residuals).any((0, 2)))
    known = int(diverged[0]) if len(diverged) else residuals.shape[1]
    return None if known < longest else residuals[:, :known]


def intervals_of(squared: Sequence[Tensor], own: OwnUnits, *, longest: int, wants: int = 0) -> Calibration:
    """Returns the radii of the residuals of forecasts for 1, 2, … steps ahead, made from every step of the validation
    part.

    squared: errors of each horizon (sequence, time, feature), NaN where not scored. wants: rows before the first
    of them. There are no intervals where a forecast for one of the first `longest` horizons diverged, or where too few
    forecasts were scored for the radius of any coverage.
    """
    kept = before_divergence(own_residuals(squared, own), longest=longest)
    if kept is None:
        return Calibration(None, "a forecast of the validation part diverged")
    intervals = calibrate(kept)
    if not np.isfinite(intervals.radii).any():
        return Calibration(
            None, f"no scored row of the validation part has the {wants} rows before it that the model wants"
        )
    return Calibration(intervals)


def coverage_table(intervals: Intervals, evaluation: Evaluation, own: OwnUnits) -> pd.DataFrame:
    """Returns a row for each coverage of `TABLED`, horizon of the evaluation and feature. The row has the radius, and
    the share of the test forecasts inside it, NaN where none was scored. Horizons that were not calibrated are left
    out.

    Of more than `MOST_FEATURES` features there is one row for all, see `mean_row`.
    """
    errors = evaluation.squared[evaluation.main]
    horizons = [horizon for horizon in errors if horizon <= intervals.radii.shape[1]]
    sizes = own_residuals([errors[horizon] for horizon in horizons], own)
    rows = []
    for coverage in TABLED:
        radii = intervals.radii[list(intervals.coverages).index(coverage)]
        reached = share_inside(sizes, radii[[horizon - 1 for horizon in horizons]])
        for i, horizon in enumerate(horizons):
            calibrated_on = intervals.scored[horizon - 1]
            numbers = radii[horizon - 1], calibrated_on, reached.share[i], reached.scored[i]
            rows += [(coverage, horizon, *row) for row in feature_rows(own, *numbers)]
    names = ["coverage", "horizon", "feature", "unit", "radius", "calibrated_on", "inside", "scored"]
    return pd.DataFrame(rows, columns=names)


def feature_rows(
    own: OwnUnits, radius: np.ndarray, calibrated_on: np.ndarray, inside: np.ndarray, scored: np.ndarray
) -> list[tuple[Any, ...]]:
    """Returns a row for each feature with its name, its unit and the four numbers, or one row for all features where
    there are more than `MOST_FEATURES`. The arrays are (feature,) each."""
    numbers = radius, calibrated_on, inside, scored
    if len(radius) > MOST_FEATURES:
        return [mean_row(own.scale.numpy(), *numbers)]
    return list(zip(own.names, own.units, *numbers, strict=True))


def mean_row(
    scale: np.ndarray, radius: np.ndarray, calibrated_on: np.ndarray, inside: np.ndarray, scored: np.ndarray
) -> tuple[Any, ...]:
    """Returns one row for all features with a finite radius: the mean of their radii in standard deviations, the least
    number of forecasts calibrated on, the share of their forecasts that is inside, and how many were scored. The arrays
    are (feature,) each."""
    finite = np.isfinite(radius)
    if not finite.any():
        return f"all {len(radius)}", "standard deviations", np.inf, calibrated_on.min(), np.nan, 0
    share = np.nansum((inside * scored)[finite]) / scored[finite].sum() if scored[finite].any() else np.nan
    mean = (radius / scale)[finite].mean()
    return f"all {len(radius)}", "standard deviations", mean, calibrated_on[finite].min(), share, scored[finite].sum()


def log_intervals(run: Run, calibration: Calibration, evaluation: Evaluation, own: OwnUnits, *, full: bool) -> None:
    """Logs the table (if `full`), and what share of the test forecasts the intervals of `SHOWN_COVERAGE` hold.

    Where there are no intervals, a tag and a warning say so.
    """
    intervals, lacking = calibration
    if intervals is None:
        run.tags({"intervals": f"none: {lacking}"})
        warnings.warn(f"{lacking}, so the model has no intervals", stacklevel=2)
        return
    run.tags({"intervals": f"{intervals.radii.shape[1]} steps"})
    table = coverage_table(intervals, evaluation, own)
    if full:
        run.table(table, "evaluate/intervals.csv")
    shown: Any = table[(table["coverage"] == SHOWN_COVERAGE) & np.isfinite(table["radius"]) & (table["scored"] > 0)]
    for horizon, rows in shown.groupby("horizon"):
        suffix = "" if horizon == 1 else f"_horizon_{horizon}"
        inside = float(np.average(rows["inside"], weights=rows["scored"]))
        run.metric(f"evaluate/coverage_{100 * SHOWN_COVERAGE:.0f}{suffix}", inside)


def log_forecast(run: Run, forecaster: Forecaster, dataset: Dataset, *, most: int, title: str) -> None:
    """Logs a figure of the first test sequence: its end, `most` steps or fewer, as forecast from before, with bands,
    beside the truth.

    Logs nothing for videos, for a sequence that is too short, where an interval of `SHOWN_COVERAGE` is not known, and
    where so few rows come before that the forecast would not be the model's own, see `own_from`.
    """
    from pipeline.systems.psrnn.figures import Band, forecast, steps_of

    intervals, truth = forecaster.intervals, dataset.test.to_arrays(1)[0]
    if intervals is None or dataset.image_shape is not None:
        return
    steps = min(intervals.radii.shape[1], most, len(truth) // 2)
    radii = intervals.radii[list(intervals.coverages).index(SHOWN_COVERAGE), :steps]
    if not steps or not np.isfinite(radii).all():
        return
    if rows_seen(truth[:-steps]) < own_from(forecaster.model):
        return
    with threads_for(forecaster.model):
        band = Band(forecaster.forecast(truth[:-steps], steps), radii)
    caption = f"{title}: {steps} steps of test sequence {dataset.test.names[0]}, {100 * SHOWN_COVERAGE:.0f} % intervals"
    names, units, times = dataset.feature_names, dataset.units, steps_of(dataset)
    run.figure(forecast(truth, band, names, units, title=caption, steps=times), "figures/forecast")
