"""What an estimate leaves beside the error of its queries: Lanczos steps not taken, and the rounding of the matrix."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from models.trace.lanczos import Function, function_of_values, lanczos, ritz
from models.trace.matrices import Matrix
from models.trace.queries import QueryDraw
from models.trace.rounding import deviation

SLOWEST = 0.95  # share of what a quarter of the steps moved that the next one moves, at most
LOOKED_AT = 4  # vectors
MOST_OF_IT = 0.5**0.5  # of a standard error, above which a part is larger than all others together


class Left(NamedTuple):
    """Holds how far more Lanczos steps would move an estimate, and what the rounding of the matrix may make of it."""

    steps: float = 0.0
    rounding: float = 0.0

    def beside(self, standard_error: float) -> float:
        """Returns the standard error of an estimate, given that of its queries."""
        return math.hypot(standard_error, *self)

    def outweighs(self, tolerance: float, estimate: float, standard_error: float) -> bool:
        """Returns whether this alone exceeds a tolerance, a share of an estimate which more queries may raise by two of
        their standard errors, and is most of the standard error, which includes both."""
        exceeded = self.beside(0.0) > tolerance * (abs(estimate) + 2 * self.taken_out(standard_error))
        return exceeded and self.lacking(standard_error) != "products"

    def lacking(self, standard_error: float) -> str:
        """Returns what lowers most of a standard error, which includes this: "products", "steps" or "precision"."""
        if self.beside(0.0) <= MOST_OF_IT * standard_error:
            return "products"
        return "steps" if self.steps >= self.rounding else "precision"

    def taken_out(self, standard_error: float) -> float:
        """Returns the standard error of the queries alone, given that of an estimate which includes this."""
        return max(0.0, standard_error**2 - math.hypot(*self) ** 2) ** 0.5


def to_come(after_half: float, after_three_quarters: float, after_all: float) -> float:
    """Returns how far more steps would move the estimate, at least as far as the last quarter of them did.

    Were each quarter to move it by an equal share of what the quarter before did, it would be a geometric series.
    """
    before, last = abs(after_three_quarters - after_half), abs(after_all - after_three_quarters)
    share = min(SLOWEST, last / before) if before else 0.0
    return last * max(1.0, share / (1 - share))


def looks(steps: int) -> tuple[int, int, int]:
    """Returns a half, three quarters and all of so many steps, by which `to_come` goes on."""
    return steps - 2 * (steps // 4), steps - steps // 4, steps


def left_by_steps(function: Function, matrix: Matrix) -> Left:
    """Returns about how far more steps would move tr(f(A)): the mean of gᵀf(A)g over a few vectors g of ±1 after a
    half, three quarters and all of the steps, continued. matrix: f(A). The rounding is that of the entries to the
    precision that the matrix is given in, see `models.trace.rounding`."""
    draw = QueryDraw(size=matrix.size, distribution="rademacher", dtype=matrix.dtype)
    start = draw.queries(LOOKED_AT, generator=torch.Generator(matrix.device).manual_seed(0))[0]
    tridiagonal = lanczos(function.oracle, start, function.steps)
    found = [ritz(tridiagonal, count) for count in looks(tridiagonal.diagonal.shape[1])]
    looked = [(values, tridiagonal.norm.square() * vectors[:, 0].square()) for values, vectors in found]
    means = [
        float((weights * function_of_values(function.function, values, matrix.rounding)).sum(1).mean())
        for values, weights in looked
    ]
    moved = matrix.rounding.of_sum(function.function, *looked[-1])
    return Left(to_come(*means), deviation(*moved.mean(0).tolist()))
