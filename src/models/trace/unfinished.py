"""How far more Lanczos steps would move an estimate, by what the last of them moved it."""

from __future__ import annotations

import torch

from models.trace.lanczos import Function, function_of_values, lanczos, ritz
from models.trace.matrices import Matrix
from models.trace.queries import QueryDraw

SLOWEST = 0.95  # share of what a quarter of the steps moved that the next one moves, at most
LOOKED_AT = 4  # vectors


def to_come(after_half: float, after_three_quarters: float, after_all: float) -> float:
    """Returns how far more steps would move the estimate, at least as far as the last quarter of them did.

    Were each quarter to move it by an equal share of what the quarter before did, it would be a geometric series.
    """
    before, last = abs(after_three_quarters - after_half), abs(after_all - after_three_quarters)
    share = min(SLOWEST, last / before) if before else 0.0
    return last * max(1.0, share / (1 - share))


def left_by_steps(function: Function, matrix: Matrix) -> float:
    """Returns about how far more steps would move tr(f(A)): the mean of gᵀf(A)g over a few vectors g of ±1 after a
    half, three quarters and all of the steps, continued. matrix: f(A)."""
    draw = QueryDraw(size=matrix.size, distribution="rademacher", dtype=matrix.dtype)
    start = draw.queries(LOOKED_AT, generator=torch.Generator(matrix.device).manual_seed(0))[0]
    tridiagonal = lanczos(function.oracle, start, function.steps)
    steps = tridiagonal.diagonal.shape[1]
    means = []
    for count in (steps - 2 * (steps // 4), steps - steps // 4, steps):
        values, vectors = ritz(tridiagonal, count)
        terms = (vectors[:, 0].square() * function_of_values(function.function, values)).sum(1)
        means.append(float((tridiagonal.norm[:, 0].square() * terms).mean()))
    return to_come(*means)
