"""XTrace (Epperly, Tropp and Webber, 2024): each query is tested on what the products of all the others leave."""

from __future__ import annotations

import torch
from torch import Tensor

from models.trace.asked import Asked, Shares, inner, products_of, trace_of


def xtrace_moments(asked: Asked, most: Shares) -> dict[str, Tensor]:
    """Returns what the estimate needs: inside QᵀAQ, shares ΩᵀQ and factor R (trial, k, k); test, ωᵀAω, and length,
    ‖ω‖² (trial, k); and size, the scalar n, or 0 where the law of ω is not the same in every direction."""
    k = most.basis
    queries, basis = asked.queries[:, :k], asked.basis[:, :k]
    return {
        "inside": products_of(basis, asked.basis_products[:, :k]),
        "shares": products_of(queries, basis),
        "factor": asked.factor[:, :k, :k],
        "test": inner(queries, asked.products[:, :k]),
        "length": inner(queries, queries),
        "size": queries.new_tensor(queries.shape[2] if asked.turned else 0),
    }


def left_out_directions(factor: Tensor) -> Tensor:
    """Returns as row i the unit vector s_i with QQᵀ − Q s_i s_iᵀ Qᵀ the projection on all products but the i-th.

    factor: R (…, k, k), as the result is.
    These are the columns of R⁻ᵀ, normalised. A diagonal entry of R that is 0 but for rounding (A has a lower rank) is
    raised to ε of the largest: then any direction beyond the rank will do.
    """
    pivots = factor.diagonal(dim1=-2, dim2=-1)
    limits = torch.finfo(factor.dtype)
    floor = (limits.eps * pivots.abs().amax(-1, keepdim=True)).clamp(min=limits.tiny**0.5)
    raised = torch.where(pivots.abs() < floor, floor, pivots)
    inverse = torch.linalg.solve_triangular(
        factor + torch.diag_embed(raised - pivots), torch.eye(factor.shape[-1]).to(factor), upper=True
    )
    return inverse / inverse.norm(dim=-1, keepdim=True)


def xtrace_terms(moments: dict[str, Tensor], shares: Shares) -> Tensor:
    """Returns for each i tr(Q_iᵀAQ_i) + u_iᵀAu_i, u_i = (I − Q_iQ_iᵀ)ω_i: (trial, k).

    Q_i is the basis without product i.
    With v = (I − s sᵀ)Qᵀω: uᵀAu = ωᵀAω − 2vᵀQᵀAω + vᵀ(QᵀAQ)v. Where the law of ω is the same in every direction, that
    of u/‖u‖ is so too, and each u is scaled to the square length n − k + 1 that it has in the mean.
    """
    k = shares.basis
    inside, factor = moments["inside"][:, :k, :k], moments["factor"][:, :k, :k]
    out = left_out_directions(factor)
    w = moments["shares"][:, :k, :k]
    v = w - inner(w, out).unsqueeze(-1) * out
    square = moments["test"][:, :k] - 2 * inner(v, factor.mT) + inner(v @ inside, v)
    if moments["size"] > 0:
        length = (moments["length"][:, :k] - inner(v, v)).clamp(min=torch.finfo(v.dtype).tiny)
        square = square * (moments["size"] - k + 1) / length
    return trace_of(inside).unsqueeze(1) - inner(out @ inside, out) + square


def xtrace_estimate(moments: dict[str, Tensor], shares: Shares) -> Tensor:
    """Returns the mean of the terms, (trial,)."""
    return xtrace_terms(moments, shares).mean(1)


def refuse_odd(queries: int, called: str = "xtrace") -> None:
    """Raises ValueError for an odd number of queries, of which no half can be Ω. called: the method that asks them."""
    if queries % 2:
        raise ValueError(f"{called} asks for as many queries twice; {queries} is odd, give an even number")


def xtrace_shares(queries: int) -> Shares:
    """Returns half of the queries for Ω and half for Q. Raises ValueError for an odd number."""
    refuse_odd(queries)
    return Shares(sketch=queries // 2, basis=queries // 2)
