"""Exact kernel matrices, whole or as products with them of which no more than a block of rows exists at a time."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from models.features.kernels import IsotropicKernel, Kernel
from models.numerics.conjugate_gradients import Product

BLOCK_BYTES = 2**26  # a block of rows of the kernel matrix
KEPT_BYTES = 2**30  # a kernel matrix that is made once and kept for all products


def _check(points: Tensor, bandwidth: float) -> None:
    """Raises ValueError for points that are no table (row, column) of finite numbers with at least one of each, and for
    a bandwidth that is not positive and finite."""
    if points.ndim != 2 or not points.numel():
        raise ValueError(f"points must have shape (row, column) and at least one of each, got {tuple(points.shape)}")
    if not bool(points.isfinite().all()):
        row, column = (~points.isfinite()).nonzero()[0].tolist()
        raise ValueError(f"point {row} is not finite in column {column}")
    if not 0 < bandwidth < math.inf:
        raise ValueError(f"bandwidth must be positive and finite, got {bandwidth}")


def _values(kernel: Kernel, x: Tensor, y: Tensor, bandwidth: float) -> Tensor:
    if isinstance(kernel, IsotropicKernel):
        return kernel.value(torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist") / bandwidth)
    return kernel.value(torch.cdist(x, y, p=1).unsqueeze(2) / bandwidth)  # as differences in a single coordinate


def kernel_matrix(kernel: Kernel, points: Tensor, *, bandwidth: float) -> Tensor:
    """Returns the kernel matrix K_ij = K(x_i, x_j) of points (N, d): float64 (N, N), exactly symmetric.

    bandwidth: ℓ, in the unit of the points.
    Equal rows give equal rows of K, hence a singular K. Raises ValueError for points that are not finite or not a
    table, and a bandwidth that is not positive.
    """
    _check(points, bandwidth)
    values = _values(kernel, points.double(), points.double(), bandwidth)
    return (values + values.T) / 2


def kernel_product(kernel: Kernel, points: Tensor, *, bandwidth: float) -> Product:
    """Returns the product v ↦ K v with the kernel matrix of points (N, d), where v and K v are float64 (N, k).

    A K larger than `KEPT_BYTES` is made anew for every product, a block of rows at a time, in memory O(N) instead of
    O(N²).
    bandwidth: ℓ, in the unit of the points. Raises ValueError like `kernel_matrix`.
    """
    _check(points, bandwidth)
    x = points.double()
    if 8 * len(x) ** 2 <= KEPT_BYTES:
        matrix = kernel_matrix(kernel, x, bandwidth=bandwidth)
        return lambda v: matrix @ v
    blocks = x.split(max(1, BLOCK_BYTES // (8 * len(x))))

    def product(v: Tensor) -> Tensor:
        return torch.cat([_values(kernel, block, x, bandwidth) @ v for block in blocks])

    return product
