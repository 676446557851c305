"""What all recurrent models share: a belief that moves on with each observation, and one linear readout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from models.forecasting.filtering import Filtered, State, recent_along
from models.forecasting.start_up import StartUp
from models.numerics.ridge import AffineMap


class Recurrent(nn.Module, ABC):
    """Predicts ô_t = M [s_t, o_{t−lags}, …, o_{t−1}] + c, where s_t is the part of the belief that the readout sees.

    The state is the belief's tensors, then the recent observations (batch, lags·d), oldest first, then the rows seen
    (batch, 1), counted no further than `history`. lags 0 is the readout of the state alone.

    start_up: what is read in place of M while fewer than `history` rows were seen. Without it observations before the
    first are 0, the training mean in standardised units, as in models that were saved before there was a start-up.

    dimension: d observed features; exposed: the size of s_t. Raises ValueError for negative lags.
    """

    architecture: dict[str, Any]
    start_up: StartUp | None

    def __init__(self, *, dimension: int, exposed: int, lags: int) -> None:
        super().__init__()
        if lags < 0:
            raise ValueError(f"lags must be 0 or more, got {lags}")
        self.lags = lags
        self.readout_weight = nn.Parameter(torch.zeros(dimension, exposed + lags * dimension))
        self.readout_bias = nn.Parameter(torch.zeros(dimension))
        self.start_up = None

    @property
    def history(self) -> int:
        """Returns how many rows the model wants to have seen before the first that it predicts."""
        return self.lags if self.start_up is None else self.start_up.history

    @abstractmethod
    def initial_belief(self, batch: int) -> State:
        """Returns the belief of `batch` sequences before their first observation, each tensor (batch, …)."""
        ...

    @abstractmethod
    def advance(self, belief: State, observation: Tensor) -> State:
        """Returns the belief after one more observation (batch, d)."""
        ...

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        """Returns the beliefs *before* each of the observations (batch, time, d), each tensor (batch, time, …)."""
        beliefs = []
        for value in values.unbind(1):
            beliefs.append(belief)
            belief = self.advance(belief, value)
        return tuple(torch.stack(parts, 1) for parts in zip(*beliefs, strict=True))

    def exposed_along(self, belief: State, values: Tensor) -> Tensor:
        """Returns s_t before each of the observations (batch, time, d): (batch, time, exposed)."""
        return self.exposed(self.beliefs_along(belief, values))

    def exposed(self, belief: State) -> Tensor:
        """Returns s_t, (…, exposed), the part of the belief that the readout sees."""
        return belief[0]

    @property
    def readout_parameters(self) -> tuple[nn.Parameter, nn.Parameter]:
        """Returns M (d, exposed + lags·d) and c (d,)."""
        return self.readout_weight, self.readout_bias

    def set_readout(self, readout: AffineMap) -> None:
        """Sets M and c to those of the map."""
        with torch.no_grad():
            self.readout_weight.copy_(readout.weight)
            self.readout_bias.copy_(readout.bias)

    def initial_state(self, batch: int) -> State:
        """Returns the state before the first observation: the belief, recent observations (batch, lags·d) and the
        rows seen (batch, 1), both 0."""
        recent = self.readout_bias.new_zeros(batch, self.lags * len(self.readout_bias))
        return (*self.initial_belief(batch), recent, recent.new_zeros(batch, 1))

    def belief(self, state: State) -> State:
        """Returns the tensors of the state that are the belief."""
        return state[:-2]

    def recent(self, state: State) -> Tensor:
        """Returns the recent observations of the state, (…, lags·d), oldest first."""
        return state[-2]

    def readout_inputs(self, state: State) -> Tensor:
        """Returns what the readout is a map of: s_t and the recent observations, (…, exposed + lags·d)."""
        return torch.cat([self.exposed(self.belief(state)), self.recent(state)], -1)

    def state_share(self, exposed: Tensor) -> Tensor:
        """Returns what the readout makes of s_t (…, exposed) alone: M's first columns, and c. It is (…, d)."""
        return nn.functional.linear(exposed, self.readout_weight[:, : exposed.shape[-1]], self.readout_bias)

    def read(self, state: State) -> Tensor:
        """Returns the readout itself, (…, d), whatever was seen, in two products, so that a gradient of the state
        alone does not run through the recent observations."""
        exposed = self.exposed(self.belief(state))
        share = self.state_share(exposed)
        if not self.lags:
            return share
        return share + nn.functional.linear(self.recent(state), self.readout_weight[:, exposed.shape[-1] :])

    def is_read(self, state: State) -> Tensor:
        """Returns bools (…, 1): whether M is read there, and not the start-up."""
        return state[-1] >= (0 if self.start_up is None else self.history)

    def has_begun(self, state: State) -> Tensor:
        """Returns bools (batch,): whether a row was seen; true without a start-up, as no rows are counted then."""
        return torch.ones_like(state[-1][:, 0], dtype=torch.bool) if self.start_up is None else state[-1][:, 0] > 0

    def begun(self, predictions: Tensor, state: State) -> Tensor:
        """Returns the readout's predictions (…, d) from the state, in place those of the start-up where too little
        was seen."""
        return predictions if self.start_up is None else self.start_up.take_over(predictions, state[-2], state[-1])

    def predict(self, state: State) -> Tensor:
        """Returns the expected next observation (…, d): of the readout, or of the start-up where too little was
        seen."""
        return self.begun(self.read(state), state)

    def update(self, state: State, observation: Tensor) -> State:
        """Returns the state after one more observation (batch, d)."""
        belief, recent = self.advance(self.belief(state), observation), self.recent(state)
        if self.lags:
            recent = torch.cat([recent, observation], 1)[:, observation.shape[1] :]
        return (*belief, recent, self._counted(state[-1], 1)[:, 1:])

    def _counted(self, seen: Tensor, rows: int) -> Tensor:
        """Returns `StartUp.counted`; where there is no start-up, `seen` (batch, 1) for each of the rows, (batch, rows +
        1)."""
        return seen.expand(-1, rows + 1) if self.start_up is None else self.start_up.counted(seen, rows)

    def states_observed(self, start: State, values: Tensor) -> State:
        """Returns the states *before* each of the observations (batch, time, d), all of which are there."""
        seen = self._counted(start[-1], values.shape[1])[:, :-1].unsqueeze(2)
        return (*self.beliefs_along(self.belief(start), values), recent_along(self.recent(start), values), seen)

    def filter_observed(self, start: State, values: Tensor) -> Filtered:
        """Returns what `filter_sequences` does where every entry was observed: the predictions of all steps are read
        at once."""
        states = self.states_observed(start, values)
        return Filtered(self.predict(states), values, states)


def trained_parameters(model: nn.Module) -> int:
    """Returns how many numbers of the model are fitted, by regression or by gradient."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
