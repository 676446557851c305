"""Functions of a matrix by name, as oracles of products with f(A)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.runtime.parameters import shown
from models.trace.lanczos import Function
from models.trace.matrices import Matrix
from models.trace.oracles import Oracle, OracleError, Power
from models.trace.solves import Inverse

STEPS = 40  # of the Lanczos process


def logarithm(values: Tensor) -> Tensor:
    """Returns log λ of eigenvalues. Raises OracleError where one is not positive."""
    return positive(values, "whose logarithm is not a number").log()


def reciprocal(values: Tensor) -> Tensor:
    """Returns 1/λ of eigenvalues. Raises OracleError where one is not positive, as conjugate gradients do."""
    return positive(values, "and conjugate gradients cannot solve with it").reciprocal()


def positive(values: Tensor, why: str) -> Tensor:
    """Returns eigenvalues that are all positive. Raises OracleError where one is not; why: what that means."""
    if bool((values <= 0).any()):
        raise OracleError(
            f"the matrix is not positive definite: it has an eigenvalue of {float(values.min()):.3g} or below, {why}; "
            "add a ridge to its diagonal"
        )
    return values


def inverse(matrix: Matrix) -> Oracle:
    """Returns A⁻¹ by conjugate gradients, to a relative residual of 1e-10, or of 10ε in single precision."""
    return Inverse(matrix.oracle, tolerance=max(1e-10, 10 * torch.finfo(matrix.dtype).eps))


FUNCTIONS: dict[str, Callable[[Matrix, int], Oracle]] = {
    "identity": lambda matrix, steps: matrix.oracle,  # noqa: ARG005
    "cube": lambda matrix, steps: Power(matrix.oracle, 3),  # noqa: ARG005
    "exp": lambda matrix, steps: Function(matrix.oracle, torch.exp, steps),
    "inverse": lambda matrix, steps: inverse(matrix),  # noqa: ARG005
    "log": lambda matrix, steps: Function(matrix.oracle, logarithm, steps),
}


def of_tensors(function: Callable[[Any], Any]) -> Callable[[Tensor], Tensor]:
    """Returns the function itself, and one of NumPy as a function of tensors."""
    if not isinstance(function, np.ufunc):
        return function
    return lambda values: torch.from_numpy(function(values.cpu().numpy())).to(values)


def function_of(matrix: Matrix, function: str | Callable[[Tensor], Tensor], steps: int = STEPS) -> Matrix:
    """Returns f(A) as a matrix that is known by its products.

    function: a name of `FUNCTIONS`, or f itself, which takes and returns a tensor of eigenvalues, or is a function of
    NumPy such as `np.sqrt`. cube is A³ by three
    products, inverse by conjugate gradients; the others by so many steps of the Lanczos process (`lanczos.Function`).
    Raises ValueError for another name.
    """
    if callable(function):
        return matrix._replace(oracle=Function(matrix.oracle, of_tensors(function), steps))
    if not isinstance(function, str) or function not in FUNCTIONS:
        raise ValueError(
            f"function={shown(function)} is unknown; choose one of {', '.join(FUNCTIONS)}, or give a callable"
        )
    return matrix._replace(oracle=FUNCTIONS[function](matrix, steps))


def iterated(matrix: Matrix) -> tuple[Matrix, Callable[[Tensor], Tensor]] | None:
    """Returns A and f on its eigenvalues, of f(A) whose products come from Lanczos steps or conjugate gradients; None
    for any other matrix."""
    match matrix.oracle:
        case Function(oracle, function, _):
            return matrix._replace(oracle=oracle), function
        case Inverse(oracle, _, _):
            return matrix._replace(oracle=oracle), reciprocal
        case _:
            return None
