"""Standard errors of the estimates of a trace, from the queries that the estimates are made of.

With a normal query g the variance of gᵀBg is 2‖B‖_F², B symmetric, and the mean of ‖Bg‖² is ‖B‖_F². So the products say
what the error is, and with less noise than the spread of gᵀBg does: that of Hutchinson for B = A, and those of Hutch++
and NA-Hutch++, given their sketch, for what it leaves of A. XTrace's is the spread of its terms (Epperly, Tropp and
Webber, 2024, section 2.4), raised: the terms depend on each other, the more so the more of the n directions they take.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from scipy.special import stdtrit
from torch import Tensor

from models.trace.asked import Asked, Shares, products_of
from models.trace.xtrace import xtrace_terms

Moments = dict[str, Tensor]  # as `moments` of `models.trace.estimators.TraceMethod` returns them

DEPENDENT = 1.3  # times the spread of XTrace's terms over √k: the largest ratio that was found for k ≪ n
SURE, NORMAL = 0.975, 1.96  # quantile of the t-distribution, in place of the normal one's


class Terms(NamedTuple):
    """Holds what an exact estimate sums: the sum of the sizes of its terms, and what ε of each eigenvalue makes of it.
    Both are 0 for an estimate that is not exact."""

    size: float = 0.0
    rounding: float = 0.0


def share_of_estimate(standard_error: float, estimate: float) -> float:
    """Returns the standard error over |estimate|; 0 without an error, infinite for an estimate of 0 with one."""
    if standard_error == 0:
        return 0.0
    return standard_error / abs(estimate) if estimate else math.inf


def of_test_queries(products: Tensor) -> Tensor:
    """Returns √(2‖B‖_F²/g), (trial,), from the products Bg (trial, g, n) of normal queries."""
    return (2 * products.square().sum(2).mean(1) / products.shape[1]).sqrt()


def hutchinson_error(asked: Asked, _: Moments, shares: Shares) -> Tensor:
    """Returns the standard error with B = A, (trial,)."""
    return of_test_queries(asked.products[:, : shares.test])


def hutch_pp_error(asked: Asked, moments: Moments, shares: Shares) -> Tensor:
    """Returns the standard error with B = (I − QQᵀ)A(I − QQᵀ), (trial,)."""
    basis, basis_products = asked.basis[:, : shares.basis], asked.basis_products[:, : shares.basis]
    test = slice(shares.sketch, shares.sketch + shares.test)
    left = asked.products[:, test] - moments["shares"] @ basis_products
    return of_test_queries(left - products_of(left, basis) @ basis)


def na_hutch_pp_error(asked: Asked, moments: Moments, shares: Shares) -> Tensor:
    """Returns the standard error with B the symmetric part of A − Z(SᵀZ)†Wᵀ, (trial,)."""
    cuts = [shares.sketch, shares.second, shares.test]
    w, z, ag = asked.products[:, : sum(cuts)].split(cuts, 1)
    inverse = torch.linalg.pinv(moments["core"])
    one = moments["right"] @ inverse.mT @ z
    other = moments["left"] @ inverse @ w
    return of_test_queries(ag - (one + other) / 2)


def few(terms: int) -> float:
    """Returns t/1.96, t the 97.5 % quantile of the t-distribution of so many terms, less one degree of freedom."""
    return float(stdtrit(terms - 1, SURE)) / NORMAL


def of_dependent_terms(terms: Tensor, size: int) -> Tensor:
    """Returns the standard deviation of k terms (trial, k, …), over √k and raised: (trial, …).

    Term i is an estimate with a basis that leaves query i out. It is raised by max(1.3, n/(n − k)) for the dependence
    of the terms, n being `size`, and by `few` for their number. Then the truth is within two of it in 91 to 99 % of
    estimates, over spectra from exponential decay to flat ones.
    """
    k = terms.shape[1]
    return terms.std(1) / k**0.5 * max(DEPENDENT, size / (size - k)) * few(k)


def xtrace_error(asked: Asked, moments: Moments, shares: Shares) -> Tensor:
    """Returns the standard error of the mean of the k terms, (trial,)."""
    return of_dependent_terms(xtrace_terms(moments, shares), asked.queries.shape[2])


ERRORS: dict[str, Callable[[Asked, Moments, Shares], Tensor]] = {  # the moments are those of just these shares
    "hutchinson": hutchinson_error,
    "hutch_pp": hutch_pp_error,
    "na_hutch_pp": na_hutch_pp_error,
    "xtrace": xtrace_error,
}
