"""The trace of a person's own matrix, with a standard error, by a method that is chosen by what is measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from models.runtime.parameters import shown
from models.trace.arguments import (
    AUTO,
    EXACT,
    budgets,
    check_budget_arguments,
    check_choice,
    check_whole,
    naming_the_seed,
    short_of_steps,
    until_sure,
)
from models.trace.cost import warn_of_cost, with_cost
from models.trace.estimators import METHODS, check_budget
from models.trace.exact import FEW_ROWS, exact_sums, whole_trace
from models.trace.functions import NamedFunction, function_of
from models.trace.lanczos import Function
from models.trace.matrices import Matrix, matrix_of
from models.trace.one_number import OneNumber
from models.trace.parallel import OverRanks
from models.trace.pool import Pool, flatness, refuse_overflow, tail
from models.trace.scale import put_back
from models.trace.solves import Inverse
from models.trace.standard_errors import ERRORS, Terms
from models.trace.unfinished import MOST_OF_IT, Left, left_by_steps

GAIN = 0.5  # of ‖A‖_F², below which what XTrace leaves of it makes up for the half of the products that find it


@dataclass(frozen=True)
class TraceEstimate(OneNumber):
    """Holds an estimate of tr(f(A)) and its standard error: in about 95 % of estimates of 16 products and more tr(f(A))
    is within two of these, of fewer products in 89 % and more of the cases tried.

    products: how many with f(A) were asked for, without those of the four vectors that show what Lanczos steps leave, a
    product with A for each step. method: that was used; "exact" asks for all basis vectors, and its
    error is about what the rounding of A makes of functions found by eigenvalues, 0 for the others. flatness:
    tr²/(n‖f(A)‖_F²) as the queries measured it, from 1/n (one eigenvalue is all) to 1 (all are equal); for
    the logarithm that of log(A/a), a the largest entry of A. tail: the share of ‖f(A)‖_F² outside of what the first
    half of the products spans, by which method="auto" chose; None where it had no choice. left: what Lanczos steps that
    were not taken leave, and the rounding of A; the standard error includes both. terms: of an exact one.
    """

    estimate: float
    standard_error: float
    products: int
    method: str
    flatness: float
    tail: float | None = None
    left: Left = field(default=Left(), repr=False)
    terms: Terms = field(default=Terms(), repr=False)

    def __str__(self) -> str:
        return (
            f"{self.estimate:,.6g} ± {self.standard_error:.2g} ({self.method}, {self.products} products, "
            f"flatness {self.flatness:.2g})"
        )


@naming_the_seed
def estimate_trace(
    matrix: Any,
    *,
    function: NamedFunction | tuple[NamedFunction, int] = "identity",
    method: str = AUTO,
    products: int | None = None,
    tolerance: float | None = None,
    seed: int = 0,
) -> TraceEstimate:
    """Estimates tr(A), or tr(f(A)), of a symmetric matrix from its products with random vectors.

    matrix: an array, a sparse matrix of scipy, a tensor (dense or sparse), or a `scipy.sparse.linalg.LinearOperator`.
    function: f, see `models.trace.functions.function_of`; "identity", "cube", "exp", "inverse", "log", or a callable on
    eigenvalues. products: with f(A), at most (100, or 1000 with a tolerance). tolerance: stop where the standard error
    is at most so much of |estimate|, of an exact one of Σ|f(λ)|; looked at after `products`, a half of them, a quarter
    and so on, 31 at least (31, 62, 125, 250, 500, 1000). seed: of the query vectors, normal ones.

    method: "hutchinson", "hutch_pp", "na_hutch_pp", "xtrace" (see `models.trace.estimators`), or "auto". That one asks
    half of the products with random queries and measures how much of ‖A‖_F² these leave, and how flat the spectrum is.
    Where the tail times (1 − flatness) is under a half, the rest goes to XTrace; else all are queries of Hutchinson.
    With a tolerance it chooses anew at each look, until it has taken XTrace. A
    matrix with no more rows than there are products is multiplied by every basis vector: the trace is exact (with a
    tolerance, unless a look that leaves as many products as rows reaches it), of functions that need Lanczos steps or
    conjugate gradients by all eigenvalues of A, with a standard error that says what rounding may make of them: it is
    large for the inverse or the logarithm of an ill-conditioned matrix.

    Two standard errors hold the trace in about 95 % of estimates with Hutchinson, Hutch++ and NA-Hutch++, and in 91 to
    99 % with XTrace, from 16 products on (in 89 % with 4 products, where one eigenvalue is all); with a tolerance,
    which stops early where the error looks small, in 89 % of the worst case tried. f(A) of "exp", "log" and a callable
    is found by 40 Lanczos steps; function=("log", 100) takes 100. The standard error includes how far more steps would
    move the estimate, as the last ones moved that of four vectors, and what the rounding of A may make of f(A); a
    warning asks for more steps where the first is large.
    "inverse" takes up to 1000 steps of conjugate gradients, ("inverse", 5000) up to 5000, and is refused where they do
    not suffice. Memory: two numbers for each product and row.

    The scale of A is taken out before: an estimate of c·A is that of A times c, c³ and 1/c for the identity, the cube
    and the inverse, plus n·log c for the logarithm. A LinearOperator is asked for two more products, which show its
    scale, and whether it is symmetric.

    Raises ValueError (OracleError is one) and TypeError in one line for a matrix that is not square, real, finite or
    symmetric, and for settings that make no sense. Warns where the tolerance is not reached, and where all eigenvalues
    of a dense matrix would have taken less time than its products.
    """
    if isinstance(function, tuple) and len(function) != 2:
        raise ValueError(f"function must be a name or a function, or one of them with its steps, got {shown(function)}")
    name, steps = function if isinstance(function, tuple) else (function, None)
    if steps is not None:
        check_whole("steps", steps, 4)
    given = with_cost(matrix_of(matrix))
    own = with_advice(function_of(given, name, steps))
    setting = steps_setting(own, name)
    asked: dict[str, Any] = {"method": method, "products": products, "tolerance": tolerance, "seed": seed}
    estimate = trace_estimates(own, **asked, more_steps=f"raise {setting}")[-1]
    if not short_of_steps(estimate, tolerance):
        warn_of_steps(own, estimate, setting)
    if estimate.method != EXACT:
        warn_of_cost(given)
    return estimate


def steps_setting(matrix: Matrix, name: NamedFunction) -> str:
    """Returns by which argument twice the Lanczos steps of f(A) are given; name: of f, or f itself."""
    lanczos = lanczos_of(matrix)
    said = f'"{name}"' if isinstance(name, str) else "f"
    return f"steps, as function=({said}, {2 * lanczos.steps if lanczos else 'N'}) does"


def with_advice(matrix: Matrix) -> Matrix:
    """Returns the matrix, whose oracle, if it is an inverse, says by which arguments more steps are allowed."""
    solve = matrix.oracle
    if not isinstance(solve, Inverse):
        return matrix
    exact = f"take all eigenvalues by products={matrix.size} (without a method), which is exact, "
    way = exact if matrix.size <= FEW_ROWS else ""
    advice = f'{way}allow more steps, as function=("inverse", {5 * solve.most}) does, or add a ridge to its diagonal'
    return matrix._replace(oracle=replace(solve, advice=advice))


def lanczos_of(matrix: Matrix) -> Function | None:
    """Returns the oracle of f(A) by Lanczos steps; None where its products come in another way."""
    function = matrix.oracle.oracle if isinstance(matrix.oracle, OverRanks) else matrix.oracle
    return function if isinstance(function, Function) else None


def error_of_steps(matrix: Matrix) -> Left:
    """Returns about how far more Lanczos steps would move tr(f(A)), and the rounding of A; 0 where there are none."""
    function = lanczos_of(matrix)
    return Left() if function is None else left_by_steps(function, matrix)


def including(estimate: TraceEstimate, left: Left) -> TraceEstimate:
    """Returns an estimate whose standard error includes what the Lanczos steps and the rounding leave, as that of a
    log-determinant."""
    return replace(estimate, standard_error=left.beside(estimate.standard_error), left=left) if any(left) else estimate


def warn_of_steps(matrix: Matrix, estimate: TraceEstimate, setting: str) -> None:
    """Warns where the Lanczos steps of f(A) leave an error of about the size of that of the queries, or a larger one.

    estimate: with a standard error that includes what they leave.
    """
    function, left = lanczos_of(matrix), estimate.left.steps
    if function is None or estimate.method == EXACT:
        return
    queries = estimate.left.taken_out(estimate.standard_error)
    noise = torch.finfo(matrix.dtype).eps ** 0.7 * max(matrix.size, abs(estimate.estimate))
    if left > max(MOST_OF_IT * queries, noise):
        warnings.warn(
            f"{function.steps} Lanczos steps leave an error of about {left:.2g} in the estimate, and the "
            f"queries one of {queries:.2g}; the standard error holds both: raise {setting}",
            stacklevel=4,
        )


def trace_estimates(
    matrix: Matrix,
    *,
    method: str,
    products: int | None,
    tolerance: float | None,
    seed: int,
    more_steps: str = "give more steps",
) -> list[TraceEstimate]:
    """Returns the estimate at each look, the last one last. more_steps: how they are given. Other arguments, errors and
    warnings: as `estimate_trace`, to whose caller a warning points."""
    check_choice("method", method, (AUTO, *METHODS))
    most = check_budget_arguments(products, tolerance, seed)
    if method != AUTO:
        check_budget(method, most, matrix.size)
    found = traces_by_budget(Pool(matrix, seed=seed), method, most, tolerance)
    return until_sure(found, tolerance, matrix.rounded_to, more_steps, stacklevel=5)


def traces_by_budget(pool: Pool, method: str, most: int, tolerance: float | None) -> Iterator[TraceEstimate]:
    """Yields the estimate at each budget up to `most`, see `budgets`, until what more products do not lower exceeds the
    tolerance and is most of the error; then exact, where they allow it."""
    left: Left | None = None
    for budget in budgets(most, tolerance):
        if method == AUTO and pool.ends_exact(budget, most):
            yield exact_trace(pool)
            return
        estimate = of_budget(pool, method, budget, widened=pool.basis.shape[1] > 0)
        left = error_of_steps(pool.matrix) if left is None else left
        found = including(estimate, left)
        yield found
        if tolerance is not None and left.outweighs(tolerance, found.estimate, found.standard_error):
            if method == AUTO and pool.spent + pool.matrix.size <= most:
                yield exact_trace(pool)
            return


def exact_trace(pool: Pool) -> TraceEstimate:
    """Returns the trace by a product with every basis vector."""
    size, (trace, square, error, terms) = pool.matrix.size, exact_sums(pool.matrix)
    refuse_overflow(square, trace)
    flat = 1.0 if square == 0 else trace**2 / (size * square)
    stated, *summed = (put_back(value, pool.matrix.exponent) for value in (error, *terms))
    return TraceEstimate(whole_trace(pool.matrix, trace), stated, pool.spent + size, EXACT, flat, terms=Terms(*summed))


def choose(pool: Pool, budget: int, *, widened: bool) -> tuple[str, float]:
    """Returns the method that half of a budget speaks for, XTrace where a basis was `widened` for it before, and the
    tail that it measured."""
    pool.ask(budget // 2)
    left = tail(pool, budget // 2)
    return "xtrace" if widened or left * (1 - flatness(pool, budget // 2)) < GAIN else "hutchinson", left


def of_budget(pool: Pool, method: str, budget: int, *, widened: bool = False) -> TraceEstimate:
    """Returns the estimate of a budget of products; what the pool has of them is not asked again. widened: whether a
    smaller budget went to XTrace, whose basis a method that is chosen does not leave unused."""
    name, left = choose(pool, budget, widened=widened) if method == AUTO else (method, None)
    shares = METHODS[name].shares(budget - budget % 2 if name == "xtrace" else budget)
    pool.ask(shares.first_round)
    pool.widen(shares.basis)
    moments = METHODS[name].moments(pool.asked, shares)
    estimate = METHODS[name].estimate(moments, shares)
    deviation = ERRORS[name](pool.asked, moments, shares).square() + rounding(pool) ** 2
    error = put_back(float(deviation.sqrt()), pool.matrix.exponent)
    return TraceEstimate(whole_trace(pool.matrix, float(estimate)), error, pool.spent, name, flatness(pool), left)


def rounding(pool: Pool) -> float:
    """Returns ε√n‖A‖_F, at least what rounding alone makes of a trace."""
    square, _ = pool.mean_forms()
    return torch.finfo(pool.matrix.dtype).eps * pool.matrix.size**0.5 * math.sqrt(square)
