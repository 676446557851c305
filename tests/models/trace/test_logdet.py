"""`estimate_logdet` against the determinant, and refusals of matrices that are not positive definite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from models.trace.logdet import estimate_logdet
from models.trace.oracles import OracleError

SIZE = 300


def positive(condition: float) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(SIZE, SIZE)))[0]
    matrix = (q * np.geomspace(1, 1 / condition, SIZE)) @ q.T
    return (matrix + matrix.T) / 2


def exact(matrix: np.ndarray) -> float:
    return float(np.linalg.slogdet(matrix)[1])


@pytest.mark.parametrize(("condition", "steps"), [(3, 10), (100, 15), (1e4, 60)])
def test_two_standard_errors_hold_the_log_determinant(condition: float, steps: int) -> None:
    matrix = positive(condition)
    products = min(4 * steps + 2, SIZE - 1) if steps == 60 else 10 * steps + 2
    found = [estimate_logdet(matrix, products=products, steps=steps, seed=seed) for seed in range(60)]
    errors = np.array([one.estimate - exact(matrix) for one in found])
    stated = np.array([one.standard_error for one in found])
    assert np.mean(np.abs(errors) <= 2 * stated) > 0.88
    assert {(one.method, one.products) for one in found} == {("lanczos", products)}


def test_too_few_steps_are_part_of_the_error_and_said() -> None:
    matrix = positive(1e6)
    with pytest.warns(
        UserWarning, match=r"20 Lanczos steps leave an error of about .*, more than the vectors do; give"
    ):
        few = estimate_logdet(matrix, products=20 * 10 + 2, steps=20)
    assert few.standard_error > few.quadrature_error > 50
    assert estimate_logdet(positive(10), products=202, steps=20).quadrature_error < 1e-6


def test_all_eigenvalues_of_a_small_matrix_are_found() -> None:
    matrix = positive(100)
    found = estimate_logdet(matrix)
    assert (found.method, found.products) == ("exact", SIZE)
    assert 0 < found.standard_error < 1e-10
    assert found.estimate == pytest.approx(exact(matrix), rel=1e-12)
    assert str(found) == f"{exact(matrix):,.6g} ± {found.standard_error:.2g} (exact, 300 products)"


def test_single_precision_is_not_that_of_the_exact_log_determinant() -> None:
    matrix = positive(1e4).astype(np.float32)
    found = estimate_logdet(matrix)
    assert found.estimate == pytest.approx(exact(matrix.astype(np.float64)), rel=1e-10)
    assert 0.01 < found.standard_error < 1
    assert abs(found.estimate - exact(positive(1e4))) < found.standard_error  # what rounding of the entries makes of it


SINGULAR = {
    "a row twice": [[2.0, 1.0, 1.0], [1.0, 3.0, 3.0], [1.0, 3.0, 3.0]],
    "a graph's Laplacian": [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]],
    "tenths": [[0.1, 0.1, 0.3], [0.1, 0.1, 0.3], [0.3, 0.3, 1.0]],
    "one dimension": np.outer(*2 * [[0.1, 0.7, 1.3, 2.1]]).tolist(),
    "zeros": np.zeros((3, 3)).tolist(),
    "a row of zeros": np.diag([1.0, 0.0, 2.0]).tolist(),
    "indefinite": [[1.0, 2.0], [2.0, 1.0]],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", SINGULAR)
def test_the_log_determinant_of_a_singular_matrix_is_refused(case: str, dtype: Any) -> None:
    with pytest.raises(OracleError, match=r"not positive definite: it has an eigenvalue of .* or below; .*add a ridge"):
        estimate_logdet(np.array(SINGULAR[case], dtype))


def test_rows_in_units_far_apart_are_not_singular() -> None:
    near, units = np.array([[2.0, 1.0], [1.0, 3.0]]), np.diag([1e-12, 1e12])
    found = estimate_logdet(units @ near @ units)
    assert found.estimate == pytest.approx(np.log(5.0), abs=1e-12)
    assert found.standard_error < 1e-14


def test_a_tolerance_below_the_rounding_is_said() -> None:
    with pytest.warns(UserWarning, match=r"1e-05 was asked for; rounding alone leaves so much: add a ridge"):
        estimate_logdet(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]]), tolerance=1e-5)


@pytest.mark.parametrize("form", [sp.csr_array, aslinearoperator])
def test_other_kinds_of_matrix_and_a_tolerance(form: Any) -> None:
    matrix = positive(100)
    found = estimate_logdet(form(matrix), products=290, steps=12, tolerance=0.04)
    assert found.relative_error <= 0.04
    assert found.products in (8 * 12 + 2, 16 * 12 + 2)
    with pytest.warns(UserWarning, match=r"after 290 products, and 1e-05 was asked for; give more products"):
        estimate_logdet(form(matrix), products=290, steps=12, tolerance=1e-5)


@pytest.mark.parametrize("products", [100, 1000])
@pytest.mark.parametrize("lowest", [-0.5, 0.0])
def test_what_is_not_positive_definite_is_refused(lowest: float, products: int) -> None:
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(SIZE, SIZE)))[0]
    values = np.ones(SIZE)
    values[:40] = lowest
    matrix = (q * values) @ q.T
    with pytest.raises(OracleError, match=r"the matrix is not positive definite: it has an eigenvalue of .* or below"):
        estimate_logdet((matrix + matrix.T) / 2, products=products, steps=20)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 3}, "steps=3 must be at least 4"),
        ({"products": 100}, "products=100 are fewer than 4 vectors of 40 Lanczos steps need; give 162 or more"),
        ({"tolerance": -1}, "tolerance=-1 must be a share of the estimate"),
        ({"seed": -1}, "seed=-1 must be at least 0"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimate_logdet(positive(10), **settings)


def test_an_operator_that_is_not_symmetric() -> None:
    with pytest.raises(OracleError, match="not symmetric: xᵀAy and yᵀAx differ by"):
        estimate_logdet(aslinearoperator(np.eye(SIZE) + np.triu(np.ones((SIZE, SIZE)))), products=200)
