"""Errors of maps on held-out rows, through the rows and without them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from models.numerics.held_out import MANY, ROUNDING, error_on, reduced_error
from models.numerics.ridge import AffineMap, RegressionData, validation_error


def rows(count: int, *, inputs: int = 5, outputs: int = MANY) -> RegressionData:
    noise = np.random.default_rng(0)
    x, y = (torch.from_numpy(noise.normal(size=(count, size))) for size in (inputs, outputs))
    x[:, 2] = 0.0  # a column that says nothing
    return RegressionData(x, y + 3.0, torch.ones(count, outputs, dtype=torch.bool))


def map_of(inputs: int, outputs: int, *, size: float = 1.0) -> AffineMap:
    noise = np.random.default_rng(1)
    return AffineMap(*(size * torch.from_numpy(noise.normal(size=shape)) for shape in ((outputs, inputs), (outputs,))))


@pytest.mark.parametrize("count", [40, 11])
def test_the_error_is_that_of_going_through_the_rows(count):
    data, fit = rows(count), map_of(5, MANY)
    assert reduced_error(data)(fit) == pytest.approx(validation_error(fit, data), rel=1e-12)


def test_the_error_of_the_best_map_is_what_is_left():
    data = rows(40)
    x = torch.cat([data.inputs, torch.ones(40, 1, dtype=torch.float64)], 1)
    best = torch.linalg.lstsq(x, data.targets, driver="gelsd").solution
    fit = AffineMap(best[:-1].T, best[-1])
    assert reduced_error(data)(fit) == pytest.approx(float((x @ best - data.targets).square().mean()), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_maps_that_only_rounding_tells_apart_have_the_same_error_above_0(seed):
    noise = np.random.default_rng(seed)
    x, weight = (torch.from_numpy(noise.normal(size=size)) for size in ((100, 3), (MANY, 3)))
    targets = x @ weight.T + 5.0
    error = reduced_error(RegressionData(x, targets, torch.ones_like(targets, dtype=torch.bool)))
    exact = AffineMap(weight, torch.full((MANY,), 5.0, dtype=torch.float64))
    nearly = exact._replace(weight=weight + 1e-9 * torch.from_numpy(noise.normal(size=weight.shape)))
    assert error(exact) == error(nearly) == pytest.approx(ROUNDING * float(targets.square().mean()), rel=1e-9)


def test_few_outputs_few_rows_and_gaps_go_through_the_rows():
    whole, gaps = rows(40), rows(40)
    gaps.mask[3, 1] = False
    for data in (rows(40, outputs=3), rows(9), gaps):
        fit = map_of(5, data.targets.shape[1])
        assert error_on(data)(fit) == validation_error(fit, data)
    assert error_on(whole)(map_of(5, MANY)) == pytest.approx(validation_error(map_of(5, MANY), whole), rel=1e-12)


def test_a_map_that_is_no_number_is_infinitely_wrong_and_no_rows_are_refused():
    assert error_on(rows(40))(map_of(5, MANY, size=math.nan)) == math.inf
    with pytest.raises(ValueError, match="no validation step to choose by"):
        error_on(rows(0))(map_of(5, MANY))
