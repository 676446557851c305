"""Canonical polyadic decomposition of a tensor of order three: the nearest sum of J outer products."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.ridge import solve_ridge

RIDGE = 1e-9  # of each least-squares problem, relative to the mean of its diagonal
TOLERANCE = 1e-5  # of the relative error, from one sweep to the next
SWEEPS = 500

Factors = tuple[Tensor, Tensor, Tensor]


class Canonical(NamedTuple):
    """Holds T ≈ Σ_j a_j ∘ b_j ∘ c_j, j = 1 … J. factors: their vectors as columns, (a, J), (b, J), (c, J).

    error: ‖T − Σ‖/‖T‖ in the Frobenius norm; converged: False where the sweeps ended before the error stood still.
    """

    factors: Factors
    error: float
    converged: bool


def balanced(factors: Factors) -> Factors:
    """Returns the three vectors of each term, columns of (a, J), (b, J), (c, J), scaled to equal norms, their
    product as it was."""
    norms = torch.stack([factor.norm(dim=0) for factor in factors])
    scales = norms.prod(0) ** (1 / 3) / norms.clamp(min=torch.finfo(norms.dtype).tiny)
    first, second, third = (factor * scale for factor, scale in zip(factors, scales, strict=True))
    return first, second, third


def normal_equations(tensor: Tensor, second: Tensor, third: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the two sides of the equations X Gram = Products for the first factor X (a, J) with the others fixed:
    Gram (J, J) and Products (a, J).

    tensor (a, b, c), second (b, J), third (c, J).
    """
    return (second.T @ second) * (third.T @ third), ((tensor @ third) * second).sum(1)


def solved(gram: Tensor, products: Tensor) -> Tensor:
    """Returns X (a, J) with X Gram = Products, gram (J, J), products (a, J). Raises ValueError as `factor_ridge`."""
    return solve_ridge(gram, products.T, RIDGE * float(gram.diagonal().mean())).T


def sweep(tensor: Tensor, factors: Factors) -> tuple[Factors, float]:
    """Returns one factor after the other solved for with the other two fixed; and ‖Σ‖² − 2⟨T, Σ⟩ afterwards.

    tensor (a, b, c), factors (a, J), (b, J), (c, J).
    """
    _, second, third = factors
    first = solved(*normal_equations(tensor, second, third))
    second = solved(*normal_equations(tensor.transpose(0, 1), first, third))
    gram, products = normal_equations(tensor.movedim(2, 0), first, second)
    third = solved(gram, products)
    return (first, second, third), float((gram * (third.T @ third)).sum() - 2 * (products * third).sum())


def canonical_decomposition(
    tensor: Tensor, rank: int, *, generator: torch.Generator, sweeps: int = SWEEPS
) -> Canonical:
    """Returns the decomposition of a tensor (a, b, c) by alternating least squares (Kolda and Bader 2009, section 3.4)
    from a Gaussian start, in float64.

    The scale of a term is shared evenly among its three vectors. Where terms grow and cancel, the error may go on
    falling slowly for ever, and a random start may end in another minimum than the next one.
    Raises ValueError for a rank below 1 and for a tensor that is 0 or not finite.
    """
    tensor = tensor.double()
    norm = float(tensor.norm())
    if rank < 1:
        raise ValueError(f"the rank must be at least 1, got {rank}")
    if not 0 < norm < math.inf:
        raise ValueError(f"a tensor of norm {norm:g} has no decomposition")
    drawn = [torch.randn(size, rank, generator=generator, dtype=torch.float64) / size**0.5 for size in tensor.shape]
    factors: Factors = drawn[0].to(tensor.device), drawn[1].to(tensor.device), drawn[2].to(tensor.device)
    error = math.inf
    for _ in range(sweeps):
        swept, change = sweep(tensor, factors)
        factors, before, error = balanced(swept), error, max(0.0, 1 + change / norm**2) ** 0.5
        if abs(before - error) < TOLERANCE:
            return Canonical(factors, error, converged=True)
    return Canonical(factors, error, converged=False)
