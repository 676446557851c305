"""Errors of whole windows: the mean over all steps up to a horizon, from every row that it is scored from."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.forecasting.filtering import (
    MaskedSequences,
    SequenceModel,
    State,
    filter_sequences,
    scored_features,
    up_to_end,
)
from models.forecasting.rolling import ROLL_BATCH, roll
from models.numerics.ridge import infinite_where_nan


class WindowErrors(NamedTuple):
    """Holds the mean squared and the mean absolute error of the forecasts from each row, over the steps of the window
    and the features: (sequence, time) each, NaN where not every step of the window is scored."""

    squared: Tensor
    absolute: Tensor

    @property
    def counts(self) -> Tensor:
        """Returns how many windows begin at each row, over all sequences: (time,)."""
        return (~self.squared.isnan()).sum(0)


def wholly_scored(scored: Tensor) -> Tensor:
    """Returns which rows (sequence, time) are scored in every feature that has an entry anywhere in scored (sequence,
    time, feature)."""
    return scored[..., scored_features(scored)].all(2) & scored.any(2)


def whole_windows(scored: Tensor, length: int) -> Tensor:
    """Returns the places (window, 2), sequence and row, from which all of `length` rows are scored: in every feature
    that is scored anywhere.

    scored (sequence, time, feature). Raises ValueError where there is none.
    """
    places = torch.empty(0, 2)
    if length <= scored.shape[1]:
        places = wholly_scored(scored).unfold(1, length, 1).all(2).nonzero()
    if not len(places):
        raise ValueError(f"no window of {length} rows is scored throughout; shorten it, or give more data")
    return places


def errors_from(model: SequenceModel, states: State, targets: Tensor, features: Tensor) -> Tensor:
    """Returns the mean squared and the mean absolute error of forecasts from states (window, …), infinite where a
    forecast is not a number: (2, window). targets (window, step, feature); features (feature,): those that count."""
    differences = roll(model, states, targets.shape[1]) - targets
    errors = infinite_where_nan(differences[..., features].double())
    return torch.stack([errors.square().mean((1, 2)), errors.abs().mean((1, 2))])


@torch.no_grad()
def window_errors(model: SequenceModel, part: MaskedSequences, length: int) -> WindowErrors:
    """Returns the errors of forecasts 1 to `length` steps ahead, from each row from which all of these are scored.

    The mean over all of them is the measure of tables on long horizons (Zhou et al. 2021, Informer). Raises ValueError
    as `whole_windows`.
    """
    places, features = whole_windows(part.scored, length), scored_features(part.scored)
    states = filter_sequences(model, part.values, up_to_end(part.mask)).states
    ahead = part.values.unfold(1, length, 1).transpose(2, 3)
    errors = torch.full((2, *part.values.shape[:2]), torch.nan, dtype=torch.float64, device=part.values.device)
    for block in places.split(ROLL_BATCH):
        sequence, time = block.unbind(1)
        begun = tuple(each[sequence, time] for each in states)
        errors[:, sequence, time] = errors_from(model, begun, ahead[sequence, time], features)
    return WindowErrors(*errors)
