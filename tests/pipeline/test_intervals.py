"""The table of intervals: what share of the test forecasts lies inside."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from models.intervals import calibrate
from pipeline.stages.evaluate import Evaluation
from pipeline.stages.intervals import coverage_table, log_intervals


class Recorder:
    """A run that keeps its metrics."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}

    def tags(self, values: dict[str, str]) -> None:
        assert values == {"intervals": "2 steps"}

    def metric(self, key: str, value: float) -> None:
        self.metrics[key] = value


def test_a_horizon_that_the_test_part_never_scores_has_no_share() -> None:
    """Calibrated on |residuals| 1, …, 99 at both horizons; one of two forecasts lies within 90."""
    intervals = calibrate(np.arange(1.0, 100.0)[:, None, None] * np.ones((2, 1)))
    squared = {1: torch.tensor([[[89.0**2], [91.0**2]]]), 2: torch.full((1, 2, 1), math.nan)}
    evaluation = Evaluation({"psrnn": squared}, torch.zeros(1, 2, 1))
    dataset = SimpleNamespace(feature_names=("x",), units=("",), image_shape=None)
    loaded: Any = SimpleNamespace(dataset=dataset, standardiser=SimpleNamespace(scale=torch.ones(1).double()))
    table: Any = coverage_table(intervals, evaluation, loaded)
    shown = table[table["coverage"] == 0.9]
    assert shown["radius"].tolist() == [90.0, 90.0]
    assert shown["inside"].tolist() == pytest.approx([0.5, math.nan], nan_ok=True)
    run: Any = Recorder()
    log_intervals(run, intervals, evaluation, loaded, full=False)
    assert run.metrics == {"evaluate/coverage_90": 0.5}
