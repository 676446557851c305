"""Seasonal naive forecasts: the next observation is the one a season ago."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from models.forecasting.filtering import Filtered, MaskedSequences, State, begun_along
from models.forecasting.fitting import Fitted, Problem
from models.forecasting.season import find_seasons
from models.ranges import Count


class SeasonalNaive(nn.Module):
    """Predicts ô_t = o_{t−season}, and o_{t−1} while fewer than `season` rows were seen; before the first 0, the
    training mean.

    The state is a ring of `season` rows (batch, d, season), the place of its oldest (batch, 1), and how many were seen
    (batch, 1), counted from the first of which anything was observed. A row that is as that of a season ago, such as
    any forecast, moves the place alone: no copy. `last_value_until` is the number of rows from which on the forecast is
    that of a season ago and no longer the last value.
    Source: Hyndman and Athanasopoulos, "Forecasting: principles and practice", section 5.2.
    Raises ValueError for a season below 1.
    """

    def __init__(self, *, dimension: int, season: int) -> None:
        super().__init__()
        if season < 1:
            raise ValueError(f"a season has at least 1 step, got {season}")
        self.architecture = {"dimension": dimension, "season": season}
        self.season = self.history = self.last_value_until = season
        self.origin: Tensor
        self.register_buffer("origin", torch.zeros(dimension))

    def initial_state(self, batch: int) -> State:
        """Returns the state of `batch` sequences before their first observation."""
        nothing = self.origin.new_zeros(batch, 1)
        return self.origin.new_zeros(batch, len(self.origin), self.season), nothing.long(), nothing

    def has_begun(self, state: State) -> Tensor:
        """Returns bools (batch,): whether a row was seen."""
        return state[2][:, 0] > 0

    def predict(self, state: State) -> Tensor:
        """Returns the expected next observation, (batch, d)."""
        rows, place, seen = state
        return self._row(rows, torch.where(seen < self.season, (place - 1) % self.season, place))

    def update(self, state: State, observation: Tensor) -> State:
        """Returns the state after one more observation (batch, d)."""
        rows, place, seen = state
        if not torch.equal(self._row(rows, place), observation):
            rows = rows.scatter(2, self._everywhere(rows, place), observation.unsqueeze(-1))
        return rows, (place + 1) % self.season, seen + 1

    def filter_masked(self, start: State, values: Tensor, mask: Tensor) -> Filtered:
        """Returns what `filter_sequences` does for values and mask (sequence, time, d); the rows of all steps share
        their memory."""
        rows, place, seen = start
        order = (place + torch.arange(self.season, device=place.device)) % self.season
        oldest_first = rows.gather(2, order.unsqueeze(1).expand_as(rows))
        series = torch.cat([oldest_first.transpose(1, 2), values], 1)
        begun = (seen > 0) | begun_along(mask)
        counts = torch.cat([seen, seen + begun.cumsum(1)], 1).to(seen)
        for t in (~mask).any(2).any(0).nonzero()[:, 0].tolist():
            gone = ~mask[:, t]
            predicted = torch.where(counts[:, t, None] < self.season, series[:, t + self.season - 1], series[:, t])
            series[:, t + self.season] = torch.where(gone, predicted, values[:, t])
        windows, seen = series.unfold(1, self.season, 1)[:, :-1], counts[:, :-1].unsqueeze(2)
        predictions = torch.where(seen < self.season, windows[..., -1], windows[..., 0])
        return Filtered(
            predictions, series[:, self.season :], (windows, torch.zeros_like(seen, dtype=torch.long), seen)
        )

    @staticmethod
    def _everywhere(rows: Tensor, place: Tensor) -> Tensor:
        return place.unsqueeze(1).expand(-1, rows.shape[1], 1)

    def _row(self, rows: Tensor, place: Tensor) -> Tensor:
        """Returns the row of each ring at its place (batch, 1), as (batch, d)."""
        return rows.gather(2, self._everywhere(rows, place)).squeeze(2)


def seasonal_naive(part: MaskedSequences, season: int) -> SeasonalNaive:
    """Returns the model in the data's dtype and on its device. Raises ValueError for a season below 1."""
    values = part.values
    return SeasonalNaive(dimension=values.shape[2], season=season).to(dtype=values.dtype, device=values.device)


def check_season_found(season: int | None) -> int:
    """Returns the season in steps. Raises ValueError for None, which stands for a season that was not found."""
    if season is None:
        raise ValueError("the training part has no clear season; give its steps (season), or take another model")
    return season


@dataclass(frozen=True, kw_only=True)
class Seasonal:
    """Is the section `model=seasonal_naive`. season: in steps; None finds it, see `find_season`.

    `fit` raises ValueError where none is found.
    """

    name: ClassVar[str] = "seasonal_naive"
    trained: ClassVar[bool] = False
    season: Count | None = None

    def fit(self, problem: Problem) -> Fitted:
        """Returns the model and its season, in steps. Raises ValueError where none is found."""
        season = check_season_found(find_seasons(problem.train).clear if self.season is None else self.season)
        return Fitted(seasonal_naive(problem.train, season), {"season": season})
