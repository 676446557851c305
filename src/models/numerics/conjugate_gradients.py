"""Systems with a symmetric positive definite matrix that is known by its products alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Product = Callable[[Tensor], Tensor]  # (N, k) → (N, k), linear


class IndefiniteDirection(ValueError):
    """Says that a direction p was met with pᵀAp ≤ 0."""

    def __init__(self) -> None:
        super().__init__("conjugate gradients: the matrix is not positive definite")


class NotConverged(ValueError):
    """Says that so many products were not enough. residual: the largest relative one that is left; tolerance: what
    was asked."""

    def __init__(self, products: int, residual: float, tolerance: float) -> None:
        super().__init__(
            f"conjugate gradients: residual {residual:.1e} after {products} products, wanted {tolerance:.0e}"
        )
        self.products, self.residual, self.tolerance = products, residual, tolerance


class Solution(NamedTuple):
    """Holds x (N, k), after so many products. residual: the largest ‖r‖/‖b‖ of a column, r being what the recurrence
    carries on. Rounding moves the true b − A x away from r, by about ε times the condition of A."""

    values: Tensor
    iterations: int
    residual: float


def _lengths(columns: Tensor) -> Tensor:
    """Returns ‖b‖ of every column, (column,), of numbers whose squares would be 0 or infinite too; 1 for a column of
    zeros."""
    largest = columns.abs().amax(0)
    largest = torch.where(largest == 0, 1.0, largest)
    lengths = largest * torch.linalg.vector_norm(columns / largest, dim=0)
    return torch.where(lengths == 0, 1.0, lengths)


def _ratio(above: Tensor, below: Tensor, active: Tensor) -> Tensor:
    """Returns above / below in the active columns, 0 in the others."""
    return torch.where(active, above / below.where(active, 1.0), 0.0)


def conjugate_gradients(
    product: Product, right: Tensor, *, tolerance: float, most: int, precondition: Product | None = None
) -> Solution:
    """Solves A x = b for symmetric positive definite A, for every column of b (N, k) by itself (Hestenes and Stiefel,
    1952).

    A column is done, and stands still, when its residual is at most `tolerance` times its length, as the recurrence
    carries it on (see `Solution`); a column of zeros is done at once. precondition: v ↦ M⁻¹v, M symmetric positive
    definite; the nearer to A, the fewer products.
    Raises ValueError for a b that is not finite, IndefiniteDirection where A (or M) shows itself not to be so, by a
    product that is not a number too, and NotConverged where `most` products do not suffice.
    """
    lengths, step = _lengths(right), 0
    if not bool(lengths.isfinite().all()):
        raise ValueError("conjugate gradients: the right side is not finite")
    x, residual, direction = torch.zeros_like(right), right / lengths, torch.zeros_like(right)
    relative, size = torch.linalg.vector_norm(residual, dim=0), torch.ones_like(lengths)
    while bool((active := ~(relative <= tolerance)).any()):
        if step == most:
            raise NotConverged(most, float(relative.max()), tolerance)
        z = residual if precondition is None else precondition(residual)
        before, size = size, (residual * z).sum(0)
        direction = z + _ratio(size, before, active) * direction
        applied = product(direction)
        curvature = (direction * applied).sum(0)
        if bool((active & ~((curvature > 0) & (size > 0))).any()):
            raise IndefiniteDirection
        length = _ratio(size, curvature, active)
        x += length * direction
        residual -= length * applied
        relative, step = torch.linalg.vector_norm(residual, dim=0), step + 1
    return Solution(x * lengths, step, float(relative.max()) if relative.numel() else 0.0)
