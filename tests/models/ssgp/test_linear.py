"""The variance of linear ridge regression, beside its formula and the noise that was drawn."""

from __future__ import annotations

import pytest
import torch

from models.ssgp.linear import linear_gaussians


def drawn(rows: int, dimension: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs (row, dimension), and targets (row,) with noise of variance 1."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, dimension, generator=generator, dtype=torch.float64) + 3
    return inputs, inputs.sum(1) + torch.randn(rows, generator=generator, dtype=torch.float64)


def test_the_variance_is_that_of_the_noise_also_of_few_rows() -> None:
    """The mean squared residual of these 12 rows is about 0.25: an intercept and eight weights take nine of them."""
    found = torch.stack([linear_gaussians(*drawn(12, 8, seed), [1e-9])[0].variance for seed in range(400)])
    error = (2 / 3 / 400) ** 0.5  # χ² of three degrees of freedom
    assert float(found.mean()) == pytest.approx(1, abs=4 * error)


@pytest.mark.parametrize("rows", [5, 40])  # fewer and more than inputs
def test_the_degrees_of_freedom_fall_with_the_ridge(rows: int) -> None:
    inputs, targets = drawn(rows, 7)
    centred, identity = inputs - inputs.mean(0), torch.eye(7, dtype=torch.float64)
    for ridge in (1e-3, 0.1, 10.0):
        (own,) = linear_gaussians(inputs, targets, [ridge])
        gram = centred.T @ centred
        freedom = float(torch.linalg.solve(gram + ridge * rows * identity, gram).trace())
        squares = float((own.predict(inputs).mean - targets).square().sum())
        assert float(own.variance) == pytest.approx(squares / max(rows - 1 - freedom, 1), rel=1e-9)


def test_columns_that_repeat_one_another_take_one_row_together() -> None:
    inputs, targets = drawn(20, 2)
    once, twice = (linear_gaussians(x, targets, [1e-15])[0] for x in (inputs, torch.cat([inputs, inputs], 1)))
    assert float(twice.variance) == pytest.approx(float(once.variance), rel=1e-6)
