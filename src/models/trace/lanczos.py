"""Functions of a symmetric matrix by the Lanczos process, batched over the query vectors.

Golub and Meurant, Matrices, Moments and Quadrature (2010), chapter 4. k steps find an orthonormal basis V (k, n) of the
Krylov space of A and x, and the tridiagonal T = V A Vᵀ; then f(A)x ≈ ‖x‖ Vᵀ f(T) e_1. The k products depend on each
other: to whoever asks for f(A)x that is one answer, after k dependent rounds inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.runtime.parameters import in_a_line
from models.trace.oracles import Oracle, OracleError
from models.trace.refusals import OfPositive, refuse_singular, rounding_of

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
    function: Callable[[Tensor], Tensor], values: Tensor, dtype: torch.dtype | None = None
) -> Tensor:
    """Returns f at Ritz values (row, step), in that shape. dtype: to which the matrix was rounded; that of the values
    by default.

    Raises OracleError where one is 0 to rounding and f, within the rounding, is not finite or moves by more than half
    of the largest |f|: f(A)x would be decided by the rounding. Else as `OfPositive.check`, where f is one.
    """
    rounded_to = dtype or values.dtype
    rounding = rounding_of(values, rounded_to)
    if isinstance(function, OfPositive):
        function.check(values, rounding)
    near = torch.stack([of_reals(function, part) for part in (values - rounding, values, values + rounding)])
    moved = near.amax(0) - near.amin(0)
    undecided = ~near.isfinite().all(0) | (moved > 0.5 * near[1].abs().amax(1, keepdim=True))
    if bool((undecided & (values.abs() <= rounding)).any()):
        refuse_singular(rounded_to, "f(A)")
    if not bool(near[1].isfinite().all()):
        raise OracleError("the function of an eigenvalue is not finite; scale the matrix, or add a ridge to it")
    return near[1]


def moved_by_rounding(function: Callable[[Tensor], Tensor], values: Tensor, rounding: Tensor) -> Tensor:
    """Returns |f(λ + δ) − f(λ − δ)|/2 at eigenvalues λ (row, value), in that shape, δ being their rounding, which is
    broadcast: what it may make of f(λ). Errors: as `of_reals`."""
    above, below = (of_reals(function, values + side * rounding) for side in (1, -1))
    return (above - below).abs() / 2


def of_reals(function: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    """Returns f at eigenvalues. Raises OracleError where f fails, or answers no tensor of as many real numbers."""
    try:
        found: Any = function(values)
    except OracleError:
        raise
    except Exception as error:  # whatever it is that a function of one's own raises
        said = in_a_line(error)
        raise OracleError(
            f"function fails at a tensor {tuple(values.shape)} of eigenvalues: {said}; mend it"
        ) from error
    if not isinstance(found, Tensor) or found.shape != values.shape or found.is_complex():
        answered = f"{tuple(found.shape)} of {found.dtype}" if isinstance(found, Tensor) else type(found).__name__
        raise OracleError(
            f"function answers a tensor {tuple(values.shape)} of eigenvalues by {answered}; it has to return a tensor "
            "of as many real numbers"
        )
    return found


def function_of_matrix(oracle: Oracle, function: Callable[[Tensor], Tensor], start: Tensor, steps: int) -> Tensor:
    """Returns f(A)x for each row x of start (row, n), in that shape, by so many steps. Errors: as
    `function_of_values`."""
    tridiagonal = lanczos(oracle, start, steps)
    values, vectors = ritz(tridiagonal, tridiagonal.diagonal.shape[1])
    weights = torch.bmm(vectors, (function_of_values(function, values) * vectors[:, 0]).unsqueeze(2))
    return tridiagonal.norm * torch.bmm(weights.transpose(1, 2), tridiagonal.basis).squeeze(1)


@dataclass(frozen=True)
class Function:
    """Is f(A) as an oracle, (…, n) → (…, n): f takes a tensor of eigenvalues, as `torch.exp` and `torch.reciprocal` do.

    oracle: of A; steps: of the Lanczos process. Errors: as `function_of_values`.
    """

    oracle: Oracle
    function: Callable[[Tensor], Tensor]
    steps: int = 40

    def __call__(self, queries: Tensor) -> Tensor:
        rows = queries.reshape(-1, queries.shape[-1])
        blocks = rows.split(rows_at_once(self.steps, rows))
        parts = [function_of_matrix(self.oracle, self.function, part, self.steps) for part in blocks]
        return torch.cat(parts).view(queries.shape)
