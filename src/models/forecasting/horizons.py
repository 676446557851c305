"""Errors of forecasts several steps ahead, made from every step of every sequence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.forecasting.filtering import Filtered, MaskedSequences, SequenceModel, rows_before
from models.forecasting.rolling import forecast_from_everywhere

FORECAST_BYTES = 512 * 2**20


def horizon_targets(values: Tensor, scored: Tensor, horizon: int) -> tuple[Tensor, Tensor]:
    """Returns the targets o_{t+h−1} of the forecasts made at t, and the entries to score: target scored, origin not
    beyond the end; both (sequence, time, feature)."""
    shift = horizon - 1
    steps = values.shape[1]
    targets, keep = torch.zeros_like(values), torch.zeros_like(scored)
    if shift < steps:
        targets[:, : steps - shift] = values[:, shift:]
        keep[:, : steps - shift] = scored[:, shift:]
    return targets, keep


def horizon_errors(
    model: SequenceModel, filtered: Filtered, part: MaskedSequences, horizons: Sequence[int], *, first_step: int
) -> dict[int, Tensor]:
    """Returns squared errors per entry for each horizon, NaN where not scored: (sequence, time, feature) each.

    A forecast counts where at least `first_step` rows of its sequence come before its origin, see `rows_before`.
    Sequences are taken in groups, so that the forecasts held at once stay below `FORECAST_BYTES` (or one sequence).
    """
    values, late = part.values, rows_before(part.mask) >= first_step
    ascending = sorted(set(horizons))
    per_sequence = values[0].numel() * len(ascending) * values.element_size()
    group = max(1, FORECAST_BYTES // max(1, per_sequence))
    errors: dict[int, list[Tensor]] = {horizon: [] for horizon in horizons}
    for start in range(0, len(values), group):
        rows = slice(start, start + group)
        if ascending == [1]:
            forecasts = filtered.predictions[rows].unsqueeze(2)
        else:
            forecasts = forecast_from_everywhere(model, tuple(part[rows] for part in filtered.states), ascending)
        for horizon, ahead in zip(ascending, forecasts.unbind(2), strict=True):
            targets, keep = horizon_targets(values[rows], part.scored[rows], horizon)
            keep &= late[rows].unsqueeze(2)
            # a forecast that is not a number is infinitely wrong, not unscored
            squared = (ahead - targets).square().nan_to_num_(nan=torch.inf, posinf=torch.inf)
            errors[horizon].append(squared.masked_fill_(~keep, torch.nan))
    return {horizon: torch.cat(parts) for horizon, parts in errors.items()}
