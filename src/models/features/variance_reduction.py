"""Samplers beyond the paper: stratified radii, near-orthogonal directions, scrambled Sobol points.

Each keeps every single frequency at the kernel's spectral law, so kernel estimates stay unbiased; what they change is
how the m frequencies depend on one another, and with it the variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.quasirandom import SobolEngine

from models.features.kernels import IsotropicKernel
from models.features.samplers import Orthogonal, Sampler
from models.ranges import NotNegative, Steps

LARGEST_SOBOL_INPUT = SobolEngine.MAXDIM - 1  # columns; one coordinate of the points is the radius


@dataclass(frozen=True, kw_only=True)
class Stratified(Orthogonal):
    """Draws Haar orthogonal blocks (the paper's continuous-orthogonal directions) with stratified radii.

    Use it for as many frequencies as input columns or fewer, where it costs next to nothing over `Orthogonal`:
    quantiles of radii, which `RationalQuadratic` finds by Newton's method.
    """

    def radii(self, kernel: IsotropicKernel, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        return stratified_radii(kernel, count, dimension, generator=generator)


@dataclass(frozen=True, kw_only=True)
class NearOrthogonal(Sampler):
    """Draws directions that are spread evenly over the sphere when there are more of them than dimensions.

    They start from Haar orthogonal blocks and descend Σ_{i<j} (⟨u_i, u_j⟩⁴ + a ⟨u_i, u_j⟩²), a = `square_weight`, over
    the product of spheres: gradient steps along the tangents, each followed by scaling to unit length. One Haar matrix
    then rotates them all, so each single direction is uniform whatever the descent did.

    The fourth powers spread the blocks against one another. The squares, which whole orthogonal blocks have at their
    least possible sum m(m/d − 1)/2, keep the descent from losing that on the way: in high dimensions the second-order
    part of the kernel's error is the larger one, and with a = 0 there may be more error than without any descent.

    At most d directions are an orthogonal set, as there is nothing to descend. The cost is `steps` products of an m × m
    matrix with an m × d one, and memory for the former. Use it for the least error at a given number of features.

    steps: gradient steps; 0 leaves the blocks, 100 come within 2 % of what 3000 reach (measured for m up to 10 d).
    square_weight: a; 0 for fourth powers alone.
    stratified: radii by `stratified_radii` instead of independent ones.
    Raises ValueError when `steps` is negative, or `square_weight` negative or not finite.
    """

    steps: Steps = 100
    square_weight: NotNegative = 1.0
    stratified: bool = True

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ValueError(f"steps must be at least 0, got {self.steps}")
        if not 0 <= self.square_weight < math.inf:
            raise ValueError(f"square_weight must be at least 0 and finite, got {self.square_weight}")

    def directions(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        directions = Orthogonal().directions(count, dimension, generator=generator)
        if count > dimension:
            directions = self._spread(directions)
        return directions @ Orthogonal().directions(dimension, dimension, generator=generator)

    def radii(self, kernel: IsotropicKernel, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        if self.stratified:
            return stratified_radii(kernel, count, dimension, generator=generator)
        return super().radii(kernel, count, dimension, generator=generator)

    def _spread(self, directions: Tensor) -> Tensor:
        """Spreads the directions by gradient descent. The step length falls with the gradient's curvature, about (1 +
        a) m/d where rows are spread."""
        count, dimension = directions.shape
        length = dimension / (2 * count * (1 + self.square_weight))
        for _ in range(self.steps):
            products = (directions @ directions.T).fill_diagonal_(0)
            gradient = (4 * products**3 + 2 * self.square_weight * products) @ directions
            tangent = gradient - (gradient * directions).sum(1, keepdim=True) * directions
            directions = normalize(directions - length * tangent)
        return directions


@dataclass(frozen=True, kw_only=True)
class Sobol(Sampler):
    """Draws directions and radii from scrambled Sobol points in d + 1 coordinates (Owen 1998; Matoušek's linear
    scrambling).

    The normal quantiles of the last d coordinates, scaled to unit length, are the direction; the radius is the kernel's
    quantile of the first. `directions` and `radii` scramble with seeds of their own and yet are parts of one set of
    points: coordinates are scrambled independently of one another.

    Coordinates are midpoints of a grid of step 2⁻³⁰, so a probability is off by at most 2⁻³¹. The points are most even
    when their count is a power of two. Use it for few columns and many frequencies (d = 5 and m ≥ 64, say); elsewhere
    its directions are little better than independent ones, and `NearOrthogonal` has less error.

    `directions` raises ValueError for inputs of more columns than there are Sobol coordinates.
    """

    def directions(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        if dimension > LARGEST_SOBOL_INPUT:
            raise ValueError(
                f"sampler Sobol takes inputs of at most {LARGEST_SOBOL_INPUT} columns, got {dimension}; "
                "use the sampler orthogonal or fewer columns"
            )
        return normalize(torch.special.ndtri(_sobol_points(count, dimension + 1, generator)[:, 1:]))

    def radii(self, kernel: IsotropicKernel, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        return kernel.radius_quantile(_sobol_points(count, 1, generator)[:, 0], dimension)


def stratified_radii(kernel: IsotropicKernel, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
    """Returns r_i = F⁻¹((π(i) + U_i)/m): one radius from each of m equally likely strata, in random order.

    F is the distribution function of the kernel's radius, π a random permutation of 0 … m − 1, U_i uniform on [0, 1).
    Each single radius has the law F. The result is float64 (count,) at bandwidth 1, on the generator's device.
    """
    stratum = torch.randperm(count, generator=generator, device=generator.device)
    within = torch.rand(count, dtype=torch.float64, generator=generator, device=generator.device)
    return kernel.radius_quantile((stratum + within) / count, dimension)


def _sobol_points(count: int, coordinates: int, generator: torch.Generator) -> Tensor:
    """Draws scrambled Sobol points strictly inside (0, 1): float64 (count, coordinates), on the generator's device.

    The engine rounds its first point, which is the digital shift, to single precision; that point is put right here.
    """
    seed = int(torch.randint(2**32, (), generator=generator, device=generator.device))
    engine = SobolEngine(coordinates, scramble=True, seed=seed)
    points = engine.draw(count, dtype=torch.float64)
    points[0] = engine.shift.double() / 2**engine.MAXBIT
    return (points + 0.5 / 2**engine.MAXBIT).to(generator.device)
