"""Ridge regression from second moments: the only linear solves of the project."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

SCALES = ("samples", "none")


class AffineMap(NamedTuple):
    """x ↦ weight x + bias, with weight (output, input) and bias (output,)."""

    weight: Tensor
    bias: Tensor

    def __call__(self, inputs: Tensor) -> Tensor:
        return inputs @ self.weight.T + self.bias


def per_sample_ridge(ridge: float, *, scale: str, count: int) -> float:
    """The ridge that belongs to second moments divided by `count`.

    scale "samples": the penalty grows with the data, λN on sums, which is λ on means.
    scale "none": λ on sums as the paper writes it (section 3.1), which is λ/N on means.
    Raises ValueError for another scale or a ridge that is not positive.
    """
    if ridge <= 0:
        raise ValueError(f"ridge must be positive, got {ridge}")
    if scale not in SCALES:
        raise ValueError(f"ridge scale {scale!r} is unknown; choose one of {', '.join(SCALES)}")
    return ridge if scale == "samples" else ridge / count


def solve_ridge(gram: Tensor, cross: Tensor, ridge: float) -> Tensor:
    """(gram + ridge·I)⁻¹ cross by Cholesky, in float64. gram (n, n) symmetric, cross (n, m).

    Raises ValueError when the sum is not positive definite in float64 (a larger ridge mends it).
    """
    shifted = gram.double().clone()
    shifted.diagonal().add_(ridge)
    factor, info = torch.linalg.cholesky_ex(shifted)
    if int(info) or not bool(torch.isfinite(factor).all()):
        raise ValueError(
            f"ridge {ridge:g} leaves a {len(gram)} × {len(gram)} system that is not positive definite; raise it"
        )
    return torch.cholesky_solve(cross.double(), factor)


def mask_patterns(mask: Tensor) -> tuple[Tensor, Tensor]:
    """The different columns of a mask (row, output) as (row, pattern), and the pattern of each output."""
    if bool((mask == mask[:, :1]).all()):
        return mask[:, :1], torch.zeros(mask.shape[1], dtype=torch.int64, device=mask.device)
    return torch.unique(mask, dim=1, return_inverse=True)


def fit_affine(inputs: Tensor, targets: Tensor, mask: Tensor, *, ridge: float) -> AffineMap:
    """Ridge regression with an unpenalised intercept, on means over the rows that `mask` keeps.

    minimise  mean‖y − Mx − c‖² + ridge·‖M‖²,  inputs (row, input), targets and mask (row, output); float64.
    Outputs that share one mask share one solve. Raises ValueError when an output has no row at all.
    """
    weight = torch.empty(targets.shape[1], inputs.shape[1], dtype=torch.float64, device=inputs.device)
    bias = torch.empty(targets.shape[1], dtype=torch.float64, device=inputs.device)
    patterns, group = mask_patterns(mask)
    for i, rows in enumerate(patterns.T):
        columns = group == i
        if not bool(rows.any()):
            raise ValueError("a column has no observed step to regress on; give more data or leave the column out")
        x, y = inputs[rows].double(), targets[rows][:, columns].double()
        x_mean, y_mean = x.mean(0), y.mean(0)
        x, y = x - x_mean, y - y_mean
        solution = solve_ridge(x.T @ x / len(x), x.T @ y / len(x), ridge).T
        weight[columns], bias[columns] = solution, y_mean - solution @ x_mean
    return AffineMap(weight, bias)


def masked_mse(predictions: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Mean of squared errors over the entries that `mask` keeps, accumulated in float64; NaN without any."""
    squared = (predictions - targets).double().square_()
    return squared.masked_fill_(~mask, 0.0).sum() / mask.sum()


class RegressionData(NamedTuple):
    """Rows of one regression: inputs (row, input), targets and mask (row, output)."""

    inputs: Tensor
    targets: Tensor
    mask: Tensor


def fit_affine_by_validation(
    train: RegressionData, validation: RegressionData, ridges: Sequence[float], *, scale: str
) -> tuple[AffineMap, float]:
    """The fit of `ridges` with the least validation error, and its ridge; a single ridge needs no validation rows.

    Raises ValueError for an empty list, and when several ridges meet an empty validation part.
    """
    if not ridges:
        raise ValueError("give at least one ridge to choose from")
    if len(ridges) > 1 and not bool(validation.mask.any()):
        raise ValueError("several ridges to choose from and no validation step to choose by; give one ridge")
    fits = []
    for ridge in ridges:
        per_sample = per_sample_ridge(ridge, scale=scale, count=len(train.inputs))
        fits.append(fit_affine(*train, ridge=per_sample))
    if len(fits) == 1:
        return fits[0], ridges[0]
    errors = [float(masked_mse(fit(validation.inputs.double()), *validation[1:])) for fit in fits]
    best = min(range(len(fits)), key=lambda i: errors[i] if math.isfinite(errors[i]) else math.inf)
    return fits[best], ridges[best]
