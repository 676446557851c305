"""Conjugate gradients against a direct solve, with and without a preconditioner, and what is said of bad systems."""

from __future__ import annotations

import math

import pytest
import scipy.sparse.linalg
import torch
from torch import Tensor

from models.numerics.conjugate_gradients import IndefiniteDirection, NotConverged, conjugate_gradients

N = 40


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def matrix(condition: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """Symmetric, eigenvalues from 1 to `condition` at equal ratios."""
    vectors = torch.linalg.qr(normal(0, N, N)).Q
    return ((vectors * torch.logspace(0, math.log10(condition), N, dtype=torch.float64)) @ vectors.T).to(dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("contiguous", [True, False])
def test_every_column_is_solved_to_the_tolerance(dtype: torch.dtype, tolerance: float, contiguous: bool) -> None:
    a, right = matrix(100.0, dtype), normal(1, 5, N, dtype=dtype).T
    right = right.contiguous() if contiguous else right
    given = right.clone()
    found = conjugate_gradients(lambda v: a @ v, right, tolerance=tolerance, most=500)
    assert torch.equal(right, given)
    assert found.values.dtype == dtype
    assert found.residual <= tolerance
    left = (right - a @ found.values).norm(dim=0) / right.norm(dim=0)
    assert float(left.max()) <= 20 * tolerance
    torch.testing.assert_close(found.values, torch.linalg.solve(a, right), rtol=0.0, atol=1e3 * tolerance)


def test_iterates_are_those_of_scipy() -> None:
    a, right = matrix(5.0), normal(2, N, 1)
    scale = torch.linspace(1, 3, N, dtype=torch.float64)
    seen = []
    scipy.sparse.linalg.cg(
        a.numpy(), right[:, 0].numpy(), rtol=1e-6, M=scale.diag().numpy(), callback=lambda x: seen.append(x.copy())
    )
    found = conjugate_gradients(
        lambda v: a @ v, right, tolerance=1e-6, most=500, precondition=lambda v: scale[:, None] * v
    )
    assert found.iterations == len(seen)
    torch.testing.assert_close(found.values[:, 0], torch.from_numpy(seen[-1]), rtol=1e-9, atol=1e-9)


def test_a_preconditioner_saves_products_and_the_inverse_needs_one() -> None:
    a, right = matrix(1e4), normal(3, N, 3)
    near = torch.linalg.inv(a + 5 * torch.eye(N, dtype=torch.float64))

    def products(inverse: Tensor) -> int:
        return conjugate_gradients(
            lambda v: a @ v, right, tolerance=1e-8, most=2000, precondition=lambda v: inverse @ v
        ).iterations

    assert products(torch.linalg.inv(a)) == 1
    assert products(near) < products(torch.eye(N, dtype=torch.float64)) / 2


def test_columns_do_not_move_each_other() -> None:
    """Of very different lengths, one done at once, one of zeros; a column alone gives the same numbers."""
    a = matrix(100.0)
    vector = torch.linalg.eigh(a).eigenvectors[:, 3]
    columns = [1e-200 * normal(4, N), vector, torch.zeros(N, dtype=torch.float64), 1e150 * normal(5, N)]
    right = torch.stack(columns, 1)
    together = conjugate_gradients(lambda v: a @ v, right, tolerance=1e-10, most=500).values
    for i in range(4):
        alone = conjugate_gradients(lambda v: a @ v, right[:, i : i + 1], tolerance=1e-10, most=500).values
        torch.testing.assert_close(together[:, i : i + 1], alone, rtol=1e-9, atol=0.0)
    expected = torch.linalg.solve(a, right[:, :1] * 1e200)
    torch.testing.assert_close(together[:, :1] * 1e200, expected, rtol=1e-7, atol=1e-9)


def test_nothing_to_solve() -> None:
    for right in (torch.zeros(N, 2, dtype=torch.float64), torch.zeros(N, 0, dtype=torch.float64)):
        found = conjugate_gradients(lambda v: v, right, tolerance=1e-9, most=1)
        assert (found.iterations, found.residual) == (0, 0.0)
        assert torch.equal(found.values, right)


def test_as_many_products_as_are_allowed_and_no_more() -> None:
    """Three different eigenvalues: three products; with two it is said how far it came."""
    a, right, asked = torch.tensor([1.0, 2.0, 5.0]).double().repeat(10), normal(6, 30, 2), []

    def product(v: Tensor) -> Tensor:
        asked.append(len(v))
        return a[:, None] * v

    assert conjugate_gradients(product, right, tolerance=1e-9, most=3).iterations == len(asked) == 3
    with pytest.raises(NotConverged, match=r"residual \d\.\de-\d\d after 2 products, wanted 1e-09$") as caught:
        conjugate_gradients(product, right, tolerance=1e-9, most=2)
    assert len(asked) == 5
    assert 1e-9 < caught.value.residual < 1


@pytest.mark.parametrize("factor", [-1.0, 0.0, math.nan])
def test_what_is_not_positive_definite_is_refused(factor: float) -> None:
    right = normal(7, N, 2)
    with pytest.raises(IndefiniteDirection, match="the matrix is not positive definite"):
        conjugate_gradients(lambda v: factor * v, right, tolerance=1e-9, most=9)
    with pytest.raises(IndefiniteDirection, match="the matrix is not positive definite"):
        conjugate_gradients(lambda v: v, right, tolerance=1e-9, most=9, precondition=lambda v: factor * v)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_right_side_that_is_not_finite_is_refused(bad: float) -> None:
    right = normal(8, N, 2)
    right[3, 1] = bad
    with pytest.raises(ValueError, match="the right side is not finite"):
        conjugate_gradients(lambda v: v, right, tolerance=1e-9, most=9)
