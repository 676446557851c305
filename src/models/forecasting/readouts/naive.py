"""Errors of the last value and of the mean, over the rows by which direct and iterated forecasts are compared."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.forecasting.filtering import MaskedSequences
from models.forecasting.readouts.parts import compared_rows, late_rows, rows_throughout, targets_ahead
from models.numerics.ridge import masked_mse


class NaiveErrors(NamedTuple):
    """Holds the mean squared errors of one horizon, in standardised units."""

    last_value: float
    mean: float


def last_values(part: MaskedSequences) -> Tensor:
    """Returns (sequence, time, d): the last observation before each row, 0 before the first."""
    steps = torch.arange(part.values.shape[1], device=part.values.device).view(1, -1, 1)
    seen = torch.where(part.mask, steps, 0).cummax(1).values
    filled = torch.where(part.mask, part.values, 0.0).gather(1, seen)
    return torch.cat([torch.zeros_like(filled[:, :1]), filled[:, :-1]], 1)


def naive_errors(part: MaskedSequences, *, history: int, horizons: int, shared: bool = False) -> list[NaiveErrors]:
    """Returns the errors of each horizon from 1 to `horizons`, for a model that wants `history` rows.

    part: standardised, so that the mean is 0. shared: whether one regression gives all horizons; its errors are those
    of other rows.
    """
    late, last = late_rows(part, history), last_values(part)
    rows = (
        rows_throughout(part.scored, late, horizons)
        if shared
        else compared_rows(part.values, part.scored, late, horizons)
    )
    errors = []
    for horizon in range(1, horizons + 1):
        targets, keep = (of[rows] for of in targets_ahead(part.values, part.scored, horizon, late))
        found = (masked_mse(forecasts, targets, keep) for forecasts in (last[rows], torch.zeros_like(targets)))
        errors.append(NaiveErrors(*map(float, found)))
    return errors
