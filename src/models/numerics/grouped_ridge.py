"""Ridge regression on standardised columns with one ridge for each group of them, chosen on a validation part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.held_out import error_on
from models.numerics.ridge import (
    AffineMap,
    CentredMoments,
    NotPositiveDefinite,
    RegressionData,
    affine_from_moments,
    centred_moments,
)
from models.numerics.standardisation import STANDARDISED, Standardisation
from models.numerics.ties import WORTH

POWERS = range(-10, 5)  # ridges are 10 to these, on means over rows of standardised columns
LARGER = 3  # powers of ten by which all ridges of a fit are raised together

Exponents = tuple[int, ...]


class GroupedRidge(NamedTuple):
    """Holds the map of the inputs as they are given, the power of ten of each group's ridge, and the validation
    error."""

    readout: AffineMap
    exponents: Exponents
    error: float


class Search:
    """Looks for the powers of ten, one for each group, of least error; each combination is tried once.

    error: of a combination; infinite where it cannot be solved.
    """

    def __init__(self, error: Callable[[Exponents], float], groups: int) -> None:
        self._error, self._groups = error, groups
        self.errors: dict[Exponents, float] = {}

    def error(self, exponents: Exponents) -> float:
        """Returns the error of a combination, from memory where it was tried before."""
        if exponents not in self.errors:
            self.errors[exponents] = self._error(exponents)
        return self.errors[exponents]

    def common(self) -> Exponents:
        """Returns the best combination with the same power for all groups, of near ties the largest ridge."""
        best = (max(POWERS),) * self._groups
        for power in reversed(POWERS):
            best = self.better((power,) * self._groups, best)
        return best

    def better(self, candidate: Exponents, held: Exponents) -> Exponents:
        """Returns the candidate where its error is smaller by more than the share `WORTH`, else what is held."""
        return candidate if self.error(candidate) < (1 - WORTH) * self.error(held) else held

    def descend(self, start: Exponents) -> Exponents:
        """Returns where coordinate descent ends: group after group steps by powers of ten while the error falls."""
        here = start
        for _ in POWERS:  # far more rounds than it takes
            before = here
            for group in range(self._groups):
                here = self._along(group, self._along(group, here, 1), -1)
            if here == before:
                break
        return here

    def _along(self, group: int, here: Exponents, step: int) -> Exponents:
        while here[group] + step in POWERS:
            moved = (*here[:group], here[group] + step, *here[group + 1 :])
            if self.better(moved, here) == here:
                return here
            here = moved
        return here


class Columns:
    """Holds columns in standard deviations from their mean, and their Gram matrix: regressions on nearly all of the
    rows, of one horizon after another say, share it.

    inputs (row, input), as they are given. Raises ValueError without inputs.
    """

    def __init__(self, inputs: Tensor) -> None:
        if not inputs.shape[1]:
            raise ValueError("a readout needs inputs; give it lags, traces or a model with a state")
        self.units = Standardisation.of(inputs.double(), least=STANDARDISED)
        self.values = self.units.apply(inputs.double())
        self._gram, self._sum = self.values.T @ self.values, self.values.sum(0)

    def moments(self, kept: Tensor, targets: Tensor, mask: Tensor) -> list[CentredMoments]:
        """Returns the centred moments of the rows that are kept, (row,) bools; targets and mask (kept row, output).

        Where every output was observed the Gram matrix is that of all rows less that of those that are left out.
        """
        dropped = self.values[~kept]
        rows = len(targets)
        if not bool(mask.all()) or rows < len(self._sum) or len(dropped) > rows:
            return centred_moments(RegressionData(self.values[kept], targets, mask))
        outputs = targets.double()
        mean, output_mean = (self._sum - dropped.sum(0)) / rows, outputs.mean(0)
        first = (self._gram - dropped.T @ dropped) / rows - torch.outer(mean, mean)
        placed = outputs.new_zeros(len(kept), outputs.shape[1])  # spares a copy of the rows that are kept
        placed[kept] = outputs - output_mean
        second = self.values.T @ placed / rows
        return [CentredMoments(mask.all(0), rows, mean, output_mean, first, second)]


def solve_groups(
    moments: Sequence[CentredMoments], groups: Tensor, exponents: Exponents, units: Standardisation
) -> AffineMap:
    """Returns the ridge regression with 10 to its group's power for each column, as a map of the inputs as given.

    moments: of standardised columns. groups (input,): the place of each column's group. Raises ValueError as
    `models.numerics.ridge.factor_ridge`.
    """
    ridge = torch.tensor([10.0**power for power in exponents], dtype=torch.float64, device=groups.device)[groups]
    fit = affine_from_moments(moments, ridge, scale="samples")
    weight = fit.weight / units.scale
    return AffineMap(weight, fit.bias - weight @ units.mean)


def choose_ridges(
    moments: Sequence[CentredMoments],
    units: Standardisation,
    validation: RegressionData,
    groups: Tensor,
    *,
    start: Exponents | None = None,
) -> GroupedRidge:
    """Returns the ridge regression whose ridges have the least error on the validation rows.

    minimise  mean‖y − Mz − c‖² + Σ_g 10^{p_g} ‖M_g‖²,  z the standardised columns, M_g those of group g. The powers p
    are found by coordinate descent from `start`, or from the best p that is the same for all groups. groups (input,):
    0 … G − 1. Solved in float64.

    moments, units: of the training rows, see `Columns`. Raises ValueError for an empty validation part, and where no
    combination can be solved.
    """

    held_out = error_on(validation)

    def error(exponents: Exponents) -> float:
        try:
            return held_out(solve_groups(moments, groups, exponents, units))
        except NotPositiveDefinite:
            return math.inf

    search = Search(error, int(groups.max()) + 1)
    best = search.descend(search.common() if start is None else start)
    if not math.isfinite(search.error(best)):
        raise ValueError("no ridge gives a readout with finite errors on the validation part; give other data")
    return GroupedRidge(solve_groups(moments, groups, best, units), best, search.error(best))


def raised_ridges(
    moments: Sequence[CentredMoments], units: Standardisation, groups: Tensor, exponents: Exponents
) -> Iterator[tuple[Exponents, AffineMap]]:
    """Yields the powers of ten of the ridges and the map that they give: first the exponents as they are, then all of
    them raised by 1, 2 … up to `LARGER`, none above the largest of `POWERS`.

    moments, units, groups: as for `choose_ridges`. Raises ValueError as `solve_groups`.
    """
    for shift in range(LARGER + 1):
        raised = tuple(min(power + shift, POWERS[-1]) for power in exponents)
        yield raised, solve_groups(moments, groups, raised, units)
