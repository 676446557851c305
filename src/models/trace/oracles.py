"""Oracles: symmetric matrices A (n, n) that are known by their products alone.

An oracle takes query vectors in the last dimension, (…, n), and returns their products with A in the same shape. Each
is a frozen record, so that it can be sent to other processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

Oracle = Callable[[Tensor], Tensor]
SPARSE_BLOCK = 8  # queries that a sparse matrix is multiplied by at once
PAIRS = 3  # random vectors by which a matrix is found not to be symmetric


class OracleError(ValueError):
    """Says that an oracle cannot be used. The message is one line: what is wrong, and what to do."""


@dataclass(frozen=True)
class Diagonal:
    """Is the oracle of A = diag(values), values (n,)."""

    values: Tensor

    def __call__(self, queries: Tensor) -> Tensor:
        return queries * self.values


@dataclass(frozen=True)
class Dense:
    """Is the oracle of a symmetric matrix (n, n), whole in memory.

    Entries below the smallest normal number, which far points have in a kernel matrix, are taken as 0. A processor
    multiplies by them many times more slowly, and what they add to a product is below its rounding.
    """

    matrix: Tensor

    def __post_init__(self) -> None:
        subnormal = self.matrix.abs() < torch.finfo(self.matrix.dtype).tiny
        object.__setattr__(self, "matrix", torch.where(subnormal, 0.0, self.matrix))

    def __call__(self, queries: Tensor) -> Tensor:
        return queries @ self.matrix


@dataclass(frozen=True)
class Sparse:
    """Is the oracle of a symmetric sparse matrix (n, n) of scipy, on the CPU.

    It takes a few queries at once: their entries lie side by side in a cache line, and the block still stays in the
    cache.
    """

    matrix: sp.csr_array

    def __call__(self, queries: Tensor) -> Tensor:
        rows = queries.reshape(-1, queries.shape[-1]).numpy()
        products = np.empty_like(rows)
        for start in range(0, len(rows), SPARSE_BLOCK):
            block = slice(start, start + SPARSE_BLOCK)
            products[block] = (self.matrix @ rows[block].T).T
        return torch.from_numpy(products).view(queries.shape)


@dataclass(frozen=True)
class SparseTensor:
    """Is the oracle of a symmetric sparse matrix of torch, on any device; on the CPU `Sparse` is the faster one.

    matrix: sparse CSR (n, n).
    """

    matrix: Tensor

    def __call__(self, queries: Tensor) -> Tensor:
        rows = queries.reshape(-1, queries.shape[-1])
        return (self.matrix @ rows.T.contiguous()).T.reshape(queries.shape)


def sparse(matrix: sp.csr_array, device: torch.device, dtype: torch.dtype = torch.float64) -> Oracle:
    """Returns the oracle of a symmetric sparse matrix (n, n) that is fastest on the device."""
    if device.type == "cpu":
        return Sparse(sp.csr_array(matrix, dtype=np.float64 if dtype == torch.float64 else np.float32))
    rows, columns = (torch.from_numpy(np.asarray(part)).to(device) for part in (matrix.indptr, matrix.indices))
    values = torch.from_numpy(matrix.data).to(device, dtype)
    return SparseTensor(torch.sparse_csr_tensor(rows, columns, values, size=matrix.shape, check_invariants=True))


@dataclass(frozen=True)
class Reordered:
    """Is the oracle of A, where `oracle` is of P A Pᵀ: row i of it is row order[i] of A. order (n,), on the device of
    the queries.

    Rows in an order of their own are faster to multiply by, and what a query is does not depend on it.
    """

    oracle: Oracle
    order: Tensor

    def __call__(self, queries: Tensor) -> Tensor:
        return torch.empty_like(queries).index_copy_(-1, self.order, self.oracle(queries[..., self.order]))


@dataclass(frozen=True)
class Power:
    """Is the oracle of A^exponent, by as many products with A, one after the other."""

    oracle: Oracle
    exponent: int

    def __call__(self, queries: Tensor) -> Tensor:
        for _ in range(self.exponent):
            queries = self.oracle(queries)
        return queries


@dataclass(frozen=True)
class Shifted:
    """Is the oracle of A + shift·I."""

    oracle: Oracle
    shift: float

    def __call__(self, queries: Tensor) -> Tensor:
        return self.oracle(queries) + self.shift * queries


@dataclass(frozen=True)
class Checked:
    """Passes on what another oracle finds, and raises OracleError for a wrong shape and for what is not finite."""

    oracle: Oracle

    def __call__(self, queries: Tensor) -> Tensor:
        products: Any = self.oracle(queries)
        if not isinstance(products, Tensor) or products.shape != queries.shape:
            answered = tuple(products.shape) if isinstance(products, Tensor) else type(products).__name__
            raise OracleError(
                f"the oracle answers {tuple(queries.shape)} by {answered}; it has to return a product for each query"
            )
        if not (products.sum().isfinite() or products.isfinite().all()):  # the sum alone is read in one pass
            raise OracleError("the oracle returned a number that is not finite; is the matrix, or its inverse, finite?")
        return products


def check_symmetric(oracle: Oracle, size: int, *, generator: torch.Generator, dtype: torch.dtype) -> None:
    """Compares xᵀAy with yᵀAx for `PAIRS` random x and y (n,), within √ε of ‖x‖‖Ay‖ + ‖y‖‖Ax‖; n is `size`.

    Raises OracleError where they differ: the trace of another matrix than a symmetric one is not estimated here.
    """
    x, y = (torch.randn(PAIRS, size, generator=generator, dtype=dtype, device=generator.device) for _ in range(2))
    by_x, by_y = Checked(oracle)(torch.stack([x, y]))
    difference = ((y * by_x).sum(1) - (x * by_y).sum(1)).abs()
    scale = x.norm(dim=1) * by_y.norm(dim=1) + y.norm(dim=1) * by_x.norm(dim=1)
    if bool((difference > torch.finfo(dtype).eps ** 0.5 * scale).any()):
        raise OracleError(
            f"the matrix is not symmetric: xᵀAy and yᵀAx differ by {float(difference.max()):.3g}; give (A + Aᵀ)/2"
        )


def refuse_asymmetric_products(queries: Tensor, products: Tensor, exponent: int) -> None:
    """Compares xᵀAy with yᵀAx for all pairs of queries (m, n), within √ε of ‖x‖‖Ay‖ + ‖y‖‖Ax‖. Raises OracleError
    where they differ; exponent: of the power of two that was taken out of A."""
    both = queries @ products.T
    reach = torch.outer(queries.norm(dim=1), products.norm(dim=1))
    difference = (both - both.T).abs()
    if bool((difference > torch.finfo(queries.dtype).eps ** 0.5 * (reach + reach.T)).any()):
        furthest = difference.max().item() * 2.0**exponent
        raise OracleError(f"the matrix is not symmetric: xᵀAy and yᵀAx differ by {furthest:.3g}; give (A + A.T)/2")
