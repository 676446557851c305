"""The diagonal of a person's own matrix from products with random vectors, with a standard error for each entry.

Queries have entries of ±1, so that entry i of g ⊙ Ag is a_ii and the products of g_i with the others' entries of row i.

| method | estimate of the diagonal | source |
|---|---|---|
| Bekas | mean of g ⊙ Ag; variance of an entry (‖A_i‖² − a_ii²)/m | Bekas, Kokiopoulou and Saad (2007) |
| XDiag | mean over i of diag(Q_iQ_iᵀA) + ω_i ⊙ (I − Q_iQ_iᵀ)Aω_i | Epperly, Tropp and Webber (2024), section 3 |

Q_i is a basis of the products of all queries but the i-th, as in XTrace; XDiag asks half of its products for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from models.trace.arguments import (
    AUTO,
    EXACT,
    budgets,
    check_budget_arguments,
    check_choice,
    naming_the_seed,
    until_sure,
)
from models.trace.asked import inner
from models.trace.estimators import check_budget
from models.trace.matrices import matrix_of
from models.trace.pool import Pool, refuse_overflow, tail, whole
from models.trace.standard_errors import few, of_dependent_terms, share_of_estimate
from models.trace.xtrace import left_out_directions

METHODS = {"bekas": "hutchinson", "xdiag": "xtrace"}  # each with the method of traces that splits a budget alike
GAIN = 0.5  # of what is beside the diagonal, in ‖·‖_F²; see `models.trace.estimate`


@dataclass(frozen=True)
class DiagonalEstimate:
    """Holds estimates (n,) of the diagonal entries and their standard errors (n,), as arrays in double precision.

    About 95 % of the entries are within two of their standard errors. products: how many were asked for. method: that
    was used; "exact" asks for all basis vectors. tail: the share of ‖A‖_F² outside of what the first half of the
    products spans, by which method="auto" chose; None where it had no choice.
    """

    estimate: np.ndarray
    standard_error: np.ndarray
    products: int
    method: str
    tail: float | None = None

    @property
    def relative_error(self) -> float:
        """Returns the norm of the standard errors over that of the estimates; 0 for a matrix of zeros, and infinite for
        estimates that are all 0 with an error."""
        return share_of_estimate(*(float(np.linalg.norm(own)) for own in (self.standard_error, self.estimate)))

    @property
    def lacking(self) -> str:
        """Returns "products": no Lanczos steps are taken, and entries are taken as they are given."""
        return "products"

    def is_within(self, tolerance: float) -> bool:
        """Returns whether the relative error is at most so much."""
        return self.relative_error <= tolerance


@naming_the_seed
def estimate_diagonal(
    matrix: Any,
    *,
    method: str = AUTO,
    products: int | None = None,
    tolerance: float | None = None,
    seed: int = 0,
) -> DiagonalEstimate:
    """Estimates the diagonal of a symmetric matrix from its products with random vectors of ±1.

    matrix, products, seed: as in `models.trace.estimate.estimate_trace`. method: "bekas", "xdiag" (see this module), or
    "auto": half of the products are asked with random queries. Where less than half of what is beside the diagonal lies
    outside of what these span, the rest goes to XDiag; else all of them are queries of Bekas. A matrix with no more
    rows than there are products is multiplied by every basis vector, with a tolerance unless a look that leaves as many
    products as rows reaches it. tolerance: stop where the norm of the standard errors is at most so much of that of the
    estimates, looked at as by `estimate_trace`; once XDiag was chosen, later looks keep it.

    Two standard errors hold about 95 % of the entries; fewer where a row has one large entry beside the diagonal.

    Errors and warnings: as `estimate_trace`.
    """
    own = matrix_of(matrix)
    check_choice("method", method, (AUTO, *METHODS))
    most = check_budget_arguments(products, tolerance, seed)
    if method != AUTO:
        check_budget(METHODS[method], most, own.size, called=method)
    pool = Pool(own, seed=seed, distribution="rademacher")
    return until_sure(diagonals_by_budget(pool, method, most, tolerance), tolerance, own.rounded_to)[-1]


def diagonals_by_budget(pool: Pool, method: str, most: int, tolerance: float | None) -> Iterator[DiagonalEstimate]:
    """Yields the estimate at each budget up to `most`; see `models.trace.arguments.budgets`."""
    for budget in budgets(most, tolerance):
        if method == AUTO and pool.ends_exact(budget, most):
            exact = np.ldexp(array(whole(pool.matrix).diagonal()), pool.matrix.exponent)
            yield DiagonalEstimate(exact, np.zeros_like(exact), pool.spent + len(exact), EXACT)
            return
        yield of_budget(pool, method, budget)


def array(values: Tensor) -> np.ndarray:
    """Returns a tensor as an array in double precision."""
    return values.double().cpu().numpy()


def choose(pool: Pool, half: int) -> tuple[str, float]:
    """Returns the method that the first half of a budget speaks for, and the tail that it measured.

    What is beside the diagonal has ‖A‖_F² − Σ a_ii²; of it the mean of (Ag)_i² less the squared mean of g_i(Ag)_i, at
    h queries, is the part 1 − 1/h. A basis that an earlier budget widened for XDiag is kept in use.
    """
    pool.ask(half)
    left, terms = tail(pool, half), bekas_terms(pool, half)
    square = float(terms.square().mean(1).sum())
    beside = float(terms.var(1).sum())
    return "xdiag" if pool.basis.shape[1] or left * square < GAIN * beside else "bekas", left


def bekas_terms(pool: Pool, count: int) -> Tensor:
    """Returns g ⊙ Ag of the first `count` queries, (1, count, n)."""
    return pool.queries[:, :count] * pool.products[:, :count]


def xdiag_terms(pool: Pool, k: int) -> Tensor:
    """Returns diag(Q_iQ_iᵀA) + ω_i ⊙ (I − Q_iQ_iᵀ)Aω_i of the first k queries, (1, k, n).

    With Q_iQ_iᵀ = QQᵀ − Qᵀs_i s_iᵀQ and Aω_i = Qᵀr_i, r_i column i of R, the second is ω_i ⊙ (Qᵀs_i)(s_iᵀr_i).
    """
    asked = pool.asked
    basis, basis_products, factor = asked.basis[:, :k], asked.basis_products[:, :k], asked.factor[:, :k, :k]
    out = left_out_directions(factor)
    left, left_products = out @ basis, out @ basis_products
    whole_basis = (basis * basis_products).sum(1, keepdim=True)
    rest = asked.queries[:, :k] * left * inner(out, factor.mT).unsqueeze(-1)
    return whole_basis - left * left_products + rest


def of_budget(pool: Pool, method: str, budget: int) -> DiagonalEstimate:
    """Returns the estimate of a budget of products; what the pool has of them is not asked again."""
    name, left = choose(pool, budget // 2) if method == AUTO else (method, None)
    if name == "bekas":
        pool.ask(budget)
        terms = bekas_terms(pool, budget)
        deviation = terms.std(1) / budget**0.5 * few(budget)
    else:
        pool.ask(budget // 2)
        pool.widen(budget // 2)
        terms = xdiag_terms(pool, budget // 2)
        deviation = of_dependent_terms(terms, pool.matrix.size)
    refuse_overflow(float(deviation.sum()))
    mean, error = (np.ldexp(array(part[0]), pool.matrix.exponent) for part in (terms.mean(1), deviation))
    return DiagonalEstimate(mean, error, pool.spent, name, left)
