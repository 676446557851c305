"""The log-determinant of a person's own matrix by stochastic Lanczos quadrature (Ubaru, Chen and Saad, 2017).

log det A = tr(log A) is the mean of gᵀ log(A) g over vectors g of ±1, and k Lanczos steps from g give that number by
Gauss quadrature, n Σ τ_j log θ_j, with the Ritz values θ and the squared first entries τ of their vectors.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from models.trace.arguments import (
    EXACT,
    budgets,
    check_budget_arguments,
    check_whole,
    ends_exact,
    naming_the_seed,
    short_of_steps,
    until_sure,
)
from models.trace.lanczos import lanczos, ritz, rows_at_once
from models.trace.matrices import Matrix, matrix_of
from models.trace.one_number import OneNumber
from models.trace.oracles import Checked, refuse_asymmetric_products
from models.trace.pool import whole
from models.trace.queries import QueryDraw
from models.trace.refusals import refuse_negative, refuse_singular
from models.trace.rounding import deviation
from models.trace.standard_errors import Terms, few
from models.trace.unfinished import MOST_OF_IT, Left, looks, to_come

STEPS, VECTORS, MOST_VECTORS = 40, 30, 240  # by default; vectors without, and with a tolerance
DECIDED = "its log-determinant"
NO_NUMBER = f"; {DECIDED} is not a number (a ridge on its diagonal makes another matrix of it)"
LEAST_STEPS = 4
FEWEST, LOOKED_AT = 4, 2  # vectors: whose spread says something; of which the products say that A is symmetric
SINGULAR = 4  # times ε√n: of rows scaled to a diagonal of 1, the rounding of all entries moves no eigenvalue so far


@dataclass(frozen=True)
class LogdetEstimate(OneNumber):
    """Holds an estimate of log det A and its standard error; in about 95 % of estimates it is within two of these.

    products: how many with A were asked for, those of looks before an exact one too. method: "lanczos", or "exact" by
    Cholesky's factor; the standard error is then what the rounding of A makes of it. quadrature_error: how far more
    Lanczos steps would move the estimate, as the last ones moved it. rounding_error: what the rounding of A may make of
    one by Lanczos steps. The standard error includes both. terms: what an exact one sums.
    """

    estimate: float
    standard_error: float
    products: int
    method: str
    quadrature_error: float = 0.0
    rounding_error: float = 0.0
    terms: Terms = field(default=Terms(), repr=False)

    @property
    def left(self) -> Left:
        """Returns what more vectors do not lower."""
        return Left(self.quadrature_error, self.rounding_error)

    def __str__(self) -> str:
        return f"{self.estimate:,.6g} ± {self.standard_error:.2g} ({self.method}, {self.products} products)"


@naming_the_seed
def estimate_logdet(
    matrix: Any,
    *,
    products: int | None = None,
    tolerance: float | None = None,
    steps: int = STEPS,
    seed: int = 0,
) -> LogdetEstimate:
    """Estimates log det A of a symmetric positive definite matrix by stochastic Lanczos quadrature.

    matrix, seed: as in `models.trace.estimate.estimate_trace`. steps: of the Lanczos process for a vector, at least 4;
    the worse A is conditioned, the more are needed. products: with A, at most: `steps` for a vector, four vectors at
    least, and two to see that A is symmetric; by default those of 30 vectors, or of 240 with a tolerance. tolerance:
    stop where the standard error is at most so much of |estimate|, of an exact one of the sum of |terms|; looked at
    after all of the vectors, a half of them, a quarter and so on, 7 at least. A matrix with no more rows than there are
    products is multiplied by every basis vector, with a tolerance unless a look that leaves as many products as rows
    reaches it. Its log-determinant is that of Cholesky's factor, in double precision whatever that of A is.

    The standard error is that of the mean over the vectors, and includes how far more steps would move it, by
    extrapolation, and what the rounding of A, in the precision that it is given in, makes of it. Where the steps leave
    the larger part it may be too little, and a warning asks for more of them.

    Raises OracleError for a matrix that is not positive definite, where a Ritz value shows it: an eigenvalue below 0
    that no vector finds in so many steps goes unseen. So is one where A is singular to rounding.
    Other errors and warnings: as `estimate_trace`.
    """
    own = matrix_of(matrix)
    check_whole("steps", steps, LEAST_STEPS)
    default = steps * (VECTORS if tolerance is None else MOST_VECTORS) + LOOKED_AT
    most = check_budget_arguments(default if products is None else products, tolerance, seed)
    if own.size > most:
        refuse_few(most, steps)
    estimates = logdets_by_budget(own, most, tolerance, steps, seed)
    advice = more_steps(steps, products, own.size)
    estimate = until_sure(estimates, tolerance, own.rounded_to, advice)[-1]
    if not short_of_steps(estimate, tolerance):
        warn_of_steps(estimate, steps, advice)
    return estimate


def more_steps(steps: int, products: int | None, size: int) -> str:
    """Returns what to ask for where so many steps leave too much: twice as many, with the products that they need, or
    all rows of A where these are no more."""
    needed = 2 * FEWEST * steps + LOOKED_AT
    if needed >= size:
        return f"with products={size} it is exact"
    return f"raise steps, as steps={2 * steps}{f', products={needed}' if products and products < needed else ''} does"


def refuse_few(products: int, steps: int) -> None:
    """Raises ValueError for fewer products than `FEWEST` vectors need, with as many steps as they allow, if any."""
    needed, fewer = FEWEST * steps + LOOKED_AT, (products - LOOKED_AT) // FEWEST
    if products < needed:
        way = f", or steps={fewer}, which resolve less" if fewer >= LEAST_STEPS else ""
        raise ValueError(
            f"products={products} are fewer than {FEWEST} vectors of {steps} Lanczos steps need; give {needed} or "
            f"more{way}"
        )


def warn_of_steps(estimate: LogdetEstimate, steps: int, advice: str) -> None:
    """Warns where the larger part of the standard error is that of the Lanczos steps, with what to do."""
    if estimate.quadrature_error > MOST_OF_IT * estimate.standard_error:
        warnings.warn(
            f"{steps} Lanczos steps leave an error of about {estimate.quadrature_error:.2g}, more than the vectors do; "
            f"{advice}",
            stacklevel=4,
        )


def logdets_by_budget(
    matrix: Matrix, most: int, tolerance: float | None, steps: int, seed: int
) -> Iterator[LogdetEstimate]:
    """Yields the estimate after each number of vectors, see `budgets`, with at most so many products, until no more
    vectors reach the tolerance; then exact, where the products allow it."""
    generator = torch.Generator(matrix.device).manual_seed(int(seed))
    draw = QueryDraw(size=matrix.size, distribution="rademacher", dtype=matrix.dtype)
    terms, spent = list[Tensor](), 0
    for count in budgets(max(FEWEST, (most - LOOKED_AT) // steps), tolerance, first=7):
        if ends_exact(matrix.size, spent, count * steps + LOOKED_AT, most):
            yield exact_logdet(matrix, spent)
            return
        more = count - sum(len(part) for part in terms)
        start = draw.queries(more, generator=generator)[0]
        if not terms:
            looked_at = Checked(matrix.oracle)(start[:LOOKED_AT])
            refuse_asymmetric_products(start[:LOOKED_AT], looked_at, matrix.exponent)
        terms.append(quadratures(matrix, start, steps))
        found = of_terms(torch.cat(terms), steps)
        found, spent = replace(found, estimate=found.estimate + log_of_scale(matrix)), found.products
        yield found
        if tolerance is not None and found.left.outweighs(tolerance, found.estimate, found.standard_error):
            if spent + matrix.size <= most:
                yield exact_logdet(matrix, spent)
            return


def of_terms(terms: Tensor, steps: int) -> LogdetEstimate:
    """Returns the estimate of terms (vector, 5), as `quadratures` has them."""
    *means, variance, alike = terms.mean(0).tolist()
    of_vectors = float(terms[:, 2].std()) / len(terms) ** 0.5 * few(len(terms))
    left = Left(to_come(*means), deviation(variance, alike))
    return LogdetEstimate(means[2], left.beside(of_vectors), len(terms) * steps + LOOKED_AT, "lanczos", *left)


def quadratures(matrix: Matrix, start: Tensor, steps: int) -> Tensor:
    """Returns gᵀ log(A) g of each row g of start (row, n), after half, three quarters and all of the steps, and what
    the rounding of A may make of the last, (row, 5); see `models.trace.rounding.Rounding.of_sum`."""
    oracle, terms = Checked(matrix.oracle), []
    for part in start.split(rows_at_once(steps, start)):
        tridiagonal = lanczos(oracle, part, steps)
        looked = [(values, vectors[:, 0].square()) for values, vectors in (ritz(tridiagonal, n) for n in looks(steps))]
        for values, _ in looked:
            check_positive(values, matrix)
        sums = [(weights * values.log()).sum(1) for values, weights in looked]
        moved = matrix.rounding.of_sum(torch.log, *looked[-1])
        terms.append(tridiagonal.norm.square() * torch.cat([torch.stack(sums, 1), moved], 1))
    return torch.cat(terms).double().cpu()


def check_positive(values: Tensor, matrix: Matrix) -> None:
    """Raises OracleError where a Ritz value (row, step) is not above 0 to the rounding of the matrix."""
    rounding, least = matrix.rounding.radius(values), float(values.min())
    if bool((values < -rounding).any()):
        refuse_negative(least, matrix.exponent, NO_NUMBER)
    if bool((values <= rounding).any()):
        refuse_singular(matrix.rounded_to, DECIDED)


def exact_logdet(matrix: Matrix, spent: int = 0) -> LogdetEstimate:
    """Returns log det A = Σ log d_i + 2 Σ log L_ii in float64, d the diagonal of A and L the Cholesky factor of
    D^−½ A D^−½. spent: products that were asked before.

    So the unit of a row makes nothing singular. The standard error is the sum of ε/λ over the eigenvalues λ of that
    matrix, ‖L⁻¹‖_F² ε, ε of the precision that A is given in, to which comes √n ε of the computation. Raises
    OracleError where d or the least λ is not above 0 to rounding.
    """
    dense = whole(matrix).double()
    diagonal, epsilon = dense.diagonal(), torch.finfo(matrix.rounded_to).eps
    if bool((diagonal <= 0).any()):
        refuse_negative(float(torch.linalg.eigvalsh(dense)[0]), matrix.exponent, NO_NUMBER)
    alike = dense * diagonal.rsqrt() * diagonal.rsqrt().unsqueeze(1)
    unit, least = torch.eye(matrix.size).to(alike), SINGULAR * matrix.size**0.5 * epsilon
    factor = positive_factor(alike, least, unit)
    if factor is None:
        if float(torch.linalg.eigvalsh(alike)[0]) < -least:
            refuse_negative(float(torch.linalg.eigvalsh(dense)[0]), matrix.exponent, NO_NUMBER)
        refuse_singular(matrix.rounded_to, DECIDED)
    logs = torch.stack([diagonal.log(), 2 * factor.diagonal().log()])
    inverse = torch.linalg.solve_triangular(factor, unit, upper=False)
    rounding = epsilon + matrix.size**0.5 * torch.finfo(torch.float64).eps
    error, terms = rounding * float(inverse.square().sum()), Terms(float(logs.abs().sum()), matrix.size * rounding)
    return LogdetEstimate(float(logs.sum()) + log_of_scale(matrix), error, spent + matrix.size, EXACT, terms=terms)


def positive_factor(matrix: Tensor, least: float, unit: Tensor) -> Tensor | None:
    """Returns the Cholesky factor (n, n) of a matrix (n, n), None unless all of its eigenvalues are above `least`;
    unit: the identity (n, n)."""
    _, failed = torch.linalg.cholesky_ex(matrix - least * unit)
    if bool(failed):
        return None
    factor, failed = torch.linalg.cholesky_ex(matrix)
    return None if bool(failed) else factor


def log_of_scale(matrix: Matrix) -> float:
    """Returns n·log 2^exponent, by which log det A is above that of the matrix whose products are asked."""
    return matrix.size * matrix.exponent * math.log(2)
