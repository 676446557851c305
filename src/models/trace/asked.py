"""What was asked of a matrix and answered, and small products of it that all methods need."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Shares(NamedTuple):
    """Says how many queries are of which kind: those that make a sketch (S or Ω), R of NA-Hutch++, basis Q, test G."""

    sketch: int = 0
    second: int = 0
    basis: int = 0
    test: int = 0

    @property
    def first_round(self) -> int:
        """Returns how many queries are asked in the first call of the oracle."""
        return self.sketch + self.second + self.test


class Asked(NamedTuple):
    """Holds queries and products (trial, m, n); basis Q (trial, k, n) of the first k products, with its products,
    and the factor R (trial, k, k) with products = RᵀQ; k = 0 where no method is adaptive. turned: whether the
    queries' law is the same in every direction, as the normal one is."""

    queries: Tensor
    products: Tensor
    basis: Tensor
    basis_products: Tensor
    factor: Tensor
    turned: bool


def products_of(a: Tensor, b: Tensor) -> Tensor:
    """Returns abᵀ: (trial, i, n), (trial, j, n) → (trial, i, j)."""
    return a @ b.mT


def inner(a: Tensor, b: Tensor) -> Tensor:
    """Returns the inner products of the rows, (…, n), (…, n) → (…), without the products of entries in memory."""
    return torch.linalg.vecdot(a, b)


def trace_of(matrix: Tensor) -> Tensor:
    """Returns the traces of matrices, (…, k, k) → (…)."""
    return matrix.diagonal(dim1=-2, dim2=-1).sum(-1)
