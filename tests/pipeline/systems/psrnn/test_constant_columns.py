"""A constant column of a person's own table is forecast, and does not make the mean error of the others smaller."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from data.base import Dataset
from data.tables.sequences import load_table
from models.baselines.persistence import Persistence
from pipeline.systems.psrnn.evaluate import evaluate, validate
from pipeline.systems.psrnn.load import Loaded, forecaster_of, load

SCORING: Any = SimpleNamespace(horizons=[1, 3], first_step=2)
SAID = "constant in the training part, forecast, but not scored on the test part: k"


def table(folder: Path, **more: float) -> Dataset:
    values = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)).cumsum(0), columns=["x", "y"])
    values.assign(**more).to_csv(folder / "t.csv", index=False)
    return load_table(path=str(folder / "t.csv"))


def loaded(dataset: Dataset) -> Loaded:
    return load(dataset, span=1, first_step=2, dtype=torch.float64, device=torch.device("cpu"))


def last_value(data: Loaded) -> dict[str, Persistence]:
    return {"last_value": Persistence(dimension=len(data.own.names)).double()}


def test_the_errors_are_those_of_the_table_without_it(tmp_path: Path) -> None:
    without = loaded(table(tmp_path))
    with pytest.warns(UserWarning, match=SAID):
        beside = loaded(table(tmp_path, k=7.5))
    errors = [
        evaluate(last_value(data), data.parts.test, data.dataset.test.lengths, SCORING) for data in (without, beside)
    ]
    for horizon in (1, 3):
        assert errors[1].mse(horizon=horizon) == pytest.approx(errors[0].mse(horizon=horizon), rel=1e-9)
    of_k = errors[1].by_feature(beside.own).set_index("feature").loc["k"]
    assert np.isnan(of_k["mse_last_value"])


def test_it_is_forecast_and_has_intervals(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=SAID):
        data = loaded(table(tmp_path, k=7.5))
    models = last_value(data)
    _, (intervals, _) = validate(models, data, SCORING)
    assert intervals is not None
    forecaster = forecaster_of(models["last_value"], data.own, intervals)
    ahead = forecaster.forecast(data.dataset.test.to_arrays()[0], 3)
    np.testing.assert_allclose(ahead[:, 2], 7.5)
    np.testing.assert_array_equal(intervals.radii[0, :, 2], 0.0)


def test_the_published_data_sets_are_scored_as_before(tmp_path: Path) -> None:
    dataset = replace(table(tmp_path, k=7.5), source="published")
    with pytest.warns(UserWarning, match="constant in the training part, kept unscaled: k"):
        found = loaded(dataset)
    assert bool(found.parts.test.scored[..., 2].any())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bool(loaded(table(tmp_path)).parts.test.scored[:, 2:].all())
