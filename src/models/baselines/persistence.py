"""Last value: the next observation is the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from models.forecasting.filtering import Filtered, State
from models.forecasting.fitting import Fitted, Problem


class Persistence(nn.Module):
    """Predicts ô_t = o_{t−1}; before the first observation 0, the training mean in standardised units."""

    def __init__(self, *, dimension: int) -> None:
        super().__init__()
        self.architecture = {"dimension": dimension}
        self.origin: Tensor
        self.register_buffer("origin", torch.zeros(dimension))

    def initial_state(self, batch: int) -> State:
        """Returns the state of `batch` sequences before their first observation: zeros (batch, d)."""
        return (self.origin.expand(batch, -1),)

    def predict(self, state: State) -> Tensor:
        """Returns the expected next observation, (batch, d)."""
        return state[0]

    def update(self, state: State, observation: Tensor) -> State:  # noqa: ARG002
        """Returns the state after one more observation (batch, d)."""
        return (observation,)

    def filter_observed(self, start: State, values: Tensor) -> Filtered:
        """Returns what `filter_sequences` does where every entry was observed: each is the prediction of the next."""
        before = torch.cat([start[0].unsqueeze(1), values[:, :-1]], 1)
        return Filtered(before, values, (before,))


@dataclass(frozen=True, kw_only=True)
class LastValue:
    """Is the section `model=last_value`."""

    name: ClassVar[str] = "last_value"
    trained: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Fitted:
        """Returns the model in the data's dtype and on its device; nothing is chosen."""
        values = problem.train.values
        return Fitted(Persistence(dimension=problem.dimension).to(dtype=values.dtype, device=values.device), {})
