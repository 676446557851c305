"""Functions of small matrices, whose trace is exact: not by Lanczos steps or conjugate gradients, which are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from models import estimate_trace
from models.trace.functions import function_of
from models.trace.matrices import matrix_of
from models.trace.oracles import OracleError

SIZE = 80
SPECTRUM = np.logspace(-6, 1, SIZE)
FUNCTIONS = {"log": np.log, "inverse": np.reciprocal, "exp": np.exp, "root": np.sqrt}


def matrix(values: np.ndarray = SPECTRUM) -> np.ndarray:
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(len(values), len(values))))
    made = (rotation * values) @ rotation.T
    return (made + made.T) / 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_trace_that_is_called_exact_is(name: str) -> None:
    expected = FUNCTIONS[name](SPECTRUM)
    found = estimate_trace(matrix(), function=torch.sqrt if name == "root" else name)
    assert (found.method, found.products) == ("exact", SIZE)
    assert 0 < found.standard_error < 1e-6 * found.estimate if name == "inverse" else found.standard_error < 1e-7
    assert found.estimate == pytest.approx(expected.sum(), rel=1e-6 if name == "inverse" else 1e-9)
    if name == "log":
        expected = expected - np.log(matrix().max())
    assert found.flatness == pytest.approx(expected.sum() ** 2 / (SIZE * np.square(expected).sum()), rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["log", "inverse"])
def test_what_rounding_makes_of_an_ill_conditioned_matrix_is_stated(name: str, dtype: Any) -> None:
    """Half of the last place of 1 is 1/40 of the least eigenvalue, of the mean of the diagonal half of that. Double
    precision is also that of the computation, which may move the eigenvalue by twice as much."""
    least = 20 * float(np.finfo(dtype).eps)
    found = estimate_trace(np.diag([1.0, least]).astype(dtype), function=name)
    shares = np.array([np.hypot(1, 2 * (dtype == np.float64)) / 40, 1 / 80])
    share = np.linalg.norm(np.arctanh(shares) if name == "log" else shares / (1 - shares**2) / least)
    assert found.standard_error == pytest.approx(share, rel=1e-3)
    assert found.estimate == pytest.approx(FUNCTIONS[name](np.array([1.0, least])).sum(), rel=1e-12)
    assert estimate_trace(np.diag([1.0, least]).astype(dtype)).standard_error == 0
    said = "give the matrix in double precision" if dtype == np.float32 else "less only of another matrix"
    with pytest.warns(UserWarning, match=f"0.01 was asked for; the rounding of .* may leave so much.*{said}"):
        estimate_trace(np.diag([1.0, least]).astype(dtype), function="inverse", tolerance=0.01)


@pytest.mark.parametrize("name", ["log", "inverse"])
def test_single_precision_is_refused_by_its_own_rounding(name: str) -> None:
    said = r"^the matrix is singular to the rounding of single precision, which decides f\(A\); give it in double prec"
    for least in (1e-8, 0.0, -1e-8):  # the rounding does not tell them from each other, so none is named
        with pytest.raises(OracleError, match=said):
            estimate_trace(np.diag([1.0, least]).astype(np.float32), function=name)
    assert estimate_trace(np.diag([1.0, 1e-8]), function=name).method == "exact"


@pytest.mark.parametrize("name", ["log", "inverse"])
def test_the_refusal_of_a_negative_eigenvalue_names_that_of_the_matrix(name: str) -> None:
    for dtype, least in ((np.float64, -1e-8), (np.float32, -1e-3)):
        with pytest.raises(OracleError, match=f"it has an eigenvalue of {dtype(least):.3g} or below"):
            estimate_trace(np.diag([1.0, least]).astype(dtype), function=name)


@pytest.mark.parametrize(("function", "power"), [("identity", 1), ("cube", 3)])
def test_single_precision_is_not_that_of_exact_sums(function: str, power: int) -> None:
    own = matrix().astype(np.float32)
    expected = np.trace(np.linalg.matrix_power(own.astype(np.float64), power))
    assert estimate_trace(own, function=function).estimate == pytest.approx(expected, rel=1e-13)


def test_lanczos_steps_alone_are_not_exact_here() -> None:
    own = function_of(matrix_of(matrix()), "log")
    products = own.oracle(torch.eye(SIZE, dtype=torch.float64)) + own.shift * torch.eye(SIZE)
    assert abs(float(products.trace()) - np.log(SPECTRUM).sum()) > 1e-3


def test_the_steps_of_an_inverse_are_taken_and_more_of_them_advised() -> None:
    ill = matrix(np.logspace(-2, 0, SIZE))
    advised = (
        rf"^20 conjugate-gradient steps .*; take all eigenvalues by products={SIZE} \(without a method\), which is "
        r"exact, allow more steps, as function=\(.inverse., 100\) does, or add a ridge to its diagonal$"
    )
    with pytest.raises(OracleError, match=advised):
        estimate_trace(ill, function=("inverse", 20), products=10)
    found = estimate_trace(ill, function=("inverse", 2000), products=10)
    whole = estimate_trace(ill, function="inverse", products=SIZE)
    assert (found.method != "exact", whole.method) == (True, "exact")
    assert abs(found.estimate - whole.estimate) < 5 * found.standard_error


@pytest.mark.parametrize(
    ("function", "why"),
    [("log", "whose logarithm is not a number"), ("inverse", "conjugate gradients cannot solve with it")],
)
def test_an_indefinite_matrix_is_refused(function: str, why: str) -> None:
    message = f"not positive definite: it has an eigenvalue of -2 or below, .*{why}; add a ridge"
    with pytest.raises(OracleError, match=message):
        estimate_trace(matrix(np.linspace(-2, 3, SIZE)), function=function)
