"""How far forecasts of one to many steps are off along a part that was not fitted to, as one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.forecasting.filtering import MaskedSequences, SequenceModel, filter_sequences, rows_before, up_to_end
from models.forecasting.fitting import Fitted
from models.forecasting.known_ahead import KnownAhead, with_gaps
from models.forecasting.rolling import roll
from models.numerics.evenly_spaced import evenly_spaced
from models.numerics.held_out import least_error
from models.numerics.ridge import masked_mse
from models.numerics.ties import first_of_least

STEPS, ORIGINS = 24, 64  # of the forecasts that are compared


class Truth(NamedTuple):
    """Holds what forecasts are compared with.

    sequence, time (origin,): the row that each begins at. ahead, scored (origin, step, d): what came from it on, NaN
    where nothing was observed, and which entries count.
    """

    sequence: Tensor
    time: Tensor
    ahead: Tensor
    scored: Tensor


def truth_ahead(part: MaskedSequences, *, first: int = 0) -> Truth:
    """Returns at most `ORIGINS` evenly spaced rows with something to score, behind `first` or more of their sequence,
    and what came."""
    begins = part.scored.any(2) & (rows_before(part.mask) >= first)
    sequence, time = evenly_spaced(begins.nonzero(), ORIGINS).unbind(1)
    longest = min(STEPS, int(begins.any(0).sum()))
    steps = time.unsqueeze(1) + torch.arange(longest, device=time.device)
    inside = steps < part.values.shape[1]
    places = sequence.unsqueeze(1), steps.clamp(max=part.values.shape[1] - 1)
    ahead = with_gaps(part.values[places], part.mask[places])
    return Truth(sequence, time, ahead, part.scored[places] & inside.unsqueeze(2))


def mean_error_ahead(forecasts: Tensor, ahead: Tensor, scored: Tensor) -> float:
    """Returns the geometric mean over the steps of the mean squared errors of forecasts (origin, step, d), so that one
    step counts as much as many. It is infinite where a forecast diverges."""
    steps = range(ahead.shape[1])
    errors = [masked_mse(forecasts[:, h], ahead[:, h], scored[:, h]) for h in steps]
    counted = torch.stack([error for h, error in zip(steps, errors, strict=True) if bool(scored[:, h].any())])
    finite = bool(counted.isfinite().all())  # before the logarithm, since that of a step without error is -inf
    return float(counted.log().mean().exp()) if finite else math.inf


@torch.no_grad()
def error_ahead_of(model: SequenceModel, part: MaskedSequences, *, leads: int) -> float:
    """Returns the error of a model's forecasts of 1 to `STEPS` steps along a part, see `mean_error_ahead`.

    leads: how many of the last columns are known ahead.
    """
    truth = truth_ahead(part)
    states = filter_sequences(model, part.values, up_to_end(part.mask)).states
    ahead: Any = KnownAhead(model, leads)
    known = truth.ahead[..., truth.ahead.shape[2] - leads :]
    start = ahead.with_known(tuple(tensor[truth.sequence, truth.time] for tensor in states), known)
    return mean_error_ahead(roll(ahead, start, truth.ahead.shape[1]), truth.ahead, truth.scored)


def least_ahead(fits: Sequence[Fitted], part: MaskedSequences, *, leads: int) -> Fitted:
    """Returns the model whose forecasts of 1 to `STEPS` steps have the least error, of nearly equal ones, and of those
    whose errors are rounding (`least_error`), the first.

    A single one is not forecast with. leads: as in `error_ahead_of`.
    """
    if len(fits) == 1:
        return fits[0]
    models: list[Any] = [fitted.model for fitted in fits]
    errors = [error_ahead_of(model, part, leads=leads) for model in models]
    return fits[first_of_least(errors, least_error(part.values, part.scored))]
