"""Columns that are known ahead (covariates, the calendar), as a model sees them: each row has those of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.forecasting.filtering import MaskedSequences, SequenceModel, State, has_begun
from models.forecasting.rolling import fed_back, iterated, roll_to


def led(observed: np.ndarray, known: np.ndarray, following: np.ndarray) -> np.ndarray:
    """Returns rows (time, observed + known): each has what was observed in it, and what is known of the row after it.

    observed (time, column); known (time, column): of the same rows; following (column,): of the row after the last.
    """
    ahead = np.concatenate([known[1:], following[np.newaxis]])
    return np.concatenate([observed, ahead], axis=1)


def from_first(rows: np.ndarray, columns: int) -> np.ndarray:
    """Returns rows (time, d) with NaN before the first in which anything but the last `columns` was observed: what is
    known ahead, as `led` puts it there, is no observation."""
    begun = np.logical_or.accumulate(~np.isnan(rows[:, : rows.shape[1] - columns]).all(1))
    return np.where(begun[:, np.newaxis], rows, np.nan)


def observed_columns(part: MaskedSequences, known: int) -> MaskedSequences:
    """Returns the part (sequence, time, d) without its last `known` columns, those that are known ahead."""
    return MaskedSequences(*(each[:, :, : each.shape[2] - known] for each in part))


def as_seen_by(model: Any, state: State, rows: np.ndarray, columns: int) -> np.ndarray:
    """Returns rows (time, d) as they move on a state (batch of 1): `from_first` for a model that counts rows and has
    seen none, as they are for any other."""
    return rows if bool(has_begun(model, state).all()) else from_first(rows, columns)


class KnownAhead:
    """Is a model whose last `columns` columns are known for some steps to come: it predicts them as they are.

    So whatever feeds predictions back, as forecasts do, goes on with the known values. The state is that of the model
    and what is known, (batch, step, columns), in standardised units: the columns of the next row first. Beyond them,
    and where they are NaN, the columns are as the model itself predicts them, as in filtering.
    """

    def __init__(self, model: SequenceModel, columns: int) -> None:
        self.model, self.columns = model, columns

    def with_known(self, state: State, known: Tensor) -> State:
        """Returns a state of the model with what is known from its next row on, (batch, step, columns)."""
        return (*state, known)

    def initial_state(self, batch: int) -> State:
        """Returns the state of `batch` sequences of which nothing is known ahead."""
        state = self.model.initial_state(batch)
        return (*state, self.model.predict(state).new_zeros(batch, 0, self.columns))

    def predict(self, state: State) -> Tensor:
        """Returns the expected next observation, (batch, d), its last columns as they are known."""
        prediction, known = self.model.predict(state[:-1]), state[-1]
        if not known.shape[1] or not self.columns:
            return prediction
        own, given = prediction[:, -self.columns :], known[:, 0]
        return torch.cat([prediction[:, : -self.columns], torch.where(given.isnan(), own, given)], 1)

    def update(self, state: State, observation: Tensor) -> State:
        """Returns the state after one more observation (batch, d); what was known of it is used up."""
        return (*self.model.update(state[:-1], observation), state[-1][:, 1:])

    def fed_back(self, state: State, prediction: Tensor) -> State:
        """Returns the state after a prediction (batch, d) that stands for an observation."""
        return (*fed_back(self.model, state[:-1], prediction), state[-1][:, 1:])

    def forecast_ahead(self, state: State, horizons: Sequence[int]) -> Tensor:
        """Returns forecasts (batch, len(horizons), d): those of the model where nothing is known ahead, else iterated,
        as a regression of a later row has no place for what is known of it."""
        return iterated(self, state, horizons) if self.columns else roll_to(self.model, state[:-1], horizons)


def with_gaps(values: Tensor, mask: Tensor) -> Tensor:
    """Returns values of any shape, NaN where the mask, of the same shape, says that nothing was observed."""
    return values.masked_fill(~mask, torch.nan)


def known_windows(rows: Tensor, columns: int, horizon: int) -> Tensor:
    """Returns what is known from each row on for `horizon` steps: (time + 1, horizon, columns), 0 after the end.

    rows (time, d): as `led` makes them, standardised, NaN in gaps, which stay NaN. The windows share their memory.
    """
    last = rows[:, rows.shape[1] - columns :]
    padded: Any = torch.cat([last, last.new_zeros(horizon, columns)])
    return padded.unfold(0, horizon, 1).transpose(1, 2)
