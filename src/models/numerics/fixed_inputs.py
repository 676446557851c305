"""Ridge regression again and again where most of the inputs never change."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.ridge import AffineMap, CentredMoments, factor_ridge, per_sample_ridge, solve_ridge

BLOCK = 2048  # rows converted to float64 at a time


class Factored(NamedTuple):
    """Holds what is computed once for one ridge λ of the fixed inputs: the Cholesky factor of G + λI, or with fewer
    rows than inputs that of x xᵀ/N + λI, and A = (G + λI)⁻¹ C (fixed, output) of `FixedInputs`."""

    ridge: float
    factor: Tensor
    alone: Tensor


class EliminatedMap(NamedTuple):
    """Holds y = x A + (s − x B) M + c: alone A (fixed, output), explained B (fixed, changing), of_changing M
    (changing, output), bias c (output,).

    With x A known this costs rows × fixed × changing, not rows × fixed × output.
    """

    alone: Tensor
    explained: Tensor
    of_changing: Tensor
    bias: Tensor

    def written_out(self) -> AffineMap:
        """Returns the same as a map of [s, x], with weight (output, changing + fixed) and bias (output,)."""
        weight = torch.cat([self.of_changing, self.alone - self.explained @ self.of_changing]).T
        return AffineMap(weight, self.bias)

    def predict(self, fixed: Tensor, changing: Tensor, share_alone: Tensor) -> Tensor:
        """Returns y (row, output) for x (row, fixed) and s (row, changing), in the dtype of the inputs.

        share_alone: x A (row, output).
        """
        rest = changing - fixed @ self.explained.to(fixed)
        return torch.addmm(share_alone + self.bias.to(fixed), rest, self.of_changing.to(fixed))


def sum_of_products(x: Tensor, y: Tensor) -> Tensor:
    """Returns Σ x yᵀ, (a, b) in float64, over the rows of x (row, a) and y (row, b), which is float64; of x a block
    of rows at a time is converted."""
    total = torch.zeros(x.shape[1], y.shape[1], dtype=torch.float64, device=x.device)
    for x_rows, y_rows in zip(x.split(BLOCK), y.split(BLOCK), strict=True):
        total.addmm_(x_rows.double().T, y_rows)
    return total


class FixedInputs:
    """Solves ridge regression with an intercept on inputs x (row, fixed), which stay, and s (row, changing), which do
    not.

    With centred second moments G = E[x xᵀ], C = E[x yᵀ], K = E[x sᵀ] and ridges λ, μ the normal equations

        (G + λI) L + K M = C,      Kᵀ L + (E[s sᵀ] + μI) M = E[s yᵀ]

    are solved by eliminating L: with B = (G + λI)⁻¹ K and A = (G + λI)⁻¹ C,

        M = (E[s sᵀ] − Kᵀ B + μI)⁻¹ (E[s yᵀ] − Kᵀ A),      L = A − B M.

    G and C are computed once, and A and the Cholesky factor of G + λI once for each λ in turn, so that a new s costs
    rows × fixed × changing, not rows × fixed². With fewer rows than inputs x and y take the place of C. All in float64.
    x and y (row, output) have no gaps. Raises ValueError without rows.
    """

    def __init__(self, inputs: Tensor, targets: Tensor, *, scale: str) -> None:
        if not len(inputs):
            raise ValueError("there is no observed step to regress on; give more data")
        self.inputs, self.targets, self.scale = inputs, targets, scale
        x, y = inputs.double(), targets.double()
        self.input_mean, self.target_mean = x.mean(0), y.mean(0)
        x = x - self.input_mean
        self.few_rows = len(x) < x.shape[1]
        self.gram = (x @ x.T if self.few_rows else x.T @ x) / len(x)
        self.with_targets = None if self.few_rows else sum_of_products(inputs, y - self.target_mean) / len(x)
        self._factored: Factored | None = None

    def factored(self, ridge: float) -> Factored:
        """Returns the parts of the solution that belong to one ridge λ; the last ridge's are kept.

        Raises ValueError for a ridge that is not positive or too small for float64.
        """
        if self._factored is None or self._factored.ridge != ridge:
            self._factored = None  # frees the memory first
            factor = factor_ridge(self.gram, self.per_sample(ridge))
            if self.with_targets is None:
                alone = self.of_few_rows(self.centred_targets(), factor)
            else:
                alone = torch.cholesky_solve(self.with_targets, factor)
            self._factored = Factored(ridge, factor, alone)
        return self._factored

    def beside(self, changing: Tensor) -> BesideFixed:
        """Returns the moments of s (row, changing), which fits with several ridges share."""
        return BesideFixed(self, changing)

    def moments(self) -> list[CentredMoments]:
        """Returns the moments of x and y, as `centred_moments` gives them."""
        if self.with_targets is None:
            moments = self.inputs.double() - self.input_mean, self.centred_targets()
        else:
            moments = self.gram, self.with_targets
        columns = torch.ones_like(self.target_mean, dtype=torch.bool)
        return [CentredMoments(columns, len(self.inputs), self.input_mean, self.target_mean, *moments)]

    def centred_targets(self) -> Tensor:
        """Returns y without its mean, (row, output) in float64."""
        return self.targets.double() - self.target_mean

    def of_few_rows(self, y: Tensor, factor: Tensor) -> Tensor:
        """Returns (G + λI)⁻¹ E[x yᵀ] = xᵀ (x xᵀ/N + λI)⁻¹ y/N, (fixed, output), of centred y (row, output), where there
        are fewer rows than inputs. factor: of `Factored`."""
        return (self.inputs.double() - self.input_mean).T @ torch.cholesky_solve(y, factor) / len(y)

    def per_sample(self, ridge: float) -> float:
        """Returns the ridge on means over the rows. Raises ValueError as `per_sample_ridge`."""
        return float(per_sample_ridge(ridge, scale=self.scale, count=len(self.inputs)))


class BesideFixed:
    """Solves regressions on the fixed inputs x and on one s (row, changing): K, E[s sᵀ] and E[s yᵀ] are computed
    once, and B = (G + λI)⁻¹ K once for each λ in turn."""

    def __init__(self, regression: FixedInputs, changing: Tensor) -> None:
        self.regression, count = regression, len(changing)
        self.mean = changing.double().mean(0)
        self.centred = changing.double() - self.mean  # so that x and y need not be
        self.between = sum_of_products(regression.inputs, self.centred) / count
        self.with_targets = sum_of_products(regression.targets, self.centred).T / count
        self.gram = self.centred.T @ self.centred / count
        self._explained: tuple[float, Tensor] | None = None

    def explained(self, ridge: float) -> Tensor:
        """Returns B (fixed, changing); the last ridge's is kept. Raises ValueError as `FixedInputs.factored`."""
        if self._explained is None or self._explained[0] != ridge:
            fixed, factor = self.regression, self.regression.factored(ridge).factor
            few = fixed.few_rows
            explained = fixed.of_few_rows(self.centred, factor) if few else torch.cholesky_solve(self.between, factor)
            self._explained = ridge, explained
        return self._explained[1]

    def fit(self, *, ridge: float, changing_ridge: float) -> EliminatedMap:
        """Returns the map of x and s for these ridges. Raises ValueError as `FixedInputs.factored`."""
        fixed = self.regression
        alone, explained = fixed.factored(ridge).alone, self.explained(ridge)
        rest = self.with_targets - self.between.T @ alone
        of_changing = solve_ridge(self.gram - self.between.T @ explained, rest, fixed.per_sample(changing_ridge))
        unexplained = (self.mean - fixed.input_mean @ explained) @ of_changing
        return EliminatedMap(alone, explained, of_changing, fixed.target_mean - fixed.input_mean @ alone - unexplained)
