"""Ridge regression from second moments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.choices import SCALES


class AffineMap(NamedTuple):
    """Maps x ↦ weight x + bias, with weight (output, input) and bias (output,)."""

    weight: Tensor
    bias: Tensor

    def __call__(self, inputs: Tensor) -> Tensor:
        return inputs @ self.weight.T + self.bias


Ridge = float | Tensor  # one penalty for all inputs, or one for each, (input,)


class NotPositiveDefinite(ValueError):
    """Says that a system of ridge regression is not positive definite in float64; a larger ridge mends it."""


def smallest(ridge: Ridge) -> float:
    """Returns the least of the penalties, infinity where there are no inputs."""
    penalties = torch.as_tensor(ridge, dtype=torch.float64)
    return float(penalties.min()) if penalties.numel() else math.inf


def per_sample_ridge(ridge: Ridge, *, scale: str, count: int) -> Ridge:
    """Returns the ridge that belongs to second moments divided by `count`.

    scale "samples": the penalty grows with the data, λN on sums, which is λ on means.
    scale "none": λ on sums as the paper writes it (section 3.1), which is λ/N on means.
    Raises ValueError for another scale or a ridge that is not positive.
    """
    if smallest(ridge) <= 0:
        raise ValueError(f"ridge must be positive, got {smallest(ridge)}")
    if scale not in SCALES:
        raise ValueError(f"ridge scale {scale!r} is unknown; choose one of {', '.join(SCALES)}")
    return ridge if scale == "samples" else ridge / count


def factor_ridge(gram: Tensor, ridge: Ridge, *, name: str = "ridge") -> Tensor:
    """Returns the lower Cholesky factor (n, n) of gram + diag(ridge), in float64. gram (n, n) symmetric; name: of the
    ridge, in the message.

    Raises NotPositiveDefinite, a ValueError, when the sum is not positive definite in float64.
    """
    shifted = gram.double().clone()
    shifted.diagonal().add_(ridge)
    factor, info = torch.linalg.cholesky_ex(shifted)
    if int(info) or not bool(torch.isfinite(factor).all()):
        size = f"{len(gram)} × {len(gram)}"
        raise NotPositiveDefinite(
            f"{name} {smallest(ridge):g} leaves a {size} system that is not positive definite; raise it"
        )
    return factor


def solve_ridge(gram: Tensor, cross: Tensor, ridge: Ridge, *, name: str = "ridge") -> Tensor:
    """Returns (gram + diag(ridge))⁻¹ cross, (n, m) in float64. gram (n, n), cross (n, m); name: of the ridge, in the
    message. Raises ValueError as `factor_ridge`."""
    return torch.cholesky_solve(cross.double(), factor_ridge(gram, ridge, name=name))


def mask_patterns(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the different columns of a mask (row, output) as (row, pattern), and the pattern of each output,
    (output,)."""
    if bool((mask == mask[:, :1]).all()):
        return mask[:, :1], torch.zeros(mask.shape[1], dtype=torch.int64, device=mask.device)
    return torch.unique(mask, dim=1, return_inverse=True)


class RegressionData(NamedTuple):
    """Holds the rows of one regression: inputs (row, input), targets and mask (row, output)."""

    inputs: Tensor
    targets: Tensor
    mask: Tensor


class CentredMoments(NamedTuple):
    """Holds means over the `rows` rows of the outputs `columns`, which share one mask, and the centred second
    moments E[x xᵀ] and E[x yᵀ]; with fewer rows than inputs the centred rows x and y themselves, which are less."""

    columns: Tensor
    rows: int
    input_mean: Tensor
    output_mean: Tensor
    first: Tensor
    second: Tensor

    def weights(self, ridge: Ridge) -> Tensor:
        """Returns (input, output): (E[x xᵀ] + ρR)⁻¹ E[x yᵀ] = R⁻¹ xᵀ (x R⁻¹ xᵀ/N + ρI)⁻¹ y/N with diag(ridge) = ρR.

        Raises ValueError as `factor_ridge`.
        """
        if self.rows >= len(self.input_mean):
            return solve_ridge(self.first, self.second, ridge)
        least = smallest(ridge)
        scaled = self.first / (torch.as_tensor(ridge, dtype=torch.float64) / least)
        return scaled.T @ solve_ridge(scaled @ self.first.T / self.rows, self.second, least) / self.rows

    def of_last(self, count: int) -> CentredMoments:
        """Returns the moments of the last `count` inputs alone."""
        return self.of(slice(len(self.input_mean) - count, None))

    def of(self, chosen: slice | Tensor) -> CentredMoments:
        """Returns the moments of some inputs alone, given by a slice or by their places (input,)."""
        input_mean = self.input_mean[chosen]
        if self.rows >= len(self.input_mean):
            first, second = self.first[chosen][:, chosen], self.second[chosen]
        else:
            first, second = self.first[:, chosen], self.second
            if self.rows >= len(input_mean):
                first, second = first.T @ first / self.rows, first.T @ second / self.rows
        return self._replace(input_mean=input_mean, first=first, second=second)


def centred_moments(data: RegressionData) -> list[CentredMoments]:
    """Returns all that ridge regression with an intercept needs of the rows, in float64; one entry for each different
    mask.

    Raises ValueError when an output has no row at all.
    """
    moments_by_mask = []
    patterns, group = mask_patterns(data.mask)
    for i, rows in enumerate(patterns.T):
        columns = group == i
        if not bool(rows.any()):
            raise ValueError("a column has no observed step to regress on; give more data or leave the column out")
        x, y = data.inputs[rows].double(), data.targets[rows][:, columns].double()
        x_mean, y_mean = x.mean(0), y.mean(0)
        x, y = x - x_mean, y - y_mean
        moments = (x, y) if len(x) < x.shape[1] else (x.T @ x / len(x), x.T @ y / len(x))
        moments_by_mask.append(CentredMoments(columns, len(x), x_mean, y_mean, *moments))
    return moments_by_mask


def affine_from_moments(moments: Sequence[CentredMoments], ridge: Ridge, *, scale: str) -> AffineMap:
    """Returns the map of ridge regression with an unpenalised intercept, on means over the rows that the mask keeps.

    minimise  mean‖y − Mx − c‖² + ‖M diag(ridge)^½‖²  in float64, the ridge as `per_sample_ridge` gives it for each
    output's own number of rows. Outputs that share one mask share one solve. Raises ValueError as `per_sample_ridge`
    and `factor_ridge`.
    """
    first = moments[0]
    weight = first.input_mean.new_empty(len(first.columns), len(first.input_mean))
    bias = first.input_mean.new_empty(len(first.columns))
    for part in moments:
        solution = part.weights(per_sample_ridge(ridge, scale=scale, count=part.rows)).T
        weight[part.columns], bias[part.columns] = solution, part.output_mean - solution @ part.input_mean
    return AffineMap(weight, bias)


def masked_mse(predictions: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Returns the mean of squared errors over the entries that `mask` keeps, a float64 scalar; NaN without any.

    predictions, targets and mask have one shape.
    """
    squared = (predictions - targets).double().square_()
    return squared.masked_fill_(~mask, 0.0).sum() / mask.sum()


def infinite_where_nan(errors: Tensor) -> Tensor:
    """Returns the errors, of any shape, with infinity for those that are not a number; an infinite one stays so."""
    return errors.masked_fill(errors.isnan(), math.inf)


def least_validation_error(fits: Iterable[AffineMap], validation: RegressionData) -> tuple[AffineMap, int]:
    """Returns the best of the fits and its place, the first of equals; one fit alone needs no validation rows.

    Raises ValueError without a fit, and when several meet an empty validation part.
    """
    remaining = iter(fits)
    best, place = next(remaining, None), 0
    if best is None:
        raise ValueError("give at least one ridge to choose from")
    least: float | None = None
    for i, fit in enumerate(remaining, start=1):
        if least is None:
            least = validation_error(best, validation)
        error = validation_error(fit, validation)
        if error < least:
            best, place, least = fit, i, error
    return best, place


def validation_error(fit: AffineMap, rows: RegressionData) -> float:
    """Returns the mean squared error of the fit on the rows, infinite where it is not a number.

    Raises ValueError without rows.
    """
    if not bool(rows.mask.any()):
        raise ValueError(
            "several ridges to choose from and no validation step to choose by; give one ridge, fewer gaps or a longer "
            "validation part"
        )
    return float(infinite_where_nan(masked_mse(fit(rows.inputs.double()), rows.targets, rows.mask)))
