"""`estimate_diagonal` against the diagonal: exact where it has to be, with errors that hold the entries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from models.trace.diagonal import DiagonalEstimate, estimate_diagonal

SIZE = 150
INDEX = np.arange(1, SIZE + 1)
SPECTRA = {"1/i²": INDEX**-2.0, "0.8^i": 0.8**INDEX, "flat": 1 + np.sin(0.7 * INDEX) / 2, "1/√i": INDEX**-0.5}


def symmetric(spectrum: str) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(SIZE, SIZE)))[0]
    matrix = (q * SPECTRA[spectrum]) @ q.T
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize("products", [16, 60])
@pytest.mark.parametrize("method", ["auto", "bekas", "xdiag"])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_two_standard_errors_hold_the_entries(spectrum: str, method: str, products: int) -> None:
    matrix = symmetric(spectrum)
    found = [estimate_diagonal(matrix, method=method, products=products, seed=seed) for seed in range(30)]
    error = np.stack([one.estimate - matrix.diagonal() for one in found])
    stated = np.stack([one.standard_error for one in found])
    assert 0.9 < (np.abs(error) <= 2 * stated).mean() < 0.995
    assert (np.abs(error.mean(0)) < 5.5 * error.std(0) / 30**0.5).all()
    assert {one.products for one in found} == {products}


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_auto_takes_what_errs_less(spectrum: str) -> None:
    matrix = symmetric(spectrum)

    def wrong(method: str) -> float:
        found = [estimate_diagonal(matrix, method=method, products=40, seed=seed).estimate for seed in range(20)]
        return float(np.sqrt(np.mean([(one - matrix.diagonal()) ** 2 for one in found])))

    assert wrong("auto") < 1.1 * min(wrong("bekas"), wrong("xdiag"))


@pytest.mark.parametrize(("error", "relative"), [(0.0, 0.0), (0.1, math.inf)])
def test_estimates_of_zero_are_within_a_tolerance_without_an_error_alone(error: float, relative: float) -> None:
    found = DiagonalEstimate(np.zeros(3), np.array([0.0, error, 0.0]), products=4, method="bekas")
    assert found.relative_error == relative
    assert found.is_within(0.5) == (error == 0)


def xdiag_by_hand(matrix: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Query vectors in columns; each is tested on what the products of the others leave."""
    terms = []
    for i in range(queries.shape[1]):
        q = np.linalg.qr(matrix @ np.delete(queries, i, 1))[0]
        omega = queries[:, i]
        rest = matrix @ omega - q @ (q.T @ matrix @ omega)
        terms.append(((q @ q.T) * matrix.T).sum(1) + omega * rest)
    return np.mean(terms, 0)


def test_the_formula_is_that_of_the_paper() -> None:
    asked: list[np.ndarray] = []
    matrix = symmetric("1/√i")

    def product(columns: np.ndarray) -> np.ndarray:
        asked.append(columns)
        return matrix @ columns

    operator = LinearOperator(matrix.shape, matvec=product, matmat=product, dtype=float)
    found = estimate_diagonal(operator, method="xdiag", products=20)
    np.testing.assert_allclose(found.estimate, xdiag_by_hand(matrix, np.sign(asked[1])), rtol=1e-9)


def test_a_low_rank_and_a_diagonal_matrix_are_exact() -> None:
    factor = np.random.default_rng(0).normal(size=(SIZE, 4))
    low = estimate_diagonal(factor @ factor.T, products=30)
    np.testing.assert_allclose(low.estimate, (factor**2).sum(1), rtol=1e-9)
    assert low.method == "xdiag"
    diagonal = estimate_diagonal(sp.diags_array(INDEX * 1.0), products=8)
    np.testing.assert_allclose(diagonal.estimate, INDEX, rtol=1e-12)
    assert diagonal.standard_error.max() < 1e-10
    exact = estimate_diagonal(symmetric("flat"), products=SIZE)
    assert (exact.method, exact.products, exact.standard_error.max()) == ("exact", SIZE, 0.0)
    np.testing.assert_allclose(exact.estimate, symmetric("flat").diagonal(), rtol=1e-12)


def test_a_tolerance() -> None:
    found = estimate_diagonal(symmetric("0.8^i"), products=140, tolerance=0.05)
    assert (found.products, found.relative_error <= 0.05) == (70, True)
    with pytest.warns(UserWarning, match="after 140 products, and 1e-06 was asked for; give more products"):
        estimate_diagonal(symmetric("flat"), products=140, tolerance=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "xtrace"}, "method='xtrace' is unknown; choose one of auto, bekas, xdiag"),
        ({"method": "xdiag", "products": 31}, "^xdiag asks for as many queries twice; 31 is odd"),
        ({"method": "xdiag", "products": 400}, "^xdiag .* makes a sketch of 200 vectors of a matrix of size 150"),
        ({"method": "xdiag", "products": 400}, "ask for fewer, or for its 150 diagonal entries one by one$"),
        ({"products": 2}, "products=2 must be at least 4"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimate_diagonal(symmetric("flat"), **settings)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    one, other = (estimate_diagonal(np.eye(300), products=kind(20), seed=kind(3)) for kind in (int, np.int64))
    np.testing.assert_array_equal(one.estimate, other.estimate)
