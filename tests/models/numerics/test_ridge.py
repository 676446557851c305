"""Ridge solves against least squares on an augmented system."""

from __future__ import annotations

import math

import pytest
import torch

from models.numerics.khatri_rao import add_triple_products
from models.numerics.ridge import (
    AffineMap,
    RegressionData,
    affine_from_moments,
    centred_moments,
    infinite_where_nan,
    least_validation_error,
    masked_mse,
    per_sample_ridge,
    solve_ridge,
    validation_error,
)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def augmented_least_squares(x: torch.Tensor, y: torch.Tensor, ridge: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """min ‖y − Mx − c‖² / n + Σ_i ridge_i ‖M_i‖² by stacking √(n·diag(ridge)) below the rows; last, the intercept."""
    n, p = x.shape
    penalty = torch.cat([(n * ridge).sqrt().diag(), torch.zeros(p, 1, dtype=x.dtype)], 1)
    rows = torch.cat([torch.cat([x, torch.ones(n, 1, dtype=x.dtype)], 1), penalty])
    solution = torch.linalg.lstsq(rows, torch.cat([y, torch.zeros(p, y.shape[1], dtype=y.dtype)])).solution
    return solution[:p].T, solution[p]


@pytest.mark.parametrize("scale", ["samples", "none"])
@pytest.mark.parametrize("ridge", [0.3, torch.tensor([0.3, 0.001, 2.0, 40.0], dtype=torch.float64)])
@pytest.mark.parametrize("count", [60, 6, 3])
def test_affine_fit_equals_augmented_least_squares_with_a_mask_per_column(
    ridge: float | torch.Tensor, scale: str, count: int
) -> None:
    x, y = normal(count, 4), normal(count, 3, seed=1)
    mask = torch.ones(count, 3, dtype=torch.bool)
    mask[count // 6 : count // 2, 1] = False
    found = affine_from_moments(centred_moments(RegressionData(x, y, mask)), ridge, scale=scale)
    each = torch.as_tensor(ridge, dtype=torch.float64).expand(4)
    for column in range(3):
        rows = mask[:, column]
        per_output = each if scale == "samples" else each / int(rows.sum())
        weight, bias = augmented_least_squares(x[rows], y[rows][:, column : column + 1], per_output)
        torch.testing.assert_close(found.weight[column : column + 1], weight)
        torch.testing.assert_close(found.bias[column : column + 1], bias)


def test_affine_fit_refuses_a_column_without_rows() -> None:
    mask = torch.ones(5, 2, dtype=torch.bool)
    mask[:, 1] = False
    with pytest.raises(ValueError, match="no observed step to regress on"):
        centred_moments(RegressionData(normal(5, 1), normal(5, 2), mask))


def test_validation_picks_the_ridge_with_the_least_error() -> None:
    x, noise = normal(12, 8), normal(12, 1, seed=2)
    truth = normal(1, 8, seed=3) * 0.1
    train = RegressionData(x, x @ truth.T + noise, torch.ones(12, 1, dtype=torch.bool))
    held = normal(200, 8, seed=4)
    validation = RegressionData(held, held @ truth.T, torch.ones(200, 1, dtype=torch.bool))
    ridges = [1e-6, 1.0, 10.0, 1e6]
    moments = centred_moments(train)
    fits = (affine_from_moments(moments, ridge, scale="none") for ridge in ridges)
    fit, place = least_validation_error(fits, validation)
    errors = {}
    for ridge in ridges:
        other = affine_from_moments(centred_moments(train), ridge, scale="none")
        errors[ridge] = float(masked_mse(other(held), validation.targets, validation.mask))
    assert ridges[place] == min(errors, key=errors.__getitem__)
    assert float(masked_mse(fit(held), validation.targets, validation.mask)) == pytest.approx(min(errors.values()))


def test_choice_errors() -> None:
    rows = RegressionData(normal(5, 1), normal(5, 1), torch.ones(5, 1, dtype=torch.bool))
    empty = rows._replace(mask=torch.zeros(5, 1, dtype=torch.bool))
    with pytest.raises(ValueError, match="at least one ridge"):
        least_validation_error([], rows)
    with pytest.raises(ValueError, match="no validation step to choose by"):
        least_validation_error(
            [affine_from_moments(centred_moments(rows), ridge, scale="none") for ridge in (0.1, 1.0)], empty
        )


def test_solve_ridge_says_when_the_system_is_not_positive_definite() -> None:
    with pytest.raises(ValueError, match="not positive definite; raise it"):
        solve_ridge(-torch.eye(3), torch.ones(3, 1), 1e-9)


def test_per_sample_ridge() -> None:
    assert per_sample_ridge(0.5, scale="samples", count=10) == 0.5
    assert per_sample_ridge(0.5, scale="none", count=10) == 0.05
    assert torch.equal(per_sample_ridge(torch.tensor([1.0, 5.0]), scale="none", count=10), torch.tensor([0.1, 0.5]))
    with pytest.raises(ValueError, match="must be positive, got -1"):
        per_sample_ridge(torch.tensor([1.0, -1.0]), scale="none", count=10)


@pytest.mark.parametrize("tile_bytes", [1, 700, 2**20])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_triple_products_equal_einsum(tile_bytes: int, dtype: torch.dtype) -> None:
    a, b, c = (normal(9, n, seed=n).to(dtype) for n in (5, 4, 3))
    total = torch.ones(5, 4, 3, dtype=torch.float64)
    add_triple_products(total, a, b, c, tile_bytes=tile_bytes)
    expected = 1 + torch.einsum("ta,tb,tc->abc", a.double(), b.double(), c.double())
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(total, expected, rtol=tolerance, atol=tolerance)


def test_errors_that_are_not_a_number_are_infinite_and_infinite_ones_stay_so() -> None:
    errors = torch.tensor([1.0, math.nan, math.inf, -math.inf])
    assert infinite_where_nan(errors).tolist() == [1.0, math.inf, math.inf, -math.inf]


def test_a_validation_error_that_overflows_is_infinite() -> None:
    x = torch.full((5, 1), 1e200, dtype=torch.float64)
    fit = AffineMap(torch.ones(1, 1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64))
    assert (
        validation_error(fit, RegressionData(x, torch.zeros_like(x), torch.ones_like(x, dtype=torch.bool))) == math.inf
    )


def test_a_ridge_of_one_number_is_not_rounded_to_single_precision() -> None:
    assert per_sample_ridge(1e-300, scale="samples", count=5) == 1e-300
    x, y = normal(10, 20), normal(10, 1, seed=1)
    moments = centred_moments(RegressionData(x, y, torch.ones_like(y, dtype=torch.bool)))
    one, each = (moments[0].weights(ridge) for ridge in (0.1, torch.full((20,), 0.1, dtype=torch.float64)))
    torch.testing.assert_close(one, each, rtol=1e-12, atol=0)
