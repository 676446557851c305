"""Units that a model learns in: columns less their mean, divided by their standard deviation."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

ROUNDING = 1e-12  # of a column's mean: a standard deviation of no more is none


class Standardisation(NamedTuple):
    """Holds the mean and the scale of each column, (column,); of a single column, given as (row,), scalars."""

    mean: Tensor
    scale: Tensor

    @classmethod
    def of(cls, values: Tensor) -> Standardisation:
        """Returns mean and standard deviation of values (row, column) or (row,), over their rows.

        A constant column keeps scale 1, and so does one that varies by rounding alone.
        """
        return cls.from_moments(values.mean(0), values.std(0, correction=0))

    @classmethod
    def from_moments(cls, mean: Tensor, deviation: Tensor) -> Standardisation:
        """Returns the standardisation of columns with this mean and standard deviation, with scale 1 as `of`."""
        return cls(mean, torch.where(varies_by_rounding(mean, deviation), torch.ones_like(deviation), deviation))

    def apply(self, values: Tensor) -> Tensor:
        """Returns values (row, column) or (row,), of the column's own units, in standard deviations from the mean."""
        return (values - self.mean) / self.scale

    def restore(self, values: Tensor) -> Tensor:
        """Returns what `apply` was given, from what it returned."""
        return values * self.scale + self.mean


def varies_by_rounding(mean: Tensor, deviation: Tensor) -> Tensor:
    """Returns which columns with this mean and standard deviation vary by rounding alone."""
    return deviation <= ROUNDING * mean.abs().clamp(min=1.0)
