"""Errors of many maps on the same held-out rows, without going through the rows for each of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from models.numerics.ridge import AffineMap, RegressionData, masked_mse, validation_error

MANY = 32  # outputs, from which on it pays
ROUNDING = 1e-13  # share of the targets' squares below which a sum of squares is the rounding of a difference


def least_error(targets: Tensor, mask: Tensor) -> float:
    """Returns the mean squared error below which errors of forecasts of the targets are rounding: `ROUNDING` of the
    mean square of those that `mask`, of their shape, keeps."""
    return ROUNDING * float(masked_mse(torch.zeros_like(targets), targets, mask))


def reduced_error(rows: RegressionData) -> Callable[[AffineMap], float]:
    """Returns the function that gives the mean squared error of a map on rows whose outputs were all observed.

    With [x, 1] = QR it is ‖Y − [x, 1] W‖² = ‖QᵀY − R W‖² + ‖Y‖² − ‖QᵀY‖², W the weights above the bias: a product of
    as many rows as there are inputs. An error below `ROUNDING` of the targets' mean square is given as that, since the
    difference says no more; so no error is negative, and two that only rounding tells apart are equal.
    """
    inputs, targets = rows.inputs.double(), rows.targets.double()
    q, r = torch.linalg.qr(torch.cat([inputs, torch.ones_like(inputs[:, :1])], 1))
    projected = q.T @ targets
    whole = float(targets.square().sum())
    beside = whole - float(projected.square().sum())

    def error(fit: AffineMap) -> float:
        weights = torch.cat([fit.weight.T, fit.bias.unsqueeze(0)])
        total = float((projected - r @ weights).square().sum()) + beside
        return max(total, ROUNDING * whole) / targets.numel() if math.isfinite(total) else math.inf

    return error


def error_on(rows: RegressionData) -> Callable[[AffineMap], float]:
    """Returns the function that gives what `validation_error` gives of a map on these rows, up to rounding.

    It raises ValueError without rows.
    """
    many = rows.targets.shape[1] >= MANY and len(rows.inputs) > 2 * rows.inputs.shape[1]
    if many and bool(rows.mask.all()):
        return reduced_error(rows)
    return lambda fit: validation_error(fit, rows)
