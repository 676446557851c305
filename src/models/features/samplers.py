"""Samplers: the joint law of the frequencies' directions, and of their radii given a kernel.

A frequency is w = r·u/ℓ: radius times direction over bandwidth. The kernel says how a radius is distributed
(`kernels`); the sampler says how the m directions and the m radii depend on one another.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from models.features.kernels import IsotropicKernel, Kernel
from models.numerics.hadamard import next_power_of_two, transform_in_place
from models.ranges import Count
from models.runtime.scratch import empty_rows

BLOCK_BYTES = 2**21  # rows that go through all factors of a Hadamard product before the next ones


class Sampler(ABC):
    """Says how directions and radii are drawn jointly. What it returns is float64 and on the generator's device."""

    @abstractmethod
    def directions(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        """Returns unit vectors as rows: (count, dimension)."""

    def radii(self, kernel: IsotropicKernel, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        """Returns radii at bandwidth 1, (count,), which are independent unless a sampler couples them."""
        return kernel.radii(count, dimension, generator=generator)


@dataclass(frozen=True, kw_only=True)
class Iid(Sampler):
    """Draws independent directions, uniform on the sphere: the paper's unstructured w^iid (section 4)."""

    def directions(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        return _unit_rows(_normal(count, dimension, generator))


@dataclass(frozen=True, kw_only=True)
class Orthogonal(Sampler):
    """Draws the paper's continuous-orthogonal directions (section 4).

    They come in blocks of at most d rows, independent of one another; the rows of a block are the first rows of a
    Haar-distributed orthogonal matrix. Each single direction is uniform on the sphere, so kernel estimates stay
    unbiased.
    """

    def directions(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        sizes = _block_sizes(count, dimension)
        return torch.cat([_haar_rows(size, dimension, generator) for size in sizes])


@dataclass(frozen=True, kw_only=True)
class Hadamard(Sampler):
    """Draws the paper's discrete-orthogonal directions (section 4): the first rows of H D_1 H D_2 … H D_k, at unit
    length.

    H is the Hadamard matrix, D_i a diagonal of independent signs, `blocks` is k. The dimension d is padded to the next
    power of two p and the first d columns are kept; more than p rows come from independent blocks.

    The sampler is biased: a direction takes one of finitely many values, few of them in low dimensions (for d = 2 only
    the two diagonals at k = 3), so kernel estimates have a bias that falls as d grows. Rows are orthogonal only when d
    is a power of two; otherwise they are rows of an orthogonal matrix cut to d columns. A block with a row that lies in
    the padding alone, which has no direction, is drawn again. Use it for large d, where QR is slow.

    Raises ValueError when `blocks` is below 1.
    """

    blocks: Count = 3

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise ValueError(f"blocks must be at least 1, got {self.blocks}")

    def directions(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        sizes = _block_sizes(count, next_power_of_two(dimension))
        blocks = [self._block(size, dimension, generator) for size in sizes]
        return torch.cat(blocks) if len(blocks) > 1 else blocks[0]

    def _block(self, count: int, dimension: int, generator: torch.Generator) -> Tensor:
        while True:
            rows = self._product_rows(count, next_power_of_two(dimension), generator)[:, :dimension]
            lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
            if bool((lengths > 1e-9).all()):
                return rows.div_(lengths)

    def _product_rows(self, count: int, size: int, generator: torch.Generator) -> Tensor:
        """Returns the first `count` rows of H D_1 … H D_k, float64 (count, size). H is symmetric, so a row times H is
        the transform of the row."""
        signs = [_signs(size, generator) for _ in range(self.blocks)]
        rows = empty_rows(count, size, like=signs[0]).zero_().fill_diagonal_(1)
        for part in rows.split(max(1, BLOCK_BYTES // (8 * size))):
            for sign in signs:
                transform_in_place(part)
                part.mul_(sign)
        return rows


def check_pair(kernel: Kernel, sampler: Sampler) -> None:
    """Raises ValueError when the sampler cannot draw for the kernel: only `Iid` draws for one that is not isotropic."""
    if not kernel.isotropic and not isinstance(sampler, Iid):
        raise ValueError(
            f"kernel {type(kernel).__name__} is not isotropic, so sampler {type(sampler).__name__} cannot draw for it; "
            "use the sampler iid or the kernel laplacian"
        )


def draw_frequencies(
    *, kernel: Kernel, sampler: Sampler, count: int, dimension: int, bandwidth: float, generator: torch.Generator
) -> Tensor:
    """Returns frequencies w_i = r_i u_i / ℓ of the kernel's spectral measure (paper, section 4): float64
    (count, dimension).

    Directions are drawn first, then radii. bandwidth: ℓ, in the unit of the inputs, so that w_i has its inverse. The
    result is on the generator's device.
    Raises ValueError when count or dimension is below 1, when the bandwidth is not positive and finite, when a kernel
    that is not isotropic meets a sampler other than `Iid`, and when a frequency overflows.
    """
    _check_request(kernel, sampler, count, dimension, bandwidth)
    if isinstance(kernel, IsotropicKernel):
        directions = sampler.directions(count, dimension, generator=generator)
        unscaled = sampler.radii(kernel, count, dimension, generator=generator)[:, None] * directions
    else:
        unscaled = kernel.frequencies(count, dimension, generator=generator)
    frequencies = unscaled / bandwidth
    if not bool(frequencies.isfinite().all()):
        raise ValueError(f"{kernel} at bandwidth {bandwidth:g} draws infinite frequencies; use a smoother kernel")
    return frequencies


def _check_request(kernel: Kernel, sampler: Sampler, count: int, dimension: int, bandwidth: float) -> None:
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    if dimension < 1:
        raise ValueError(f"random features need inputs of at least 1 column, got {dimension}")
    if not 0 < bandwidth < math.inf:
        raise ValueError(f"the bandwidth must be positive and finite, got {bandwidth}")
    check_pair(kernel, sampler)


def _block_sizes(count: int, largest: int) -> list[int]:
    return [min(largest, count - start) for start in range(0, count, largest)]


def _normal(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    return torch.randn(rows, columns, dtype=torch.float64, generator=generator, device=generator.device)


def _signs(count: int, generator: torch.Generator) -> Tensor:
    """Draws ±1 with equal probability, float64 (count,)."""
    return 2 * torch.randint(2, (count,), generator=generator, device=generator.device).double() - 1


def _unit_rows(rows: Tensor) -> Tensor:
    return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True)


def _haar_rows(count: int, dimension: int, generator: torch.Generator) -> Tensor:
    """Draws the first `count` rows of a Haar orthogonal matrix: QR of normals, unique by a positive diagonal of R. The
    result is (count, dimension).

    Without the signs of diag R the result depends on the library's sign convention and is not Haar (Mezzadri 2007).
    """
    q, r = torch.linalg.qr(_normal(dimension, count, generator), mode="reduced")
    return (q * r.diagonal().sign()).T
