"""Several models of the same data as one: the mean of their forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from models.forecasting.filtering import Filtered, State, filter_sequences, moved_by
from models.forecasting.rolling import fed_back, roll_to


class Averaged(nn.Module):
    """Predicts the mean of what its members predict, at every horizon: ô_{t+h−1} = (1/k) Σ_i ô^i_{t+h−1}.

    Each member is a `models.forecasting.filtering.SequenceModel`. Members that iterate their forecasts feed back their
    own predictions; where an observation is missing, all of them are given the mean in its place. The state is that of
    the first member, then that of the second, and so on.

    Raises ValueError without a member.
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        if not members:
            raise ValueError("there is no model to average; give one at least")
        self.members = nn.ModuleList(members)
        self.sizes = [len(model.initial_state(1)) for model in self.models]

    @property
    def models(self) -> list[Any]:
        """Returns the members in their order."""
        return list(self.members)

    @property
    def history(self) -> int:
        """Returns how many rows the members want to have seen before the first that they predict."""
        return max(int(getattr(model, "history", 0)) for model in self.models)

    @property
    def lags(self) -> int | None:
        """Returns how many recent rows their readouts see, at most; None for members without a readout."""
        return max((model.lags for model in self.models if getattr(model, "lags", None) is not None), default=None)

    def states(self, state: State) -> list[State]:
        """Returns the state of each member."""
        parts, begin = [], 0
        for size in self.sizes:
            parts.append(state[begin : begin + size])
            begin += size
        return parts

    def initial_state(self, batch: int) -> State:
        """Returns the state of `batch` sequences before their first observation."""
        return tuple(part for model in self.models for part in model.initial_state(batch))

    def predict(self, state: State) -> Tensor:
        """Returns the expected next observation, (…, feature)."""
        pairs = zip(self.models, self.states(state), strict=True)
        return torch.stack([model.predict(own) for model, own in pairs]).mean(0)

    def update(self, state: State, observation: Tensor) -> State:
        """Returns the state after one more observation (batch, feature)."""
        pairs = zip(self.models, self.states(state), strict=True)
        return tuple(part for model, own in pairs for part in model.update(own, observation))

    def moved_by(self, state: State, observation: Tensor, begun: Tensor) -> State:
        """Returns what `models.forecasting.filtering.moved_by` does, of each member."""
        pairs = zip(self.models, self.states(state), strict=True)
        return tuple(part for model, own in pairs for part in moved_by(model, own, observation, begun))

    def fed_back(self, state: State, prediction: Tensor) -> State:
        """Returns the state after a prediction (batch, feature) that stands for an observation."""
        pairs = zip(self.models, self.states(state), strict=True)
        return tuple(part for model, own in pairs for part in fed_back(model, own, prediction))

    def filter_observed(self, start: State, values: Tensor) -> Filtered:
        """Returns what `filter_sequences` does where every entry was observed."""
        seen = torch.ones_like(values, dtype=torch.bool)
        pairs = zip(self.models, self.states(start), strict=True)
        filtered = [filter_sequences(model, values, seen, own) for model, own in pairs]
        predictions = torch.stack([each.predictions for each in filtered]).mean(0)
        return Filtered(predictions, values, tuple(part for each in filtered for part in each.states))

    def forecast_ahead(self, state: State, horizons: Sequence[int]) -> Tensor:
        """Returns (batch, len(horizons), feature): the mean of the members' forecasts of the horizons, 1 or more and
        ascending."""
        pairs = zip(self.models, self.states(state), strict=True)
        return torch.stack([roll_to(model, own, horizons) for model, own in pairs]).mean(0)
