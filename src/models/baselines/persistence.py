"""Last value: the next observation is the last one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.filtering import State


class Persistence(nn.Module):
    """ô_t = o_{t−1}; before the first observation 0, the training mean in standardised units."""

    def __init__(self, *, dimension: int) -> None:
        super().__init__()
        self.architecture = {"dimension": dimension}
        self.origin: Tensor
        self.register_buffer("origin", torch.zeros(dimension))

    def initial_state(self, batch: int) -> State:
        return (self.origin.expand(batch, -1),)

    def predict(self, state: State) -> Tensor:
        return state[0]

    def update(self, state: State, observation: Tensor) -> State:  # noqa: ARG002
        return (observation,)
