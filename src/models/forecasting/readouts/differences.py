"""Regressions of what follows, less the last row, on what came before, less the last row."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.ridge import AffineMap


class Differences(NamedTuple):
    """Takes the last row o_{t−1} from every row and trace of h_t, and from what is forecast.

    A map that is fitted to these differences is one of the inputs as they are:
    o_{t−1} + M' [s_t, h_t − o_{t−1}] + c = M [s_t, h_t] + c. Where a ridge shrinks M' to 0, it is the last row.

    first: the place of h_t in the inputs; lags: its rows, oldest first; rows: its rows and traces, of d features each;
    dimension: d.
    """

    first: int
    lags: int
    rows: int
    dimension: int

    def history(self, inputs: Tensor) -> Tensor:
        """Returns the columns of the inputs (…, input) that are h_t, as (…, row, d), in the same memory."""
        past = inputs[..., self.first : self.first + self.rows * self.dimension]
        return past.unflatten(-1, (self.rows, self.dimension))

    def last(self, inputs: Tensor) -> Tensor:
        """Returns o_{t−1}, (…, d), in the same memory."""
        return self.history(inputs)[..., self.lags - 1, :]

    def apply(self, inputs: Tensor) -> Tensor:
        """Returns the inputs (…, input) with the last row taken from each row and trace."""
        differenced = inputs.clone()
        self.history(differenced).sub_(self.last(inputs).unsqueeze(-2))
        return differenced

    def undone(self, fit: AffineMap) -> AffineMap:
        """Returns the map of the inputs as they are, from one of differences; its outputs (horizon · d,) are the
        features of one horizon after the other."""
        weight = fit.weight.clone()
        own = torch.eye(self.dimension, dtype=weight.dtype, device=weight.device)
        horizons = len(weight) // self.dimension
        self.last(weight).add_(own.repeat(horizons, 1) - self.history(fit.weight).sum(-2))
        return fit._replace(weight=weight)
