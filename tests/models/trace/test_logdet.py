"""`estimate_logdet` against the determinant, and refusals of matrices that are not positive definite."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import aslinearoperator

from models.trace.estimate import estimate_trace
from models.trace.logdet import estimate_logdet, more_steps
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
        UserWarning,
        match=r"20 Lanczos steps leave an error of about .*, more than the vectors do; raise steps, as steps=40 does",
    ):
        few = estimate_logdet(matrix, products=20 * 10 + 2, steps=20)
    assert few.standard_error > few.quadrature_error > 50
    assert estimate_logdet(positive(10), products=202, steps=20).quadrature_error < 1e-6


@pytest.mark.parametrize(
    ("steps", "products", "advice"),
    [
        (20, 122, "raise steps, as steps=40, products=162 does"),
        (20, 162, "raise steps, as steps=40 does"),
        (20, None, "raise steps, as steps=40 does"),
        (63, 400, "with products=500 it is exact"),
    ],
)
def test_more_steps_are_advised_with_the_products_that_they_need(steps: int, products: int | None, advice: str) -> None:
    assert more_steps(steps, products, 500) == advice


def test_the_log_determinant_of_a_small_matrix_is_exact() -> None:
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
    assert 0.001 < found.standard_error < 0.1
    assert abs(found.estimate - exact(positive(1e4))) < found.standard_error  # what rounding of the entries makes of it


def kernel(ridge: float) -> np.ndarray:
    places = np.linspace(0.0, 1.0, 200)
    return np.exp(-0.5 * np.square((places[:, None] - places) / 0.2)) + ridge * np.eye(200)


@pytest.mark.parametrize(("ridge", "most"), [(1e-3, 0.1), (1e-4, 1.0), (1e-5, 10.0)])
def test_a_kernel_matrix_in_single_precision_is_positive_definite(ridge: float, most: float) -> None:
    found = estimate_logdet(kernel(ridge).astype(np.float32), tolerance=0.005)
    assert found.standard_error < most
    assert abs(found.estimate - exact(kernel(ridge))) < found.standard_error


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", [torch.strided, torch.sparse_coo])
def test_the_error_is_that_of_the_precision_that_a_matrix_is_given_in(dtype: torch.dtype, layout: Any) -> None:
    own = torch.from_numpy(kernel(10.0)).to(dtype)
    given = own.to_sparse() if layout == torch.sparse_coo else own
    found, expected = estimate_logdet(given), exact(kernel(10.0))
    known = estimate_logdet(own.double())
    assert found.estimate == pytest.approx(known.estimate, rel=1e-10)
    share = torch.finfo(dtype).eps / torch.finfo(torch.float64).eps
    assert share / 20 < found.standard_error / known.standard_error < share  # the computation has a part in both
    assert abs(found.estimate - expected) < found.standard_error


def test_arrays_and_operators_in_half_precision_state_its_error() -> None:
    half = kernel(10.0).astype(np.float16)
    expected = estimate_logdet(torch.from_numpy(half)).standard_error
    assert estimate_logdet(half).standard_error == expected
    assert estimate_logdet(aslinearoperator(half)).standard_error == pytest.approx(expected, rel=1e-3)
    traced = [estimate_trace(kernel(10.0).astype(t), function="log", products=400) for t in (np.float16, np.float32)]
    assert traced[0].standard_error > 1000 * traced[1].standard_error


@pytest.mark.parametrize(("dtype", "word"), [(torch.float16, "half precision"), (torch.bfloat16, "bfloat16 precision")])
def test_what_short_precision_does_not_tell_from_singular_is_refused_by_its_name(dtype: torch.dtype, word: str) -> None:
    with pytest.raises(OracleError, match=f"singular to the rounding of {word}.*give it in double"):
        estimate_logdet(torch.from_numpy(kernel(1e-2)).to(dtype))


def test_a_matrix_that_single_precision_does_not_tell_from_a_singular_one_is_refused_by_that_name() -> None:
    with pytest.raises(OracleError, match=r"^the matrix is singular to the rounding of single .*give it in double"):
        estimate_logdet(kernel(1e-7).astype(np.float32))
    assert estimate_logdet(kernel(1e-7)).standard_error < 1e-4


DETERMINANTS_OF_ONE = {"the identity": np.ones(SIZE), "twos and halves": np.tile([2.0, 0.5], SIZE // 2)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", DETERMINANTS_OF_ONE)
@pytest.mark.parametrize("estimate", [estimate_logdet, partial(estimate_trace, function="log", products=2 * SIZE)])
def test_the_logarithm_of_a_determinant_of_one_is_within_any_tolerance(estimate: Any, case: str, dtype: Any) -> None:
    found = estimate(np.diag(DETERMINANTS_OF_ONE[case]).astype(dtype), tolerance=1e-6)
    assert found.estimate == pytest.approx(0.0, abs=1e-10)
    assert (found.method, found.standard_error < 1e-3) == ("exact", True)


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
    with pytest.raises(OracleError, match=r"^the matrix is .*; a ridge|\(a ridge on its diagonal makes another matrix"):
        estimate_logdet(np.array(SINGULAR[case], dtype))


def test_rows_in_units_far_apart_are_not_singular() -> None:
    near, units = np.array([[2.0, 1.0], [1.0, 3.0]]), np.diag([1e-12, 1e12])
    found = estimate_logdet(units @ near @ units)
    assert found.estimate == pytest.approx(np.log(5.0), abs=1e-12)
    assert found.standard_error < 1e-14


def test_a_tolerance_below_the_rounding_is_said() -> None:
    with pytest.warns(UserWarning, match=r"1e-05 was asked for; the rounding of the matrix may leave so much"):
        estimate_logdet(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-12]]), tolerance=1e-5)


@pytest.mark.parametrize("form", [sp.csr_array, aslinearoperator])
def test_other_kinds_of_matrix_and_a_tolerance(form: Any) -> None:
    matrix = positive(100)
    found = estimate_logdet(form(matrix), products=290, steps=12, tolerance=0.04)
    assert found.relative_error <= 0.04
    assert found.products in (12 * 12 + 2, 24 * 12 + 2)
    with pytest.warns(UserWarning, match=r"after 290 products, and 1e-05 was asked for; give more products"):
        estimate_logdet(form(matrix), products=290, steps=12, tolerance=1e-5)


@pytest.mark.parametrize(("tolerance", "spent"), [(0.2, 9 * 12 + 2), (1e-9, 18 * 12 + 2 + SIZE)])
def test_a_tolerance_is_looked_at_before_every_row_is_asked_for(tolerance: float, spent: int) -> None:
    """Of 912 products 9 vectors take 110, and 18 take 218, which leave as many as there are rows."""
    matrix = positive(10)
    found = estimate_logdet(matrix, products=912, steps=12, tolerance=tolerance)
    assert (found.products, found.method) == (spent, "exact" if spent > SIZE else "lanczos")
    assert abs(found.estimate - exact(matrix)) < 3 * found.standard_error + 1e-9


@pytest.mark.parametrize("products", [100, 1000])
@pytest.mark.parametrize("lowest", [-0.5, 0.0])
def test_what_is_not_positive_definite_is_refused(lowest: float, products: int) -> None:
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(SIZE, SIZE)))[0]
    values = np.ones(SIZE)
    values[:40] = lowest
    matrix = (q * values) @ q.T
    said = (
        "not positive definite: it has an eigenvalue of .* or below" if lowest else "singular to the rounding of double"
    )
    with pytest.raises(OracleError, match=f"the matrix is {said}"):
        estimate_logdet((matrix + matrix.T) / 2, products=products, steps=20)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 3}, "steps=3 must be at least 4"),
        ({"products": 100}, "40 Lanczos steps need; give 162 or more, or steps=24, which resolve less$"),
        ({"products": 17}, "products=17 are fewer than 4 vectors of 40 Lanczos steps need; give 162 or more$"),
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
