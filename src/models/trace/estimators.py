"""Stochastic estimates of tr(A) from products with a symmetric A: Hutchinson, Hutch++, NA-Hutch++ and XTrace.

Query vectors are rows here: Ω (…, m, n), and an oracle answers with ΩA. Of a budget of m queries

| method | asks of A | rounds | source |
|---|---|---|---|
| Hutchinson | G: m | 1 | Hutchinson (1989) |
| Hutch++ | S, then Q: ⌊m/3⌋ each, G: the rest | 2 | Meyer, Musco, Musco and Woodruff (2021), algorithm 1 |
| NA-Hutch++ | S: ⌊m/4⌋, R: ⌊m/2⌋, G: the rest | 1 | the same, algorithm 2, with c = 1/4, 1/2, 1/4 |
| XTrace | Ω, then Q: m/2 each | 2 | Epperly, Tropp and Webber (2024) |

A round is a call of the oracle, whose queries can all be answered at once; the second call waits for the first, since Q
is an orthonormal basis of what S (or Ω) brought. G is asked for in the first round: by linearity A(I − QQᵀ)g is found
from Ag and AQ.

A method reduces queries and products to small matrices (`moments`), from which the estimate of every budget is taken:
its queries are the first ones of the largest budget's, and its Q the first rows of the largest one's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.trace.asked import Asked, Shares, inner, products_of, trace_of
from models.trace.basis import orthonormal_rows
from models.trace.oracles import Checked, Oracle
from models.trace.queries import QueryDraw
from models.trace.xtrace import refuse_odd, xtrace_estimate, xtrace_moments, xtrace_shares


class TraceMethod(NamedTuple):
    """Says how one method splits its budget and what it makes of the answers, in so many rounds.

    shares: of a budget of queries. moments: small matrices (trial, …) of what was asked. estimate: (trial,) from those,
    at the shares of a budget.
    """

    rounds: int
    shares: Callable[[int], Shares]
    moments: Callable[[Asked, Shares], dict[str, Tensor]]
    estimate: Callable[[dict[str, Tensor], Shares], Tensor]


def hutchinson_moments(asked: Asked, most: Shares) -> dict[str, Tensor]:
    """Returns what the estimate needs: test, gᵀAg (trial, g)."""
    return {"test": inner(asked.queries[:, : most.test], asked.products[:, : most.test])}


def hutchinson_estimate(moments: dict[str, Tensor], shares: Shares) -> Tensor:
    """Returns 1/m Σ gᵀAg, (trial,)."""
    return moments["test"][:, : shares.test].mean(1)


def hutch_pp_moments(asked: Asked, most: Shares) -> dict[str, Tensor]:
    """Returns what the estimate needs: inside QᵀAQ (trial, k, k), shares GᵀQ and crossed GᵀAQ (trial, g, k), and
    test, gᵀAg (trial, g)."""
    basis, basis_products = asked.basis[:, : most.basis], asked.basis_products[:, : most.basis]
    test = slice(most.sketch, most.sketch + most.test)
    queries = asked.queries[:, test]
    return {
        "inside": products_of(basis, basis_products),
        "shares": products_of(queries, basis),
        "crossed": products_of(queries, basis_products),
        "test": inner(queries, asked.products[:, test]),
    }


def hutch_pp_estimate(moments: dict[str, Tensor], shares: Shares) -> Tensor:
    """Returns tr(QᵀAQ) + 1/g tr(Gᵀ(I − QQᵀ)A(I − QQᵀ)G), (trial,).

    The second is found with c = Qᵀg: gᵀAg − 2cᵀQᵀAg + cᵀ(QᵀAQ)c.
    """
    k, g = shares.basis, shares.test
    inside, c = moments["inside"][:, :k, :k], moments["shares"][:, :g, :k]
    outside = moments["test"][:, :g] - 2 * inner(c, moments["crossed"][:, :g, :k]) + inner(c @ inside, c)
    return trace_of(inside) + outside.mean(1)


def na_hutch_pp_moments(asked: Asked, most: Shares) -> dict[str, Tensor]:
    """Returns what the estimate needs: core SᵀZ and inside WᵀZ (trial, s, r), left GᵀZ (trial, g, r), right GᵀW
    (trial, g, s), and test, gᵀAg (trial, g)."""
    cuts = [most.sketch, most.second, most.test]
    s, _, g = asked.queries[:, : sum(cuts)].split(cuts, 1)
    w, z, ag = asked.products[:, : sum(cuts)].split(cuts, 1)
    return {
        "core": products_of(s, z),
        "inside": products_of(w, z),
        "left": products_of(g, z),
        "right": products_of(g, w),
        "test": inner(g, ag),
    }


def na_hutch_pp_estimate(moments: dict[str, Tensor], shares: Shares) -> Tensor:
    """Returns tr((SᵀZ)†(WᵀZ)) + 1/g (tr(GᵀAG) − tr(GᵀZ(SᵀZ)†WᵀG)) with Z = AR, W = AS: (trial,).

    The pseudo-inverse leaves out singular values below ε·max(r, s) of the largest: SᵀAR has the decay of A's spectrum.
    """
    s, r, g = shares.sketch, shares.second, shares.test
    inverse = torch.linalg.pinv(moments["core"][:, :s, :r])
    inside = inner(inverse.mT, moments["inside"][:, :s, :r]).sum(-1)
    low_rank = inner(moments["left"][:, :g, :r] @ inverse, moments["right"][:, :g, :s])
    return inside + (moments["test"][:, :g] - low_rank).mean(1)


def hutch_pp_shares(queries: int) -> Shares:
    """Returns a third of the queries for S and for Q, rounded down, and the rest for G."""
    third = queries // 3
    return Shares(sketch=third, basis=third, test=queries - 2 * third)


def na_hutch_pp_shares(queries: int) -> Shares:
    """Returns a quarter of the queries for S and half for R, rounded down, and the rest for G."""
    sketch, second = queries // 4, queries // 2
    return Shares(sketch=sketch, second=second, test=queries - sketch - second)


METHODS = {
    "hutchinson": TraceMethod(1, lambda queries: Shares(test=queries), hutchinson_moments, hutchinson_estimate),
    "hutch_pp": TraceMethod(2, hutch_pp_shares, hutch_pp_moments, hutch_pp_estimate),
    "na_hutch_pp": TraceMethod(1, na_hutch_pp_shares, na_hutch_pp_moments, na_hutch_pp_estimate),
    "xtrace": TraceMethod(2, xtrace_shares, xtrace_moments, xtrace_estimate),
}
LEAST = {"hutchinson": 1, "hutch_pp": 3, "na_hutch_pp": 4, "xtrace": 4}


def check_budget(name: str, queries: int, size: int, *, called: str | None = None) -> None:
    """Raises ValueError, which says what to do, for a method that is unknown and for a budget that it cannot split,
    or not over a matrix (n, n) of that size. called: the method whose budget is split as by `name`; None for itself."""
    if name not in METHODS:
        raise ValueError(f"method {name} is unknown; choose one of {', '.join(METHODS)}")
    called = called or name
    if queries < LEAST[name]:
        raise ValueError(f"{called} needs at least {LEAST[name]} queries, not {queries}")
    if name == "xtrace":
        refuse_odd(queries, called)
    shares = METHODS[name].shares(queries)
    sketch = max(shares.sketch, shares.second)
    if sketch >= size:
        raise ValueError(
            f"{called} with {queries} queries makes a sketch of {sketch} vectors of a matrix of size {size}; "
            f"ask for fewer, or for its {size} diagonal entries one by one"
        )


def largest(name: str, budgets: Sequence[int]) -> Shares:
    """Returns the shares that hold those of every budget. Raises ValueError as the method's `shares`."""
    return Shares(*(max(counts) for counts in zip(*(METHODS[name].shares(m) for m in budgets), strict=True)))


def ask(oracle: Oracle, queries: Tensor, *, basis: int, turned: bool) -> Asked:
    """Asks the oracle for the products of the queries (trial, m, n), and of a basis where one is asked for.

    The first round takes the queries; the second, where basis > 0, an orthonormal basis of the first `basis` products.
    turned: as in `Asked`. Raises OracleError for answers that are not finite, or of another shape.
    """
    checked = Checked(oracle)
    products = checked(queries)
    if not basis:
        none = queries[:, :0]
        return Asked(queries, products, none, none, none, turned)
    rows, factor = orthonormal_rows(products[:, :basis])
    return Asked(queries, products, rows, checked(rows), factor, turned)


def estimate_traces(
    oracle: Oracle,
    draw: QueryDraw,
    *,
    methods: Sequence[str],
    budgets: Sequence[int],
    generator: torch.Generator,
) -> dict[str, Tensor]:
    """Returns for each method its estimates (budget, trial) of tr(A), all from the same queries of a trial.

    oracle: of a symmetric A (n, n). budgets: numbers of queries. With one method and one budget exactly that number of
    queries is asked. Memory: about 2(m + k)·n numbers a trial, for the largest budget m and basis k.

    Raises ValueError as `check_budget`, OracleError as `ask`.
    """
    for name in methods:
        for queries in budgets:
            check_budget(name, queries, draw.size)
    most = {name: largest(name, budgets) for name in methods}
    drawn = draw.queries(max(shares.first_round for shares in most.values()), generator=generator)
    basis = max(shares.basis for shares in most.values())
    asked = ask(oracle, drawn, basis=basis, turned=draw.distribution == "gaussian")
    estimates = {}
    for name in methods:
        moments = METHODS[name].moments(asked, most[name])
        estimates[name] = torch.stack([METHODS[name].estimate(moments, METHODS[name].shares(m)) for m in budgets])
    return estimates


def independent_estimates(
    oracle: Oracle, *, method: str, queries: int, generator: torch.Generator, **drawn: Any
) -> Tensor:
    """Returns estimates (trial,) of tr(A) from `queries` products each. drawn: the fields of `QueryDraw`. Errors: as
    `estimate_traces`."""
    estimates = estimate_traces(oracle, QueryDraw(**drawn), methods=[method], budgets=[queries], generator=generator)
    return estimates[method][0]
