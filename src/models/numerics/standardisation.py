"""Units that a model learns in: columns less their mean, divided by their standard deviation."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

ROUNDING = 1e-12  # of a column's largest number: a range of no more is none
FEW_ROUNDINGS = 4  # of the number type, where that is more
STANDARDISED = 1.0  # the least size of a column whose numbers are in standard deviations already


class Standardisation(NamedTuple):
    """Holds the mean and the scale of each column, (column,); of a single column, given as (row,), scalars."""

    mean: Tensor
    scale: Tensor

    @classmethod
    def of(cls, values: Tensor, *, least: float = 0.0) -> Standardisation:
        """Returns mean and standard deviation of values (row, column) or (row,), over their rows.

        A constant column keeps scale 1, and so does one that varies by rounding alone. least: as of
        `varies_by_rounding`.
        """
        constant = varies_by_rounding(*values.aminmax(dim=0), least=least)
        return cls.from_moments(values.mean(0), values.std(0, correction=0), constant)

    @classmethod
    def from_moments(cls, mean: Tensor, deviation: Tensor, constant: Tensor) -> Standardisation:
        """Returns the standardisation of columns with this mean and standard deviation, with scale 1 for those that are
        constant, (column,), or whose deviation is too small for its type."""
        return cls(mean, torch.where(constant | (deviation == 0), torch.ones_like(deviation), deviation))

    def apply(self, values: Tensor) -> Tensor:
        """Returns values (row, column) or (row,), of the column's own units, in standard deviations from the mean."""
        return (values - self.mean) / self.scale

    def restore(self, values: Tensor) -> Tensor:
        """Returns what `apply` was given, from what it returned."""
        return values * self.scale + self.mean


def varies_by_rounding(low: Tensor, high: Tensor, *, least: float = 0.0) -> Tensor:
    """Returns which columns vary by rounding alone, from their smallest and largest number, (column,) each.

    Their range is at most 1e-12 of the largest |number|, or 4 ε where that is more, so that the unit of a column does
    not matter. least: the size that a column has at least, `STANDARDISED` for numbers that were standardised before:
    what is left of 0 there is rounding, not a small unit.
    """
    share = max(ROUNDING, FEW_ROUNDINGS * torch.finfo(low.dtype).eps)
    return high - low <= share * torch.maximum(-low, high).clamp(min=least)
