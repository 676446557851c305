"""Traces of c·A are those of A, by the rule of each function, whatever c is; unfinished Lanczos steps are said."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from models.trace.diagonal import estimate_diagonal
from models.trace.estimate import error_of_steps, estimate_trace
from models.trace.functions import function_of
from models.trace.logdet import estimate_logdet
from models.trace.matrices import matrix_of
from models.trace.oracles import OracleError

SIZE = 120
POWERS = {np.float64: (-900, -40, 41, 900), np.float32: (-100, -40, 41, 100)}
CASES = [(dtype, power) for dtype, powers in POWERS.items() for power in powers]
RULES: dict[str, Callable[[float, float], float]] = {
    "identity": lambda estimate, power: math.ldexp(estimate, int(power)),
    "inverse": lambda estimate, power: math.ldexp(estimate, -int(power)),
    "log": lambda estimate, power: estimate + SIZE * power * math.log(2),
}


def matrix(dtype: Any = np.float64, condition: float = 100.0) -> np.ndarray:
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(SIZE, SIZE)))[0]
    made = (rotation * np.geomspace(1, condition, SIZE)) @ rotation.T
    return ((made + made.T) / 2).astype(dtype)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator])
@pytest.mark.parametrize("function", RULES)
@pytest.mark.parametrize(("dtype", "power"), CASES)
def test_a_power_of_two_is_put_back(dtype: Any, power: int, function: str, form: Any) -> None:
    """A power of two rounds nothing, so that only the sum with n·log c has a rounding."""
    own = matrix(dtype)
    plain = estimate_trace(form(own), function=function, products=40)
    found = estimate_trace(form(np.ldexp(own, power)), function=function, products=40)
    assert found.estimate == pytest.approx(RULES[function](plain.estimate, power), rel=1e-12)
    assert (found.method, found.products, found.flatness) == (plain.method, plain.products, plain.flatness)


@pytest.mark.parametrize("factor", [1e-12, 3e12])
@pytest.mark.parametrize("function", ["identity", "cube", "inverse", "log"])
def test_any_other_factor_too(function: str, factor: float) -> None:
    plain = estimate_trace(matrix(), function=function, products=40).estimate
    found = estimate_trace(factor * matrix(), function=function, products=40).estimate
    power = {"identity": 1, "cube": 3, "inverse": -1, "log": 0}[function]
    shift = SIZE * math.log(factor) if function == "log" else 0.0
    assert found == pytest.approx(plain * factor**power + shift, rel=1e-7)


@pytest.mark.parametrize(("dtype", "power"), CASES)
@pytest.mark.parametrize("products", [80, 1000])
def test_log_determinants_and_diagonals(dtype: Any, power: int, products: int) -> None:
    own, more = matrix(dtype), np.ldexp(matrix(dtype), power)
    plain = estimate_logdet(own, products=products, steps=15).estimate
    found = estimate_logdet(more, products=products, steps=15).estimate
    assert found == pytest.approx(plain + SIZE * power * math.log(2), rel=1e-12)
    diagonals = [estimate_diagonal(each, products=min(products, 200)).estimate for each in (own, more)]
    np.testing.assert_array_equal(np.ldexp(diagonals[0], power), diagonals[1])


def test_a_sum_that_is_too_large_is_refused_and_a_small_exponential_is_not() -> None:
    with pytest.raises(OracleError, match="the estimate is too large for a number"):
        estimate_trace(1e200 * matrix(), function="cube", products=40)
    with pytest.raises(OracleError, match="the function of an eigenvalue is not finite; scale the matrix"):
        estimate_trace(1e12 * matrix(), function="exp", products=40)
    assert estimate_trace(1e-200 * matrix(), function="exp", products=40).estimate == pytest.approx(SIZE)


@pytest.mark.parametrize("products", [40, 1000])
def test_a_sum_that_is_too_small_is_refused_and_that_of_zeros_is_not(products: int) -> None:
    with pytest.raises(OracleError, match="the estimate is too small for a number; scale the matrix"):
        estimate_trace(1e-110 * matrix(), function="cube", products=products)
    assert estimate_trace(np.zeros((SIZE, SIZE)), function="cube", products=products).estimate == 0.0
    assert estimate_trace(1e-90 * matrix(), function="cube", products=products).estimate > 0.0
    assert estimate_trace(np.diag([1e-300, -1e-300, 1e-317]), products=products).estimate == pytest.approx(1e-317)


@pytest.mark.parametrize("estimate", [estimate_trace, estimate_logdet])
def test_the_refusal_names_the_eigenvalue_of_the_matrix_itself(estimate: Any) -> None:
    own = 1e-20 * (matrix() - 50 * np.eye(SIZE))
    settings = {"function": "log"} if estimate is estimate_trace else {}
    with pytest.raises(OracleError, match=r"it has an eigenvalue of -4(\.\d+)?e-19 or below"):
        estimate(own, products=1000, **settings)


def test_unfinished_steps_are_said_and_are_not_taken_for_a_matrix_that_is_not_symmetric() -> None:
    own = matrix(condition=1e8)
    with pytest.warns(UserWarning, match="5 Lanczos steps leave an error of about") as caught:
        found = estimate_trace(own, function=("log", 5), products=100)
    left = error_of_steps(function_of(matrix_of(own), "log", 5))
    assert found.standard_error > left.steps > 0  # which it includes
    assert re.search(r"raise steps, as function=\(\"log\", 10\) does$", str(caught[0].message))
    estimate_trace(matrix(), function=("log", 40), products=40)  # finished: no warning, which is an error here


def test_steps_make_sense() -> None:
    with pytest.raises(ValueError, match="steps=3 must be at least 4"):
        estimate_trace(matrix(), function=("log", 3))
    with pytest.raises(ValueError, match=r"function must be a name or a function, or one of them with its steps"):
        estimate_trace(matrix(), function=("log", 3, 4))  # pyright: ignore[reportArgumentType]
