"""Section 5 of the paper, exactly, for matrices that can be decomposed: the oracle of the iterative forms.

K is a kernel matrix, N × N, symmetric and positive semidefinite; the shift is λN; B = K + λN·I. The paper copies its
risk from Avron et al. (2017), who write λ for its λN, and keeps their factors λ where λN would have to stand. Here
formula (5) is derived anew: the estimator's values are K B⁻¹ y with y = f + noise, so f minus their mean is λN B⁻¹ f.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from models.runtime.parameters import number

SYMMETRIC = 1e-10  # largest difference from the transpose, relative to the largest entry


class Approximation(NamedTuple):
    """Holds the least and the largest eigenvalue of B⁻¹(K̂ − K): (1 + lowest) B ⪯ K̂ + λN·I ⪯ (1 + highest) B, and
    no tighter."""

    lowest: float
    highest: float

    @property
    def delta(self) -> float:
        """Returns the least Δ with (1 − Δ) B ⪯ K̂ + λN·I ⪯ (1 + Δ) B (definition 1); above 1 K̂ approximates
        nothing."""
        return max(-self.lowest, self.highest, 0.0)


class Risk(NamedTuple):
    """Holds what the empirical risk of ridge regression with a kernel matrix, and its bound, consist of.

    bias: λ²N ‖B⁻¹f‖². variance: σ²/N Tr(K²B⁻²). bias_bound: λ fᵀB⁻¹f. dimension: s_λ = Tr(K B⁻¹).
    variance_bound: σ²/N s_λ. All but the dimension are in the squared unit of the signal.
    """

    bias: float
    variance: float
    bias_bound: float
    variance_bound: float
    dimension: float

    @property
    def total(self) -> float:
        """Returns R, formula (5): the mean squared distance from f over the N points, expected over the noise."""
        return self.bias + self.variance

    @property
    def bound(self) -> float:
        """Returns R̄ ≥ R: every eigenvalue of λN·B⁻¹ and of K B⁻¹ lies in [0, 1], so it is at least its own square."""
        return self.bias_bound + self.variance_bound


def check_matrix(matrix: Tensor) -> None:
    """Raises ValueError unless the matrix (N, N) is square, finite, symmetric and has a row."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"the kernel matrix must be square with at least one row, got shape {tuple(matrix.shape)}")
    if not bool(matrix.isfinite().all()):
        row, column = (~matrix.isfinite()).nonzero()[0].tolist()
        raise ValueError(f"the kernel matrix is not finite at row {row}, column {column}; look at the inputs")
    difference = float((matrix - matrix.T).abs().max())
    if difference > SYMMETRIC * float(matrix.abs().max()):
        raise ValueError(f"the kernel matrix is not symmetric: it differs from its transpose by {difference:.3g}")


def check_signal(signal: Tensor, rows: int, noise: float) -> None:
    """Raises ValueError for a signal f that is not of shape (rows,) or not finite, and a noise σ that is negative or
    not finite."""
    if signal.shape != (rows,) or not bool(signal.isfinite().all()):
        raise ValueError(f"the signal must be {rows} finite numbers, got shape {tuple(signal.shape)}")
    if not 0 <= noise < math.inf:
        raise ValueError(f"the noise must be finite and not negative, got {noise}")


def extremes(whitened: Tensor) -> Approximation:
    """Returns the least and the largest eigenvalue of a symmetric matrix (N, N) of which rounding has left the two
    triangles slightly different."""
    values = torch.linalg.eigvalsh((whitened + whitened.T) / 2)
    return Approximation(float(values[0]), float(values[-1]))


def risk_of_spectrum(values: Tensor, coefficients: Tensor, *, signal: Tensor, ridge: float, noise: float) -> Risk:
    """Returns the `Risk` from the eigenvalues (r,) of K that may differ from 0 and the signal's coefficients (r,)
    there.

    What the r eigenvectors do not hold of the signal (N,) K maps to 0. Rounding may leave eigenvalues slightly below 0;
    they count as 0. ridge: λ; noise: σ.
    """
    rows, shift = len(signal), ridge * len(signal)
    lost = shift / (values.clamp(min=0) + shift)
    retained, power = 1 - lost, coefficients.square()
    rest = float((signal.square().sum() - power.sum()).clamp(min=0))
    scale, dimension = noise**2 / rows, float(retained.sum())
    return Risk(
        bias=(float((lost.square() * power).sum()) + rest) / rows,
        variance=scale * float(retained.square().sum()),
        bias_bound=(float((lost * power).sum()) + rest) / rows,
        variance_bound=scale * dimension,
        dimension=dimension,
    )


class KernelSpectrum:
    """Holds a kernel matrix (N, N) decomposed once, for the Δ of many feature maps.

    values: eigenvalues (N,), ascending, not below 0; vectors: their eigenvectors as columns, (N, N). Both are float64.
    Memory O(N²), time O(N³).
    Raises ValueError for a matrix that is not square, finite and symmetric.
    """

    def __init__(self, matrix: Tensor) -> None:
        check_matrix(matrix)
        values, self.vectors = torch.linalg.eigh(matrix.double())
        self.values = values.clamp(min=0)

    def __len__(self) -> int:
        return len(self.values)

    def dimension(self, ridge: float) -> float:
        """Returns s_λ(K) = Tr(K(K + λN·I)⁻¹), the statistical dimension, between 0 and N.

        Raises ValueError for a ridge λ that is not positive.
        """
        number("ridge", ridge)
        return float((self.values / (self.values + ridge * len(self))).sum())

    def risk(self, signal: Tensor, *, ridge: float, noise: float) -> Risk:
        """Returns the `Risk` of kernel ridge regression with K itself. signal: f at the N points, (N,); ridge: λ;
        noise: σ ≥ 0.

        Raises ValueError for a signal that does not fit, a ridge that is not positive and a negative noise.
        """
        number("ridge", ridge)
        check_signal(signal, len(self), noise)
        coefficients = self.vectors.T @ signal.double()
        return risk_of_spectrum(self.values, coefficients, signal=signal.double(), ridge=ridge, noise=noise)

    def approximation(self, features: Tensor, *, ridge: float) -> Approximation:
        """Returns the `Approximation` by K̂ = ΦΦᵀ, features Φ (N, 2m): the extreme eigenvalues of
        B^(−1/2)(ΦΦᵀ − K)B^(−1/2).

        Raises ValueError for features of another number of rows or not finite, and a ridge that is not positive.
        """
        number("ridge", ridge)
        check_features(features, len(self))
        shift = ridge * len(self)
        whitened = (self.vectors / (self.values + shift).sqrt()).T @ features.double()
        difference = whitened @ whitened.T
        difference.diagonal().sub_(self.values / (self.values + shift))
        return extremes(difference)


def check_features(features: Tensor, rows: int) -> None:
    """Raises ValueError unless the features are finite and of shape (rows, any)."""
    if features.ndim != 2 or len(features) != rows:
        raise ValueError(f"the features must have {rows} rows, got shape {tuple(features.shape)}")
    if not bool(features.isfinite().all()):
        raise ValueError("the features are not finite; look at the inputs and the frequencies")


def feature_risk(features: Tensor, signal: Tensor, *, ridge: float, noise: float) -> Risk:
    """Returns the `Risk` of ridge regression on features Φ (N, p), that is with K̂ = ΦΦᵀ: formula (5) for the
    approximate kernel.

    signal: f (N,); ridge: λ; noise: σ ≥ 0. The result is exact at any N. It is found by the N × N moments, or by
    the singular values of Φ where N > p, so time O(N p min(N, p)).
    Raises ValueError like `KernelSpectrum.risk` and for features that are not finite.
    """
    number("ridge", ridge)
    check_features(features, len(signal))
    check_signal(signal, len(features), noise)
    features, signal = features.double(), signal.double()
    if len(features) <= features.shape[1]:
        values, vectors = torch.linalg.eigh(features @ features.T)
    else:
        vectors, singular, _ = torch.linalg.svd(features, full_matrices=False)
        values = singular.square()
    return risk_of_spectrum(values, vectors.T @ signal, signal=signal, ridge=ridge, noise=noise)
