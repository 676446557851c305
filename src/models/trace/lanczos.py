"""Functions of a symmetric matrix by the Lanczos process, batched over the query vectors.

Golub and Meurant, Matrices, Moments and Quadrature (2010), chapter 4. k steps find an orthonormal basis V (k, n) of the
Krylov space of A and x, and the tridiagonal T = V A Vᵀ; then f(A)x ≈ ‖x‖ Vᵀ f(T) e_1. The k products depend on each
other: to whoever asks for f(A)x that is one answer, after k dependent rounds inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from models.trace.oracles import Oracle, OracleError
from models.trace.refusals import OfPositive, refuse_singular
from models.trace.rounding import Rounding, beside

BASIS_BYTES = 32 * 2**20  # of the bases held at a time


class Tridiagonal(NamedTuple):
    """Holds basis V (row, step, n), diagonal (row, step) and off-diagonal (row, step − 1) of T, and ‖x‖ (row, 1)."""

    basis: Tensor
    diagonal: Tensor
    beside: Tensor
    norm: Tensor


def orthogonalised(vector: Tensor, basis: Tensor) -> Tensor:
    """Returns what is left of vector (row, n), in that shape, after the rows of basis (row, step, n) are taken out
    twice ("twice is enough")."""
    for _ in range(2):
        shares = torch.bmm(basis, vector.unsqueeze(2))
        vector = torch.baddbmm(vector.unsqueeze(1), shares.transpose(1, 2), basis, alpha=-1).squeeze(1)
    return vector


def lanczos(oracle: Oracle, start: Tensor, steps: int) -> Tridiagonal:
    """Returns the tridiagonal matrices of at most `steps` steps, and never more than n, from each row of start
    (row, n), with full re-orthogonalisation.

    Where the Krylov space is exhausted before, the process ends for that row: what follows is not coupled to it (an
    off-diagonal of 0) and has the first diagonal entry, a value within the spectrum, so that f is defined there.
    """
    count, size = start.shape
    steps = min(steps, size)
    tiny = torch.finfo(start.dtype).eps
    norm = start.norm(dim=1, keepdim=True)
    basis = start.new_zeros(count, steps, size)
    diagonal, beside = start.new_zeros(count, steps), start.new_zeros(count, steps - 1)
    basis[:, 0] = start / norm.clamp(min=torch.finfo(start.dtype).tiny)
    basis[:, 0, 0] += norm[:, 0] == 0  # a query of zeros: any basis, times its norm
    scale = start.new_zeros(count)
    going = torch.ones(count, dtype=torch.bool, device=start.device)
    for k in range(steps):
        product = oracle(basis[:, k])
        diagonal[:, k] = torch.where(going, (product * basis[:, k]).sum(1), diagonal[:, 0])
        scale = torch.maximum(scale, product.norm(dim=1))
        if k + 1 == steps:
            break
        rest = orthogonalised(product, basis[:, : k + 1])
        length = rest.norm(dim=1)
        going = going & (length > size**0.5 * tiny * scale)
        beside[:, k] = torch.where(going, length, 0.0)
        basis[:, k + 1] = torch.where(going.unsqueeze(1), rest / length.unsqueeze(1).clamp(min=tiny**2), 0.0)
    return Tridiagonal(basis, diagonal, beside, norm)


def ritz(tridiagonal: Tridiagonal, steps: int) -> tuple[Tensor, Tensor]:
    """Returns eigenvalues (row, step) and eigenvectors (row, step, step), in columns, of T after so many steps."""
    matrix = torch.diag_embed(tridiagonal.diagonal[:, :steps])
    beside = tridiagonal.beside[:, : steps - 1]
    values, vectors = torch.linalg.eigh(matrix + torch.diag_embed(beside, 1) + torch.diag_embed(beside, -1))
    return values, vectors


def rows_at_once(steps: int, start: Tensor) -> int:
    """Returns of how many rows (row, n) the bases of so many steps are held at a time."""
    return max(1, BASIS_BYTES // (min(steps, start.shape[1]) * start.shape[1] * start.element_size()))


def function_of_values(
    function: Callable[[Tensor], Tensor], values: Tensor, rounding: Rounding | None = None
) -> Tensor:
    """Returns f at Ritz values (row, step), in that shape. rounding: of the matrix; by default to the type of the
    values.

    Raises OracleError where one is 0 to rounding and f, within the rounding, is not finite or moves by more than half
    of the largest |f|: f(A)x would be decided by the rounding. Else as `OfPositive.check`, where f is one. f(0) stands
    for what is no number below 0, see `models.trace.rounding.beside`.
    """
    rounding = rounding or Rounding(values.dtype)
    radius = rounding.radius(values)
    if isinstance(function, OfPositive):
        function.check(values, radius)
    near = beside(function, values, radius, radius)
    moved = near.amax(0) - near.amin(0)
    undecided = ~near.isfinite().all(0) | (moved > 0.5 * near[1].abs().amax(1, keepdim=True))
    if bool((undecided & (values.abs() <= radius)).any()):
        refuse_singular(rounding.dtype, "f(A)")
    if not bool(near[1].isfinite().all()):
        raise OracleError("the function of an eigenvalue is not finite; scale the matrix, or add a ridge to it")
    return near[1]


def function_of_matrix(asked: Function, start: Tensor) -> Tensor:
    """Returns f(A)x for each row x of start (row, n), in that shape. Errors: as `function_of_values`."""
    tridiagonal = lanczos(asked.oracle, start, asked.steps)
    values, vectors = ritz(tridiagonal, tridiagonal.diagonal.shape[1])
    found = function_of_values(asked.function, values, asked.rounding)
    weights = torch.bmm(vectors, (found * vectors[:, 0]).unsqueeze(2))
    return tridiagonal.norm * torch.bmm(weights.transpose(1, 2), tridiagonal.basis).squeeze(1)


@dataclass(frozen=True)
class Function:
    """Is f(A) as an oracle, (…, n) → (…, n): f takes a tensor of eigenvalues, as `torch.exp` and `torch.reciprocal` do.

    oracle: of A; steps: of the Lanczos process; rounding: of A, by default to the type of the queries. Errors: as
    `function_of_values`.
    """

    oracle: Oracle
    function: Callable[[Tensor], Tensor]
    steps: int = 40
    rounding: Rounding | None = None

    def __call__(self, queries: Tensor) -> Tensor:
        rows = queries.reshape(-1, queries.shape[-1])
        blocks = rows.split(rows_at_once(self.steps, rows))
        parts = [function_of_matrix(self, part) for part in blocks]
        return torch.cat(parts).view(queries.shape)
