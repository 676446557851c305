"""Shift-invariant kernels: exact values, and the law of the frequencies that Bochner's theorem gives them.

A kernel is K(x, y) = φ(‖x − y‖₂ / ℓ) with bandwidth ℓ. By Bochner's theorem (paper, equation 2) φ is the characteristic
function of a frequency w. For an isotropic kernel w = r·u / ℓ, where the direction u is uniform on the sphere and
independent of the radius r ≥ 0. This file holds the radial laws, at bandwidth 1; `samplers` holds the directions.
The paper's table of kernels (figure 2) has two slips, put right here: see `Gaussian` and `LaplacianL1`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy import special
from torch import Tensor

from models.ranges import Positive
from models.runtime.parameters import number

NEGLIGIBLE = 1e-40  # tail probability at which quadratures over log-gammas are cut off
NEWTON_STEPS = 100  # seven at most are taken at shapes from 1e-6 to 1e7
LARGEST_BESSEL_ORDER = 50.0  # above it K_ν overflows at distances that matter


class IsotropicKernel(ABC):
    """Is a radial basis function φ(‖x − y‖₂ / ℓ): its frequency has a uniform direction and an independent radius."""

    isotropic: ClassVar[bool] = True

    @abstractmethod
    def value(self, distance: Tensor) -> Tensor:
        """Returns φ(z) for scaled distances z = ‖x − y‖₂ / ℓ of any shape, with their shape, dtype and device.
        φ(0) = 1."""

    @abstractmethod
    def radius_quantile(self, probability: Tensor, dimension: int) -> Tensor:
        """Returns F⁻¹(p), F the distribution function of the radius at bandwidth 1.

        It is 0 at p = 0 and infinite at p = 1.
        probability: any shape, values in [0, 1] (NaN outside); the result has its shape, dtype and device.
        dimension: d, the columns of the inputs.
        """

    def radii(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        """Returns independent radii at bandwidth 1, float64 (count,): the quantiles of uniform draws, which have
        exactly the kernel's law."""
        return self.radius_quantile(_uniform(count, generator), dimension)


@dataclass(frozen=True, kw_only=True)
class Gaussian(IsotropicKernel):
    """Is the kernel φ(z) = exp(−z²/2). Its radius is r ~ χ_d, so that w is standard normal divided by ℓ.

    The paper's density (figure 2) writes λ² where λ⁻² is meant: w has covariance I/ℓ². Use it as the first choice, for
    smooth signals.
    """

    def value(self, distance: Tensor) -> Tensor:
        return torch.exp(-0.5 * distance.square())

    def radius_quantile(self, probability: Tensor, dimension: int) -> Tensor:
        return _elementwise(lambda p: _chi_quantile(p, dimension), probability)


@dataclass(frozen=True, kw_only=True)
class Matern(IsotropicKernel):
    """Is the kernel φ(z) = 2^(1−ν)/Γ(ν) (√(2ν) z)^ν K_ν(√(2ν) z), ν the smoothness (Rasmussen and Williams 2006,
    equation 4.14).

    Its radius is r = χ_d √(2ν/χ²_2ν) with independent draws, that is w is multivariate Student-t with 2ν degrees of
    freedom and r²/d ~ F(d, 2ν). ν = 1/2 is `Laplacian`; ν → ∞ is `Gaussian`. Use it for signals with kinks.

    Raises TypeError unless the smoothness is a plain number, Python's or NumPy's and no array or tensor, and ValueError
    unless it is positive and finite.
    """

    smoothness: Positive

    def __post_init__(self) -> None:
        number("smoothness", self.smoothness)

    def value(self, distance: Tensor) -> Tensor:
        formula = _matern_by_bessel if self.smoothness <= LARGEST_BESSEL_ORDER else _matern_by_mixture
        return _elementwise(lambda z: formula(z, self.smoothness), distance)

    def radius_quantile(self, probability: Tensor, dimension: int) -> Tensor:
        return _elementwise(lambda p: _student_quantile(p, dimension, self.smoothness), probability)


@dataclass(frozen=True, kw_only=True)
class Laplacian(IsotropicKernel):
    """Is the kernel φ(z) = exp(−z) with the Euclidean distance z, which is the Matérn one of smoothness 1/2; w is
    multivariate Cauchy.

    The kernel exp(−‖x − y‖₁/ℓ) is another one, `LaplacianL1`. Use it for rough signals.
    """

    def value(self, distance: Tensor) -> Tensor:
        return torch.exp(-distance)

    def radius_quantile(self, probability: Tensor, dimension: int) -> Tensor:
        return _elementwise(lambda p: _student_quantile(p, dimension, 0.5), probability)


@dataclass(frozen=True, kw_only=True)
class RationalQuadratic(IsotropicKernel):
    """Is the kernel φ(z) = (1 + z²/(2α))^(−α), α the shape (Rasmussen and Williams 2006, equation 4.19).

    φ(z) = E exp(−τz²/2) with τ ~ Gamma(shape α, rate α), hence r = √τ χ_d: a mixture of Gaussian kernels over
    bandwidths. Use it when several length scales matter.

    `radius_quantile` has no closed form: the distribution function is integrated by the trapezoid rule and inverted by
    Newton's method; measured relative error below 1e-8 for probabilities from 1e-10 to 1 − 1e-10. `radii` does not need
    it and is exact.

    Raises TypeError unless the shape is a plain number, Python's or NumPy's and no array or tensor, and ValueError
    unless it is positive and finite. `radius_quantile` raises ValueError where Newton's method does not settle, as it
    may with a shape of 1e-12.
    """

    shape: Positive

    def __post_init__(self) -> None:
        number("shape", self.shape)

    def value(self, distance: Tensor) -> Tensor:
        return torch.exp(-self.shape * torch.log1p(distance.square() / (2 * self.shape)))

    def radius_quantile(self, probability: Tensor, dimension: int) -> Tensor:
        def quantile(p: np.ndarray) -> np.ndarray:
            return np.sqrt(2 / self.shape) * np.exp(0.5 * _log_gamma_product_quantile(p, self.shape, dimension / 2))

        return _elementwise(quantile, probability)

    def radii(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        precision = _elementwise(lambda p: special.gammaincinv(self.shape, p) / self.shape, _uniform(count, generator))
        return precision.sqrt() * _elementwise(lambda p: _chi_quantile(p, dimension), _uniform(count, generator))


@dataclass(frozen=True, kw_only=True)
class LaplacianL1:
    """Is the kernel K(x, y) = exp(−‖x − y‖₁/ℓ), the Laplacian of the paper's figure 2, a product over coordinates.

    Its frequencies have independent Cauchy coordinates, density Π 1/(π(1 + w_i²)); the paper's table leaves out the
    square. It is not isotropic, so it goes with independent sampling only.
    """

    isotropic: ClassVar[bool] = False

    def value(self, difference: Tensor) -> Tensor:
        """Returns exp(−Σ_i |δ_i|) for scaled differences δ = (x − y)/ℓ (not distances): (..., dimension) → (...)."""
        return torch.exp(-difference.abs().sum(-1))

    def frequencies(self, count: int, dimension: int, *, generator: torch.Generator) -> Tensor:
        """Returns independent frequencies at bandwidth 1, float64 (count, dimension)."""
        return torch.tan(torch.pi * (_uniform(count * dimension, generator) - 0.5)).reshape(count, dimension)


Kernel = IsotropicKernel | LaplacianL1


def _uniform(count: int, generator: torch.Generator) -> Tensor:
    return torch.rand(count, dtype=torch.float64, generator=generator, device=generator.device)


def _elementwise(function: Callable[[np.ndarray], np.ndarray], x: Tensor) -> Tensor:
    """Applies a NumPy function of one array in float64; the result has x's dtype and device."""
    return torch.as_tensor(np.asarray(function(x.detach().cpu().double().numpy()))).to(x)


def _chi_quantile(p: np.ndarray, dimension: int) -> np.ndarray:
    return np.sqrt(2 * special.gammaincinv(dimension / 2, p))


def _student_quantile(p: np.ndarray, dimension: int, smoothness: float) -> np.ndarray:
    """Returns the quantile r at p, r² = 2ν x/(1 − x) with x ~ Beta(d/2, ν). x and 1 − x come from two inverses, so both
    tails keep their digits."""
    x = special.betaincinv(dimension / 2, smoothness, p)
    complement = special.betainccinv(smoothness, dimension / 2, p)
    with np.errstate(divide="ignore"):
        return np.sqrt(2 * smoothness * x / complement)


def _matern_by_bessel(z: np.ndarray, smoothness: float) -> np.ndarray:
    """Returns the Matérn kernel φ(z) by its formula in logarithms. Where K_ν overflows, the kernel is 1 to within 1e-11
    at orders up to 50."""
    u = np.sqrt(2 * smoothness) * z
    with np.errstate(divide="ignore", invalid="ignore"):
        bessel = special.kve(smoothness, u)
        log_value = math.log(2) - math.lgamma(smoothness) + smoothness * np.log(u / 2) + np.log(bessel) - u
    return np.where(np.isinf(bessel), 1.0, np.exp(log_value))


def _matern_by_mixture(z: np.ndarray, smoothness: float) -> np.ndarray:
    """Returns the Matérn kernel as E exp(−νz²/(2g)) over g ~ Gamma(ν), for orders at which the Bessel function
    overflows."""
    nodes, weights = _log_gamma_quadrature(smoothness)
    return np.exp(-0.5 * np.square(z)[..., None] * smoothness * np.exp(-nodes)) @ weights


def _log_gamma_quantile(tail: np.ndarray | float, shape: float, *, upper: bool = False) -> np.ndarray:
    """Returns log x with P(g ≤ x) = tail, or P(g > x) = tail when `upper`, g ~ Gamma(shape).

    Where x underflows, it is found by P(g ≤ x) = x^a/Γ(a + 1), a the shape, which is exact in the limit x → 0.
    """
    quantile = special.gammainccinv(shape, tail) if upper else special.gammaincinv(shape, tail)
    limit = (np.log1p(-tail) if upper else np.log(tail)) + math.lgamma(shape + 1)
    return np.where(quantile > 1e-300, np.log(np.maximum(quantile, 1e-300)), limit / shape)


def _log_gamma_quadrature(shape: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns nodes t and weights with Σ_j weights_j f(t_j) = E f(log g), g ~ Gamma(shape), (node,) each.

    The density of log g is analytic and falls at least exponentially, so the trapezoid rule converges exponentially.
    """
    step = min(0.2, 0.4 / math.sqrt(shape))
    low, high = (float(_log_gamma_quantile(NEGLIGIBLE, shape, upper=upper)) for upper in (False, True))
    nodes = np.arange(low - step, high + step, step)
    centred = nodes - math.log(shape)
    density = np.exp(shape * (centred - np.expm1(centred)))
    return nodes, density / density.sum()


def _log_gamma_product_quantile(p: np.ndarray, first_shape: float, second_shape: float) -> np.ndarray:
    """Returns the quantiles at p of y = log(g₁ g₂) with independent g_i ~ Gamma(shape_i)."""
    small, large = sorted((first_shape, second_shape))
    result = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.nan))
    lower, upper = (p > 0) & (p <= 0.5), (p > 0.5) & (p < 1)
    result[lower] = _tail_root(p[lower], small, large, upper=False)
    result[upper] = _tail_root(1 - p[upper], small, large, upper=True)
    return result


def _tail_root(tail: np.ndarray, small: float, large: float, *, upper: bool) -> np.ndarray:
    """Returns y with P(log(g₁ g₂) ≤ y) = tail, or P(log(g₁ g₂) > y) = tail when `upper`.

    y has a log-concave density, so the logarithm of either tail is concave and Newton's method on it runs monotonically
    to the root from the outer side, where P(g₁g₂ > ab) ≤ P(g₁ > a) + P(g₂ > b) and its mirror image let it start.
    Raises ValueError where it does not settle.
    """
    nodes, weights = _log_gamma_quadrature(large)
    y = sum((_log_gamma_quantile(tail / 2, shape, upper=upper) for shape in (small, large)), np.zeros_like(tail))
    for _ in range(NEWTON_STEPS):
        u = np.minimum(y[:, None] - nodes, 700.0)
        probability = _log_gamma_tail(u, small, upper=upper) @ weights
        density = np.exp(small * u - np.exp(u) - math.lgamma(small)) @ weights
        step = (-1 if upper else 1) * np.log(tail / probability) * probability / density
        y = y + step
        if np.all(np.abs(step) <= 1e-11 * (1 + np.abs(y))):
            return y
    raise ValueError(
        f"quantiles of radii of a rational quadratic kernel did not settle in {NEWTON_STEPS} steps of Newton's method "
        f"(shapes {small:g} and {large:g}); take a shape nearer to 1, or a sampler that draws independent radii"
    )


def _log_gamma_tail(u: np.ndarray, shape: float, *, upper: bool) -> np.ndarray:
    """Returns P(log g ≤ u), or P(log g > u) when `upper`, g ~ Gamma(shape). Where e^u underflows, the limit x → 0 is
    taken."""
    limit = np.exp(np.minimum(shape * u - math.lgamma(shape + 1), 0.0))
    if upper:
        return np.where(u > -600, special.gammaincc(shape, np.exp(u)), 1 - limit)
    return np.where(u > -600, special.gammainc(shape, np.exp(u)), limit)
