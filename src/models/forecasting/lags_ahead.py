"""Lags and ridges of a readout chosen by forecasts of several steps, not of one.

A readout with a small ridge on the state may be the better one by a little at one step, and the worse one by far at
twenty, where its errors are fed back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.forecasting.errors_ahead import mean_error_ahead, truth_ahead
from models.forecasting.filtering import MaskedSequences, State
from models.forecasting.fitting import Fitted
from models.forecasting.known_ahead import KnownAhead
from models.forecasting.lags import (
    CHOSEN_LAGS,
    MOST_INPUTS,
    inputs_with_lags,
    most_lags,
    reachable_lags,
    recent_observations,
    rows_beside_lags,
    solutions,
    takes_lags,
    with_lags,
)
from models.forecasting.readout import ReadoutFit, unread
from models.forecasting.recurrent import Recurrent
from models.forecasting.rolling import roll
from models.numerics.held_out import least_error
from models.numerics.ridge import AffineMap, centred_moments, validation_error
from models.numerics.ties import first_of_least

CLOSE = 1.1  # times the least one-step error, up to which a number of lags is looked at further ahead


class Candidate(NamedTuple):
    """Holds a readout: its lags, its ridges by the names of their settings, the map, and its one-step validation
    error."""

    lags: int
    ridges: dict[str, float]
    readout: AffineMap
    error: float


class ForecastStarts(NamedTuple):
    """Holds what forecasts of the validation part begin with and are compared with.

    belief: of the model, each tensor (origin, …). recent (origin, row, d): those before each. ahead, scored
    (origin, step, d): what came, NaN where nothing was observed, and which entries count.
    """

    belief: State
    recent: Tensor
    ahead: Tensor
    scored: Tensor


def starts_in(model: Recurrent, part: MaskedSequences, *, lags: int) -> ForecastStarts:
    """Returns the evenly spaced rows of `truth_ahead` that have at least `lags` rows before them."""
    states, filled = unread(model, part)
    sequence, time, ahead, scored = truth_ahead(part, first=lags)
    recent = recent_observations(filled, lags)[sequence, time].unflatten(1, (lags, -1)) if lags else filled[:0]
    return ForecastStarts(tuple(tensor[sequence, time] for tensor in model.belief(states)), recent, ahead, scored)


def candidates(model: Recurrent, fit: ReadoutFit, choices: Sequence[int]) -> Iterator[Candidate]:
    """Yields a readout for each number of lags and each pair of ridges, all fitted to the same rows and scored on the
    same.

    Only the weights that a candidate keeps are solved for; the moments of fewer lags are blocks of those of the most.
    """
    most, dimension = max(choices), fit.train.values.shape[2]
    moments = centred_moments(rows_beside_lags(model, fit.train, most))
    held_out = rows_beside_lags(model, fit.validation, most)
    size = held_out.inputs.shape[1] - most * dimension
    for lags in choices:
        used = inputs_with_lags(lags, most=most, size=size, dimension=dimension).to(held_out.inputs.device)
        rows, settings = held_out._replace(inputs=held_out.inputs[:, used]), fit.settings.with_lags(lags)
        readouts = solutions([part.of(used) for part in moments], settings, size)
        for ridges, readout in zip(settings.candidates(), readouts, strict=True):
            yield Candidate(lags, ridges, readout, validation_error(readout, rows))


def error_ahead(model: Recurrent, candidate: Candidate, starts: ForecastStarts, *, leads: int) -> float:
    """Returns the error of forecasts 1, 2, … steps ahead with the readout, see `mean_error_ahead`.

    leads: how many of the last columns are known ahead.
    """
    joined = with_lags(model, candidate.lags)
    joined.set_readout(candidate.readout)
    count, horizon = starts.ahead.shape[:2]
    recent = starts.recent[:, starts.recent.shape[1] - candidate.lags :].flatten(1)
    if not candidate.lags:
        recent = starts.ahead.new_zeros(count, 0)
    seen = starts.ahead.new_full((count, 1), math.inf)
    known = starts.ahead[..., starts.ahead.shape[2] - leads :]
    ahead: Any = KnownAhead(joined, leads)
    forecasts = roll(ahead, ahead.with_known((*starts.belief, recent, seen), known), horizon)
    return mean_error_ahead(forecasts, starts.ahead, starts.scored)


@torch.no_grad()
def choose_ahead(model: Recurrent, fit: ReadoutFit, choices: Sequence[int], *, leads: int) -> Candidate:
    """Returns the readout whose forecasts of several steps have the least error on the validation part
    (`error_ahead`), of nearly equal ones, and of those whose errors are rounding (`least_error`), the one with the
    fewest lags.

    model: its readout sees no lags and is solved. Numbers of lags whose best one-step error is far from the least are
    left out. choices: ascending.
    """
    found = list(candidates(model, fit, choices))
    best = {lags: min(each.error for each in found if each.lags == lags) for lags in choices}
    rounding = least_error(fit.validation.values, fit.validation.scored)
    near = [each for each in found if best[each.lags] <= CLOSE * max(min(best.values()), rounding)]
    starts = starts_in(model, fit.validation, lags=max(choices))
    errors = [error_ahead(model, each, starts, leads=leads) for each in near]
    fewest = near[first_of_least(errors, rounding)].lags
    pairs = [(error, place) for place, error in enumerate(errors) if near[place].lags == fewest]
    return near[min(pairs)[1]]


def within_reach(fit: ReadoutFit, choices: Sequence[int]) -> list[int]:
    """Returns those of several numbers of lags that both parts are long enough for, 0 where none is; a single one as it
    is. Raises ValueError where a single one leaves no row to score."""
    parts, inputs = (fit.train, fit.validation), MOST_INPUTS
    if len(choices) == 1:
        inputs = max(inputs, choices[0] * fit.train.values.shape[2])
    reached = [lags for lags in sorted(choices) if all(reachable_lags([lags], p, inputs=inputs) for p in parts)]
    if len(choices) == 1 and not reached:
        rows = min(map(most_lags, parts))
        raise ValueError(f"lags must be at most {rows} for series of such length and gaps, got {choices[0]}; lower it")
    return reached or [0]


def settle_ahead(fitted: Fitted, fit: ReadoutFit, choices: Sequence[int], *, leads: int) -> Fitted:
    """Returns the model with the lags and ridges of `choose_ahead`, its readout solved along both parts.

    fitted: a model without lags, its readout solved. A model that takes none stays as it is. Of several numbers of lags
    those that the parts are too short for are left out. Raises ValueError where a single one is too large.
    """
    model = fitted.model
    if not takes_lags(model):
        return fitted
    best = choose_ahead(model, fit, within_reach(fit, choices), leads=leads)
    joined = with_lags(model, best.lags)
    ReadoutFit(fit.train, fit.validation, fit.settings.with_lags(best.lags).only(best.ridges))(joined)
    return Fitted(joined, {**best.ridges, CHOSEN_LAGS: best.lags})
