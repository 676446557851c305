"""A Gaussian process with a Gaussian kernel at so many places: the exact one, and the variational one that is told by
the values at inducing points (Titsias, 2009; Hensman, Matthews and Ghahramani, 2015).

With k(x) the kernel between the places and x, K = L Lᵀ their covariance and h(x) = L⁻¹ k(x):

    mean(x) = h(x)ᵀ w,   variance(x) = s² − ‖h(x)‖² + ‖Rᵀ h(x)‖²  (+ σ² for an observation)

The exact process has the training rows as its places, K with σ² on the diagonal, w = L⁻¹ y and no R. The variational
one has w and R Rᵀ as mean and covariance of L⁻¹ u, for the values u at the inducing points.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.ssgp.model import Prediction, predicted_in_blocks


class GaussianKernel(NamedTuple):
    """Holds s² exp(−½ Σ ((x − z)/l)²): the length-scales l (dimension,) and s², a scalar."""

    length_scales: Tensor
    signal: Tensor

    def between(self, left: Tensor, right: Tensor) -> Tensor:
        """Returns the kernel between rows (i, dimension) and (j, dimension), (i, j)."""
        scaled = left / self.length_scales, right / self.length_scales
        distances = torch.cdist(scaled[0], scaled[1], compute_mode="donot_use_mm_for_euclid_dist")
        return self.signal * (-0.5 * distances.square()).exp()


class KernelProcess(NamedTuple):
    """Holds a fitted process in float64: places (k, dimension), length-scales (dimension,), the variances s² and σ²,
    the lower Cholesky factor L (k, k), w (k,), and R (k, r), where r = 0 of an exact process."""

    places: Tensor
    length_scales: Tensor
    signal: Tensor
    noise: Tensor
    factor: Tensor
    weights: Tensor
    spread: Tensor

    def predict(self, inputs: Tensor) -> Prediction:
        """Returns mean and variances (row,), float64, at inputs (row, dimension), see `predicted_in_blocks`."""
        return predicted_in_blocks(self._of_block, inputs)

    def _of_block(self, inputs: Tensor) -> Prediction:
        kernel = GaussianKernel(self.length_scales, self.signal).between(self.places, inputs.double())
        half = torch.linalg.solve_triangular(self.factor, kernel, upper=False)
        variance = self.signal - half.square().sum(0) + (self.spread.T @ half).square().sum(0)
        variance = variance.clamp(min=0)
        return Prediction(self.weights @ half, variance + self.noise, variance)


@torch.no_grad()
def exact_process(kernel: GaussianKernel, noise: Tensor, inputs: Tensor, targets: Tensor) -> KernelProcess:
    """Returns the process conditioned on targets (row,) at inputs (row, dimension). noise: σ², a scalar."""
    places = inputs.double()
    covariance = kernel.between(places, places)
    covariance.diagonal().add_(noise)
    factor = torch.linalg.cholesky(covariance)
    weights = torch.linalg.solve_triangular(factor, targets.double().unsqueeze(1), upper=False).squeeze(1)
    return KernelProcess(places, *kernel, noise, factor, weights, factor[:, :0])


class InducingValues(NamedTuple):
    """Holds inducing points (k, dimension), what is added to the diagonal of their covariance before it is decomposed,
    and the mean w (k,) of L⁻¹ u and the root R (k, k) of its covariance."""

    places: Tensor
    jitter: float
    mean: Tensor
    root: Tensor


@torch.no_grad()
def variational_process(kernel: GaussianKernel, noise: Tensor, values: InducingValues) -> KernelProcess:
    """Returns the process that is told by its values at inducing points. noise: σ², a scalar."""
    places = values.places.double()
    covariance = kernel.between(places, places)
    covariance.diagonal().add_(values.jitter)
    factor = torch.linalg.cholesky(covariance)
    return KernelProcess(places, *kernel, noise, factor, values.mean.double(), values.root.double())
