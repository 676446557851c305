"""Queries and products of one matrix, which grow: no product is asked twice."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from models.trace.arguments import ends_exact
from models.trace.asked import Asked, inner
from models.trace.basis import orthonormal_rows
from models.trace.matrices import Matrix
from models.trace.oracles import Checked, OracleError, refuse_asymmetric_products
from models.trace.queries import QueryDraw
from models.trace.xtrace import left_out_directions


class Pool:
    """Holds random queries with their products, and a basis of the first of these with its products.

    matrix: as of `models.trace.matrices.matrix_of`. seed: of the queries. distribution: as of `QueryDraw`.
    """

    def __init__(self, matrix: Matrix, *, seed: int, distribution: str = "gaussian") -> None:
        self.matrix, self.oracle = matrix, Checked(matrix.oracle)
        self.draw = QueryDraw(size=matrix.size, distribution=distribution, dtype=matrix.dtype)
        self.generator = torch.Generator(matrix.device).manual_seed(int(seed))
        self.queries = torch.empty(1, 0, matrix.size, dtype=matrix.dtype, device=matrix.device)
        self.products = self.basis = self.basis_products = self.queries
        self.factor = self.queries[:, :, :0]
        self.orthonormal: dict[int, tuple[Tensor, Tensor]] = {}  # by count, what `factorised` found last
        self.means: dict[int, tuple[float, float]] = {}  # by count, what `mean_forms` found

    @property
    def spent(self) -> int:
        """Returns how many products were asked for."""
        return self.queries.shape[1] + self.basis.shape[1]

    @property
    def asked(self) -> Asked:
        """Returns what was asked, for one trial."""
        turned = self.draw.distribution == "gaussian"
        return Asked(self.queries, self.products, self.basis, self.basis_products, self.factor, turned)

    def ends_exact(self, budget: int, most: int) -> bool:
        """Returns what `models.trace.arguments.ends_exact` does, of what was asked so far."""
        return ends_exact(self.matrix.size, self.spent, budget, most)

    def ask(self, count: int) -> None:
        """Asks for more random queries, until there are so many. Raises OracleError for answers that are wrong, or
        those of a matrix that is not symmetric."""
        more = count - self.queries.shape[1]
        if more <= 0:
            return
        queries = self.draw.queries(more, generator=self.generator)
        products = self.oracle(queries)
        self.queries, self.products = joined(self.queries, queries), joined(self.products, products)
        self.orthonormal, self.means = {}, {}
        if not self.matrix.inexact:
            refuse_asymmetric_products(queries[0], products[0], self.matrix.exponent)

    def widen(self, count: int) -> None:
        """Widens the basis to that of the first `count` products. Raises OracleError for answers that are wrong."""
        old = self.basis.shape[1]
        if count <= old:
            return
        vectors = self.products[:, old:count]
        if old:
            corner, rows, factor = extended_basis(self.basis, vectors)
            below = torch.cat([torch.zeros_like(corner).mT, factor], -1)
            self.factor = torch.cat([torch.cat([self.factor, corner], -1), below], -2)
        else:
            rows, self.factor = self.factorised(count)
        self.orthonormal = {}
        self.basis, self.basis_products = joined(self.basis, rows), joined(self.basis_products, self.oracle(rows))

    def factorised(self, count: int) -> tuple[Tensor, Tensor]:
        """Returns `orthonormal_rows` of the first `count` products, kept until the pool grows."""
        if count not in self.orthonormal:
            self.orthonormal = {count: orthonormal_rows(self.products[:, :count])}
        return self.orthonormal[count]

    def mean_forms(self, count: int | None = None) -> tuple[float, float]:
        """Returns the means of ‖Ag‖² and of gᵀAg over the first `count` queries, or over all. With normal ones they are
        ‖A‖_F² and tr(A) in the mean. Raises OracleError where they, or the square of the second, cannot be held."""
        count = self.queries.shape[1] if count is None else count
        if count not in self.means:
            queries, products = self.queries[:, :count], self.products[:, :count]
            square, trace = float(products.square().sum(2).mean()), float(inner(queries, products).mean())
            refuse_overflow(square, trace)
            self.means[count] = square, trace
        return self.means[count]


def joined(old: Tensor, new: Tensor) -> Tensor:
    """Returns rows (1, k, n) and further ones in one tensor; the further ones themselves where there were none."""
    return torch.cat([old, new], 1) if old.shape[1] else new.contiguous()


def extended_basis(basis: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns what continues an orthonormal basis (1, k, n) to that of further vectors Y (1, j, n): the shares C of
    the old basis (1, k, j), the new rows Q (1, j, n) and the factor R (1, j, j), with Y = CᵀQ_old + RᵀQ.

    By Householder's reflections of both: exact to rounding, also where the vectors lie in the old basis.
    """
    k = basis.shape[1]
    q, factor = torch.linalg.qr(torch.cat([basis, vectors], 1).mT)
    signs = torch.where(factor.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(q).unsqueeze(-1)
    rows, factor = signs * q.mT, signs * factor
    return factor[:, :k, k:], rows[:, k:].contiguous(), factor[:, k:, k:]


def flatness(pool: Pool, count: int | None = None) -> float:
    """Returns tr(A)²/(n‖A‖_F²) as the first `count` normal queries, or all, measure it, between 0 and 1; 1 for a matrix
    of zeros."""
    square, trace = pool.mean_forms(count)
    return 1.0 if square == 0 else min(1.0, trace**2 / (pool.matrix.size * square))


def tail(pool: Pool, count: int) -> float:
    """Returns the share of ‖A‖_F² that is left when all of the first `count` products but one are taken out, in the
    mean over that one.

    That is ‖(I − Q_iQ_iᵀ)Aω_i‖² over ‖Aω_i‖², both summed over i, Q_i a basis of the others (Epperly, Tropp and Webber,
    2024, section 2.4): it needs no further product.
    """
    products = pool.products[:, :count]
    square = float(products.square().sum())
    refuse_overflow(square)
    if square == 0:
        return 0.0
    _, factor = pool.factorised(count)
    return float(inner(left_out_directions(factor), factor.mT).square().sum()) / square


def refuse_overflow(square: float, trace: float = 0.0) -> None:
    """Raises OracleError where a sum of squares, or a trace that is to be squared, is not a number that can be held."""
    if not all(math.isfinite(value) for value in (square, trace * trace)):
        raise OracleError("the entries of the matrix are too large to be squared; scale it, and its trace back")


def whole(matrix: Matrix, block: int = 256) -> Tensor:
    """Returns A (n, n) by a product with every basis vector, so many at a time. Raises OracleError as `Checked`, and
    for a matrix that is not symmetric."""
    unit = torch.eye(matrix.size, dtype=matrix.dtype, device=matrix.device)
    products = torch.cat([Checked(matrix.oracle)(rows) for rows in unit.split(block)])
    refuse_asymmetric_products(unit, products, matrix.exponent)
    return (products + products.T) / 2
