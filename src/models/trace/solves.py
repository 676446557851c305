"""Inverses as oracles, by conjugate gradients, batched over the query vectors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.trace.oracles import Oracle, OracleError, Shifted


def conjugate_gradients(oracle: Oracle, targets: Tensor, *, tolerance: float, most: int) -> Tensor:
    """X with A X = B for a positive definite A; targets B (row, n), each until ‖b − Ax‖ ≤ tolerance·‖b‖.

    Hestenes and Stiefel (1952). Raises OracleError for a direction p with pᵀAp ≤ 0, and where `most` products a row
    are not enough.
    """
    solution, residual = torch.zeros_like(targets), targets.clone()
    direction, square = targets.clone(), targets.square().sum(1)
    goal = tolerance**2 * square
    for _ in range(most):
        going = square > goal
        if not bool(going.any()):
            return solution
        product = oracle(direction)
        curvature = (direction * product).sum(1)
        if bool((going & ~(curvature > 0)).any()):
            raise OracleError("the matrix is not positive definite (pᵀAp ≤ 0 for some p); add a ridge to its diagonal")
        step = torch.where(going, square / curvature.where(going, 1.0), 0.0).unsqueeze(1)
        solution += step * direction
        residual -= step * product
        before, square = square, torch.where(going, residual.square().sum(1), square)
        direction = residual + torch.where(going, square / before.where(going, 1.0), 0.0).unsqueeze(1) * direction
    if bool((square > goal).any()):
        worst = float((square / goal).max().sqrt()) * tolerance
        raise OracleError(
            f"{most} conjugate-gradient steps leave a relative residual of {worst:.2g}, asked for {tolerance:.2g}; "
            "is the matrix singular? Allow more steps, or add a ridge to its diagonal"
        )
    return solution


@dataclass(frozen=True)
class Inverse:
    """A⁻¹ of a positive definite A."""

    oracle: Oracle
    tolerance: float = 1e-10
    most: int = 1000

    def __call__(self, queries: Tensor) -> Tensor:
        rows = queries.reshape(-1, queries.shape[-1])
        found = conjugate_gradients(self.oracle, rows, tolerance=self.tolerance, most=self.most)
        return found.view(queries.shape)


@dataclass(frozen=True)
class RidgeSmoother:
    """K(K + λN·I)⁻¹ = I − λN·(K + λN·I)⁻¹ of a kernel matrix K (N, N); its trace is the statistical dimension.

    kernel: the oracle of K. shift: λN, greater than 0.
    """

    kernel: Oracle
    shift: float
    tolerance: float = 1e-10
    most: int = 1000

    def __call__(self, queries: Tensor) -> Tensor:
        inverse = Inverse(Shifted(self.kernel, self.shift), self.tolerance, self.most)
        return queries - self.shift * inverse(queries)
