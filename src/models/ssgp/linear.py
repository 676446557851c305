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

    The ridge is that of means over rows, with an intercept that is not penalised; the variance is the mean squared
    residual, at least `LEAST_VARIANCE`. Raises ValueError as `models.numerics.ridge.affine_from_moments`.
    """
    column = targets.unsqueeze(1)
    moments = centred_moments(RegressionData(inputs, column, torch.ones_like(column, dtype=torch.bool)))
    maps = [affine_from_moments(moments, ridge, scale="samples") for ridge in ridges]
    return [LinearGaussian(fit, residual_variance(fit, inputs, column)) for fit in maps]


def residual_variance(fit: AffineMap, inputs: Tensor, column: Tensor) -> Tensor:
    """Returns the mean squared residual of the map at inputs (row, dimension) and targets (row, 1), a scalar."""
    return (fit(inputs.double()) - column.double()).square().mean().clamp(min=LEAST_VARIANCE)
