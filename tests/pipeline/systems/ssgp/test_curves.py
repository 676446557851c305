"""Scores and choices of Gaussian-process fits, and streams of generated rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch

from pipeline.systems.ssgp.curves import CurveRow, Scores, StandardisedPart, best_place, row_of, scores
from pipeline.systems.ssgp.fits import FittedCurve
from pipeline.systems.ssgp.streamed import generated, slope


def test_scores_are_in_the_unit_of_the_target() -> None:
    targets = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    mean, variance = torch.tensor([0.0, 0.0, 1.0]).double(), torch.tensor([1.0, 0.5, 2.0]).double()
    found = scores(lambda _: (mean, variance), StandardisedPart(torch.zeros(3, 1), targets), 10.0)
    density = torch.distributions.Normal(10 * mean, 10 * variance.sqrt())
    assert found.nlpd == pytest.approx(-density.log_prob(10 * targets).mean().item())
    assert found.rmse == pytest.approx(10 * math.sqrt((0.25 + 1 + 1) / 3))


def test_the_best_row_is_chosen_on_validation_and_never_on_test() -> None:
    rows = [
        CurveRow(i, 0.0, Scores(1.0, v), Scores(1.0, t)) for i, (v, t) in enumerate([(2, 9), (1, 5), (math.nan, 0)])
    ]
    assert FittedCurve(rows, lambda x: (x, x)).best.iteration == 1
    assert [row_of(row.iteration, row.values()) for row in rows[:2]] == rows[:2]


def test_a_value_that_is_not_finite_is_never_chosen() -> None:
    assert best_place([math.nan, 3.0, -math.inf, 2.0]) == 3


def test_a_generated_stream_repeats_itself_and_begins_alike_at_every_length() -> None:
    short, long = (generated(rows, dimension=2, seed=3, dtype=torch.float64) for rows in (20_000, 40_000))
    one, again = list(short()), list(short())
    assert [len(targets) for _, targets in one] == [16384, 3616]
    assert all(torch.equal(a, b) for rows in zip(one, again, strict=True) for a, b in zip(*rows, strict=True))
    assert torch.equal(one[0][0], next(iter(long()))[0])


def test_the_slope_of_a_linear_cost_is_one() -> None:
    rows = np.array([10, 100, 1000])
    assert slope(pd.DataFrame({"rows": rows, "seconds": 0.3 * rows})) == pytest.approx(1)
    assert math.isnan(slope(pd.DataFrame({"rows": [5], "seconds": [1.0]})))
