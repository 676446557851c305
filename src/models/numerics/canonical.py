"""Canonical polyadic decomposition of a tensor of order three: the nearest sum of R outer products."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.ridge import solve_ridge

TOLERANCE = 1e-5  # of the relative error, from one sweep to the next
SWEEPS = 500


class Canonical(NamedTuple):
    """T ≈ Σ_r first_r ∘ second_r ∘ third_r, a column each: (a, R), (b, R), (c, R).

    error: ‖T − Σ‖/‖T‖ in the Frobenius norm; converged: False where the sweeps ended before the error stood still.
    """

    first: Tensor
    second: Tensor
    third: Tensor
    error: float
    converged: bool


def start(tensor: Tensor, rank: int, mode: int, generator: torch.Generator) -> Tensor:
    """The leading left singular vectors of the unfolding along `mode`, and Gaussian columns where there are no more."""
    unfolded = tensor.movedim(mode, 0).flatten(1)
    vectors = torch.linalg.eigh(unfolded @ unfolded.T).eigenvectors.flip(1)[:, :rank]
    size, missing = len(unfolded), rank - vectors.shape[1]
    drawn = torch.randn(size, max(0, missing), generator=generator, dtype=torch.float64).to(tensor.device)
    return torch.cat([vectors, drawn / size**0.5], 1)


def products_along(tensor: Tensor, factors: list[Tensor], mode: int) -> Tensor:
    """T₍mode₎ (left ⊙ right) with ⊙ columnwise and left, right the other two factors: (size, R)."""
    left, right = (factors[i] for i in range(3) if i != mode)
    halfway = torch.tensordot(tensor.movedim(mode, 0), right, 1)  # (size, left, R)
    return (halfway * left).sum(1)


def balanced(factors: list[Tensor]) -> list[Tensor]:
    """The three vectors of each term scaled to equal norms, their product as it was."""
    norms = [factor.norm(dim=0) for factor in factors]
    shared = (norms[0] * norms[1] * norms[2]) ** (1 / 3)
    tiny = torch.finfo(shared.dtype).tiny
    return [factor * (shared / norm.clamp(min=tiny)) for factor, norm in zip(factors, norms, strict=True)]


def canonical_decomposition(
    tensor: Tensor, rank: int, *, ridge: float, generator: torch.Generator, sweeps: int = SWEEPS
) -> Canonical:
    """Alternating least squares (Kolda and Bader 2009, section 3.4) in float64, started at singular vectors.

    A sweep solves for one factor after the other with the other two fixed. ridge > 0, relative to the mean of the
    diagonal of each system: it keeps terms that nearly cancel from growing without bound. Scales are shared evenly
    among the three vectors of a term.
    Raises ValueError for a rank below 1 and a tensor that is 0 or not finite.
    """
    tensor = tensor.double()
    norm = float(tensor.norm())
    if rank < 1:
        raise ValueError(f"the rank must be at least 1, got {rank}")
    if not 0 < norm < float("inf"):
        raise ValueError(f"a tensor of norm {norm} has no canonical decomposition")
    factors = [start(tensor, rank, mode, generator) for mode in range(3)]
    error, before = 1.0, float("inf")
    for _ in range(sweeps):
        for mode in range(3):
            left, right = (factors[i] for i in range(3) if i != mode)
            products = products_along(tensor, factors, mode)
            gram = (left.T @ left) * (right.T @ right)
            factors[mode] = solve_ridge(gram, products.T, ridge * float(gram.diagonal().mean())).T
        # <T, sum> and |sum|^2 come from the last mode's system
        inner = float((products * factors[2]).sum())
        square = float((gram * (factors[2].T @ factors[2])).sum())
        before, error = error, max(0.0, norm**2 - 2 * inner + square) ** 0.5 / norm
        factors = balanced(factors)
        if abs(before - error) < TOLERANCE:
            return Canonical(*factors, error, converged=True)
    return Canonical(*factors, error, converged=False)
