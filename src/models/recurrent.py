"""What all recurrent models share: a belief that moves on with each observation, and one linear readout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from models.filtering import Filtered, State
from models.numerics.ridge import AffineMap


class Recurrent(nn.Module, ABC):
    """ô_t = M [s_t, o_{t−lags}, …, o_{t−1}] + c, where s_t is the part of the belief that the readout sees.

    The state is the belief's tensors followed by the recent observations (batch, lags·d), oldest first; before the
    first observation they are 0, the training mean in standardised units. lags 0 is the readout of the state alone.

    dimension: d observed features; exposed: the size of s_t. Raises ValueError for negative lags.
    """

    architecture: dict[str, Any]

    def __init__(self, *, dimension: int, exposed: int, lags: int) -> None:
        super().__init__()
        if lags < 0:
            raise ValueError(f"readout.lags must be 0 or more, got {lags}")
        self.lags = lags
        self.readout_weight = nn.Parameter(torch.zeros(dimension, exposed + lags * dimension))
        self.readout_bias = nn.Parameter(torch.zeros(dimension))

    @abstractmethod
    def initial_belief(self, batch: int) -> State: ...

    @abstractmethod
    def advance(self, belief: State, observation: Tensor) -> State:
        """The belief after one more observation (batch, d)."""
        ...

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        """The beliefs *before* each of the observations (batch, time, d), each tensor (batch, time, …)."""
        found = []
        for value in values.unbind(1):
            found.append(belief)
            belief = self.advance(belief, value)
        return tuple(torch.stack(parts, 1) for parts in zip(*found, strict=True))

    def exposed(self, belief: State) -> Tensor:
        """s_t (…, exposed)."""
        return belief[0]

    @property
    def readout_parameters(self) -> tuple[nn.Parameter, nn.Parameter]:
        return self.readout_weight, self.readout_bias

    def set_readout(self, readout: AffineMap) -> None:
        with torch.no_grad():
            self.readout_weight.copy_(readout.weight)
            self.readout_bias.copy_(readout.bias)

    def initial_state(self, batch: int) -> State:
        recent = self.readout_bias.new_zeros(batch, self.lags * len(self.readout_bias))
        return (*self.initial_belief(batch), recent)

    def readout_inputs(self, state: State) -> Tensor:
        return torch.cat([self.exposed(state[:-1]), state[-1]], -1)

    def state_share(self, exposed: Tensor) -> Tensor:
        """What the readout makes of s_t (…, exposed) alone: M's first columns, and c."""
        return nn.functional.linear(exposed, self.readout_weight[:, : exposed.shape[-1]], self.readout_bias)

    def predict(self, state: State) -> Tensor:
        """In two products, so that a gradient of the state alone does not run through the recent observations."""
        exposed, recent = self.exposed(state[:-1]), state[-1]
        share = self.state_share(exposed)
        return share + nn.functional.linear(recent, self.readout_weight[:, exposed.shape[-1] :]) if self.lags else share

    def update(self, state: State, observation: Tensor) -> State:
        belief = self.advance(state[:-1], observation)
        if not self.lags:
            return (*belief, state[-1])
        return (*belief, torch.cat([state[-1], observation], 1)[:, observation.shape[1] :])

    def states_observed(self, start: State, values: Tensor) -> State:
        """The states *before* each of the observations (batch, time, d), all of which are there."""
        recent = start[-1].unflatten(1, (self.lags, values.shape[2]))
        windows = torch.cat([recent, values], 1)[:, : values.shape[1] + self.lags - 1]
        recents = windows.unfold(1, self.lags, 1).transpose(2, 3).flatten(2) if self.lags else values[..., :0]
        return (*self.beliefs_along(start[:-1], values), recents)

    def filter_observed(self, start: State, values: Tensor) -> Filtered:
        """`filter_sequences` where every entry was observed: the predictions of all steps are read at once."""
        states = self.states_observed(start, values)
        return Filtered(self.predict(states), values, states)


def trained_parameters(model: nn.Module) -> int:
    """How many numbers of the model are fitted, by regression or by gradient."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
