"""Linear ridge regression as a process: the control that a Gaussian process is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.ridge import AffineMap, RegressionData, affine_from_moments, centred_moments
from models.ssgp.model import Prediction

LEAST_VARIANCE = 1e-12  # in units of the standardised target's


class LinearGaussian(NamedTuple):
    """Holds the linear function of one output, weight (1, dimension) and bias (1,), and the variance of what it leaves
    of the targets, a scalar."""

    fit: AffineMap
    variance: Tensor

    def predict(self, inputs: Tensor) -> Prediction:
        """Returns mean and variances (row,), float64, at inputs (row, dimension).

        The variance is the same everywhere, and that of the function is 0: nothing is said of how well it is known.
        """
        mean = self.fit(inputs.double()).squeeze(1)
        return Prediction(mean, self.variance.expand_as(mean), torch.zeros_like(mean))


def linear_gaussians(inputs: Tensor, targets: Tensor, ridges: Sequence[float]) -> list[LinearGaussian]:
    """Returns the ridge regression of targets (row,) on inputs (row, dimension) for each ridge.

    The ridge λ is that of means over N rows, with an intercept that is not penalised. The variance is the sum of
    squared residuals over N − 1 − df, the rows less what the intercept and the weights take of them, where
    df = tr((XᵀX + λN)⁻¹XᵀX) of the centred inputs X (Hastie, Tibshirani and Friedman 2009, section 3.4.1). The divisor
    is at least 1 and the variance at least `LEAST_VARIANCE`. Raises ValueError as
    `models.numerics.ridge.affine_from_moments`.
    """
    column = targets.unsqueeze(1)
    moments = centred_moments(RegressionData(inputs, column, torch.ones_like(column, dtype=torch.bool)))
    maps = [affine_from_moments(moments, ridge, scale="samples") for ridge in ridges]
    squares = spectrum(inputs)
    left = [len(inputs) - 1 - float((squares / (squares + ridge * len(inputs))).sum()) for ridge in ridges]
    return [
        LinearGaussian(fit, residual_variance(fit, inputs, column, left=own))
        for fit, own in zip(maps, left, strict=True)
    ]


def spectrum(inputs: Tensor) -> Tensor:
    """Returns the eigenvalues of XᵀX that rounding does not make, for the centred inputs X (row, dimension)."""
    centred = inputs.double() - inputs.double().mean(0)
    singular = torch.linalg.svdvals(centred)
    return singular[singular > max(centred.shape) * torch.finfo(torch.float64).eps * singular.max()].square()


def residual_variance(fit: AffineMap, inputs: Tensor, column: Tensor, *, left: float) -> Tensor:
    """Returns the sum of squared residuals of the map at inputs (row, dimension) and targets (row, 1) over the degrees
    of freedom that are left, at least 1, as a scalar."""
    squares = (fit(inputs.double()) - column.double()).square().sum()
    return (squares / max(left, 1.0)).clamp(min=LEAST_VARIANCE)
