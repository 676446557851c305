"""What a fitted model says of rows in their own units: predictions, calibration, and the effect of each input."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from data.points import Points
from models.ssgp.predictor import Predictor
from pipeline.systems.ssgp.curves import FittedCurve, StandardisedPoints

COVERAGES = (*np.linspace(0.05, 0.95, 19).round(2).tolist(), 0.99)  # of intervals, from nominal to reached
HEADLINE = 0.95  # the coverage that is a metric
GRID = 60  # values of an input that the model is asked at
TAILS = (0.01, 0.99)  # quantiles of an input between which they lie


def predictor_of(points: Points, learnt: StandardisedPoints, fitted: FittedCurve) -> Predictor:
    """Returns what predicts in the points' own units. learnt: the points as the model learned from them."""
    units, names = learnt.units, points.input_names
    return Predictor(units.inputs, units.target, fitted.process, names, points.target_name, change=units.change)


def predictions(predictor: Predictor, points: Points, rows: Tensor) -> pd.DataFrame:
    """Returns a row per point: its target, and mean and standard deviation of the prediction."""
    inputs, targets = points.part(rows)
    mean, deviation = predictor.predict(inputs)
    return pd.DataFrame({"row": rows.numpy(), "target": targets.numpy(), "mean": mean, "standard_deviation": deviation})


def reached(table: Any, coverage: float) -> float:
    """Returns the share of targets within the central interval of that coverage about the mean."""
    away = ((table["target"] - table["mean"]) / table["standard_deviation"]).abs()
    return float((away <= NormalDist().inv_cdf((1 + coverage) / 2)).mean())


def calibration(table: Any) -> pd.DataFrame:
    """Returns nominal and reached coverage of intervals: the same where the standard deviations are right."""
    return pd.DataFrame({"nominal": COVERAGES, "reached": [reached(table, coverage) for coverage in COVERAGES]})


def along_inputs(predictor: Predictor, points: Points, rows: Tensor) -> pd.DataFrame:
    """Returns mean and standard deviation of the prediction along each input, the others held at their medians.

    rows: those whose quantiles and medians are taken. An input that does not vary between the tails is left out.
    """
    inputs = points.part(rows)[0].numpy()
    middle, (low, high) = np.median(inputs, axis=0), np.quantile(inputs, TAILS, axis=0)
    tables = []
    for column, name in enumerate(points.input_names):
        if low[column] == high[column]:
            continue
        asked = np.tile(middle, (GRID, 1))
        asked[:, column] = np.linspace(low[column], high[column], GRID)
        mean, deviation = predictor.predict(asked)
        curve = {"input": name, "value": asked[:, column], "mean": mean, "standard_deviation": deviation}
        tables.append(pd.DataFrame(curve))
    columns = ["input", "value", "mean", "standard_deviation"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
