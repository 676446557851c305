"""Last season's value: the simplest model that knows of a season."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from models.filtering import State
from models.fitting import Fitted, Problem


class SeasonalNaive(nn.Module):
    """ô_t = o_{t−season}; before the first season 0, the training mean in standardised units."""

    def __init__(self, *, dimension: int, season: int) -> None:
        super().__init__()
        self.architecture = {"dimension": dimension, "season": season}
        self.origin: Tensor
        self.register_buffer("origin", torch.zeros(season, dimension))

    def initial_state(self, batch: int) -> State:
        return (self.origin.expand(batch, -1, -1),)

    def predict(self, state: State) -> Tensor:
        return state[0][:, 0]

    def update(self, state: State, observation: Tensor) -> State:
        return (torch.cat([state[0][:, 1:], observation.unsqueeze(1)], 1),)


@dataclass(frozen=True, kw_only=True)
class SeasonalNaiveMethod:
    """`model=seasonal_naive_mine`. season: its length in steps."""

    name: ClassVar[str] = "seasonal_naive_mine"
    trained: ClassVar[bool] = False
    season: int = 24

    def fit(self, problem: Problem) -> Fitted:
        values = problem.train.values
        model = SeasonalNaive(dimension=problem.dimension, season=self.season)
        return Fitted(model.to(dtype=values.dtype, device=values.device), {"season": self.season})
