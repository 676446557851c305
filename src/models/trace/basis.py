"""An orthonormal basis of some vectors, and the triangular factor."""

from __future__ import annotations

import torch
from torch import Tensor

FURTHEST = 0.1  # from orthonormal after one pass, for the second one to be exact to rounding


def orthonormal_rows(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Returns Q (…, k, n) with orthonormal rows and R (…, k, k) upper triangular, where Y = RᵀQ is (…, k, n), k ≤ n.

    vectors: Y.
    They come of Cholesky factors of YYᵀ, twice (Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, 2015: as orthogonal as
    Householder's while the first pass is not far from it), in matrix products alone, and by Householder's reflections
    where it is far, as with vectors that depend on each other. In both cases the diagonal of R is not negative, and the
    first rows of Q span what the first rows of Y span.
    """
    first, info = torch.linalg.cholesky_ex(vectors @ vectors.mT)
    if not bool(info.any()):
        rows = torch.linalg.solve_triangular(first, vectors, upper=False)
        gram = rows @ rows.mT
        far = (gram - torch.eye(gram.shape[-1]).to(gram)).norm(dim=(-2, -1))
        if bool((far < FURTHEST).all()):
            second = torch.linalg.cholesky(gram)
            return torch.linalg.solve_triangular(second, rows, upper=False), (first @ second).mT
    q, factor = torch.linalg.qr(vectors.mT)
    signs = torch.where(factor.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(q).unsqueeze(-1)
    return (signs * q.mT).contiguous(), signs * factor
