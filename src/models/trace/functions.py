"""Functions of a matrix by name, as oracles of products with f(A)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.runtime.parameters import shown
from models.trace.lanczos import Function
from models.trace.matrices import Matrix
from models.trace.oracles import Power
from models.trace.refusals import OfPositive
from models.trace.scale import divided
from models.trace.solves import SOLVING, Inverse

STEPS = 40  # of the Lanczos process
NamedFunction = str | Callable[[Tensor], Tensor]


def reciprocal(exponent: int = 0) -> OfPositive:
    """Returns λ ↦ 1/λ of positive eigenvalues, those that conjugate gradients can solve with."""
    return OfPositive(torch.reciprocal, "and conjugate gradients cannot solve with it", exponent)


def logarithm(largest: float = 1.0, exponent: int = 0) -> OfPositive:
    """Returns λ ↦ log λ − log(largest) of positive eigenvalues."""
    return OfPositive(ShiftedLogarithm(largest), "whose logarithm is not a number", exponent)


def refuse_steps(name: str, steps: int | None) -> None:
    """Raises ValueError for steps of a function that takes none."""
    if steps is not None:
        raise ValueError(f'function=("{name}", {steps}): {name} takes no steps; leave them out')


def identity(matrix: Matrix, steps: int | None) -> Matrix:
    """Returns A. Raises ValueError for steps."""
    refuse_steps("identity", steps)
    return matrix


def cube(matrix: Matrix, steps: int | None) -> Matrix:
    """Returns A³ by three products. Raises ValueError for steps."""
    refuse_steps("cube", steps)
    return matrix._replace(oracle=Power(matrix.oracle, 3), exponent=3 * matrix.exponent)


def inverse(matrix: Matrix, steps: int | None) -> Matrix:
    """Returns A⁻¹ by at most so many conjugate-gradient steps (1000), to a relative residual of 1e-10, or of 10ε in
    single precision."""
    oracle = Inverse(matrix.oracle, max(1e-10, 10 * torch.finfo(matrix.dtype).eps), steps or SOLVING)
    return matrix._replace(oracle=oracle, exponent=-matrix.exponent, inexact=True)


@dataclass(frozen=True)
class ShiftedLogarithm:
    """Is λ ↦ log λ − log(largest)."""

    largest: float

    def __call__(self, values: Tensor) -> Tensor:
        return values.log() - math.log(self.largest)


def log(matrix: Matrix, steps: int | None) -> Matrix:
    """Returns log A = log(B/b) + log(2^e·b)·I, b the largest entry of B."""
    function = logarithm(matrix.largest, matrix.exponent)
    shift = math.log(matrix.largest) + matrix.exponent * math.log(2)
    return of_eigenvalues(matrix, function, steps)._replace(shift=shift)


@dataclass(frozen=True)
class OfScaled:
    """Is λ ↦ f(2^exponent · λ)."""

    function: Callable[[Tensor], Tensor]
    exponent: int

    def __call__(self, values: Tensor) -> Tensor:
        return self.function(divided(values, -self.exponent))


def of_eigenvalues(matrix: Matrix, function: Callable[[Tensor], Tensor], steps: int | None) -> Matrix:
    """Returns f(B) by Lanczos steps (40); f is applied to eigenvalues of B."""
    return matrix._replace(
        oracle=Function(matrix.oracle, function, steps or STEPS, matrix.rounding), exponent=0, inexact=True
    )


def of_own(matrix: Matrix, function: Callable[[Tensor], Tensor], steps: int | None) -> Matrix:
    """Returns f(A) by Lanczos steps; f is applied to eigenvalues of A."""
    own = OfScaled(function, matrix.exponent) if matrix.exponent else function
    return of_eigenvalues(matrix, own, steps)


FUNCTIONS: dict[str, Callable[[Matrix, int | None], Matrix]] = {
    "identity": identity,
    "cube": cube,
    "exp": lambda matrix, steps: of_own(matrix, torch.exp, steps),
    "inverse": inverse,
    "log": log,
}


def of_tensors(function: Callable[[Any], Any]) -> Callable[[Tensor], Tensor]:
    """Returns the function itself, and one of NumPy as a function of tensors."""
    if not isinstance(function, np.ufunc):
        return function
    return lambda values: torch.from_numpy(function(values.cpu().numpy())).to(values)


def function_of(matrix: Matrix, function: str | Callable[[Tensor], Tensor], steps: int | None = None) -> Matrix:
    """Returns f(A) as a matrix that is known by its products.

    function: a name of `FUNCTIONS`, or f itself, which takes and returns a tensor of eigenvalues, or is a function of
    NumPy such as `np.sqrt`. cube is A³ by three
    products, inverse by at most so many steps of conjugate gradients (1000); the others by so many steps (40) of the
    Lanczos process (`lanczos.Function`).
    Raises ValueError for another name, and for steps of the identity and the cube, which take none.
    """
    if callable(function):
        return of_own(matrix, of_tensors(function), steps)
    if not isinstance(function, str) or function not in FUNCTIONS:
        raise ValueError(
            f"function={shown(function)} is unknown; choose one of {', '.join(FUNCTIONS)}, or give a callable"
        )
    return FUNCTIONS[function](matrix, steps)


def iterated(matrix: Matrix) -> tuple[Matrix, Callable[[Tensor], Tensor]] | None:
    """Returns B and f on its eigenvalues, of f(B) whose products come from Lanczos steps or conjugate gradients; None
    for any other matrix."""
    match matrix.oracle:
        case Function(oracle, function):
            return matrix._replace(oracle=oracle), function
        case Inverse(oracle, _, _):
            return matrix._replace(oracle=oracle), reciprocal(-matrix.exponent)
        case _:
            return None
