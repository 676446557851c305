"""Slow twins of the fast code: written out term by term, for comparison in tests only."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy import integrate, special
from torch import Tensor

# --- random features: Hadamard matrices, kernels, radial laws ---------------------------------------------------------


def hadamard_matrix(size: int) -> Tensor:
    """The orthonormal Hadamard matrix in Sylvester's order, entry by entry: (−1)^popcount(i & j) / √size."""
    signs = [[(-1.0) ** (i & j).bit_count() for j in range(size)] for i in range(size)]
    return torch.tensor(signs, dtype=torch.float64) / math.sqrt(size)


def matern_half_integer(distance: Tensor, smoothness: float) -> Tensor:
    """Closed forms of the Matérn kernel (Rasmussen and Williams 2006, equation 4.17) at 1/2, 3/2 and 5/2."""
    u = math.sqrt(2 * smoothness) * distance
    polynomial = {0.5: torch.ones_like(u), 1.5: 1 + u, 2.5: 1 + u + u**2 / 3}[smoothness]
    return polynomial * torch.exp(-u)


def kernel_by_radial_law(radii: Tensor, distance: float, dimension: int) -> float:
    """Mean of cos(r z u_1) over radii and uniform u: Schoenberg's Γ(d/2) (2/t)^(d/2−1) J_(d/2−1)(t) at t = r z."""
    t = distance * radii.numpy()
    order = dimension / 2 - 1
    return float(np.mean(special.gamma(dimension / 2) * (2 / t) ** order * special.jv(order, t)))


def rational_quadratic_radius_probability(radius: float, shape: float, dimension: int) -> float:
    """P(√τ χ_d ≤ r), τ ~ Gamma(shape, rate shape), by adaptive quadrature over log τ."""

    def integrand(t: float) -> float:
        log_density = shape * (t - math.exp(t) + math.log(shape)) - math.lgamma(shape)
        return math.exp(log_density) * special.gammainc(dimension / 2, radius**2 * math.exp(-t) / 2)

    return integrate.quad(integrand, -40 / shape - 5, 6, limit=500, epsabs=0, epsrel=1e-10, points=[-3, -1, 0, 1])[0]
