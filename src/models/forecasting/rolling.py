"""Forecasts of several steps: predictions fed back, or asked of the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from models.forecasting.filtering import SequenceModel, State, has_begun, where_moved
from models.runtime.progress import advanced

ROLL_BATCH = 1024


@runtime_checkable
class ForecastsAhead(Protocol):
    """Is a model that forecasts some horizons without feeding predictions back.

    horizons: 1 or more and ascending; the result is (batch, len(horizons), feature).
    """

    def forecast_ahead(self, state: State, horizons: Sequence[int]) -> Tensor: ...


def roll(model: SequenceModel, state: State, horizon: int) -> Tensor:
    """Returns forecasts by feeding predictions back: (batch, horizon, feature); entry h − 1 lies h steps ahead of
    the last observation."""
    return roll_to(model, state, range(1, horizon + 1))


def roll_to(model: SequenceModel, state: State, horizons: Sequence[int]) -> Tensor:
    """Returns (batch, len(horizons), feature): of `roll` the horizons asked for, 1 or more and ascending; no other
    is kept.

    A model that `ForecastsAhead` is asked itself.
    """
    if isinstance(model, ForecastsAhead):
        return model.forecast_ahead(state, horizons)
    return iterated(model, state, horizons)


def fed_back(model: SequenceModel, state: State, prediction: Tensor) -> State:
    """Returns the state after a prediction (batch, feature) that stands for an observation: by `update`, or by the
    model's own `fed_back` where it tells the two apart. The state of a model that counts rows, and has seen none, stays
    as it was."""
    after = fed_on(model, state, prediction)
    return where_moved(has_begun(model, state), after, state) if hasattr(model, "has_begun") else after


def fed_on(model: SequenceModel, state: State, prediction: Tensor) -> State:
    """Returns what `fed_back` does for a model that has seen a row, or counts none."""
    own: Any = getattr(model, "fed_back", model.update)
    return own(state, prediction)


def iterated(model: SequenceModel, state: State, horizons: Sequence[int]) -> Tensor:
    """Returns what `roll_to` does, by feeding predictions back. What has seen a row goes on having seen it, so that is
    asked once."""
    asked, forecasts, prediction = set(horizons), list[Tensor](), model.predict(state)
    feed = fed_on if bool(has_begun(model, state).all()) else fed_back
    for step in range(1, max(horizons) + 1):
        if step > 1:
            state = feed(model, state, prediction)
            prediction = model.predict(state)
        if step in asked:
            forecasts.append(prediction)
        advanced(len(prediction))
    return torch.stack(forecasts, 1)


def forecast_from_everywhere(model: SequenceModel, states: State, horizons: int | Sequence[int]) -> Tensor:
    """Returns (sequence, time, horizon, feature): entry [s, t, i] predicts o_{t+h−1} from o_{<t} with h the i-th of
    `horizons`.

    horizons: ascending; a number stands for all from 1 to it.
    """
    asked = range(1, horizons + 1) if isinstance(horizons, int) else horizons
    sequences, steps = states[0].shape[:2]
    origins = torch.arange(sequences * steps, device=states[0].device)
    blocks = [  # no more copied at once: states may be windows that share their memory, and fill it if written out
        roll_to(model, tuple(part[block // steps, block % steps] for part in states), asked)
        for block in origins.split(ROLL_BATCH)
    ]
    return torch.cat(blocks).unflatten(0, (sequences, steps))
