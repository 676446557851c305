"""Recurrent networks trained by gradient: LSTM, GRU and minGRU, all with the same readout as the PSRNN."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from models.baselines.gated import gru_states, leaky_states, lstm_states
from models.forecasting.filtering import State
from models.forecasting.fitting import Fitted, Problem, with_readout
from models.forecasting.recurrent import Recurrent
from models.ranges import Count

BLOCK = 512  # steps without a gradient whose gates are in memory at once


def draw_uniform(module: nn.Module, bound: float, generator: torch.Generator) -> None:
    """Draws all parameters uniform in ±bound, from an explicit generator (torch's own start has a hidden one)."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(bound * (2 * torch.rand(parameter.shape, generator=generator, dtype=torch.float64) - 1))


def undrawn(kind: Callable[[int, int], nn.Module], inputs: int, units: int) -> Any:
    """Returns a module of torch's, to be drawn by `draw_uniform`; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        return kind(inputs, units)


class Gated(Recurrent):
    """Finds its states along observed sequences as in `models.baselines.gated` where there is a gradient."""

    @abstractmethod
    def moved_along(self, belief: State, values: Tensor) -> State:
        """Returns the beliefs before, between and after observations (time, batch, d): each tensor (time + 1, batch,
        …)."""
        ...

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        """Returns the beliefs before each of the observations (batch, time, d), each tensor (batch, time, …)."""
        if not torch.is_grad_enabled():
            return super().beliefs_along(belief, values)
        moved = self.moved_along(belief, values[:, :-1].transpose(0, 1))
        return tuple(part[: values.shape[1]].transpose(0, 1) for part in moved)


class LSTMNetwork(Gated):
    """Is long short-term memory (Hochreiter and Schmidhuber 1997) with forget gate.

    The readout sees the hidden state.
    """

    def __init__(self, *, dimension: int, units: int, lags: int) -> None:
        super().__init__(dimension=dimension, exposed=units, lags=lags)
        self.architecture = {"dimension": dimension, "units": units, "lags": lags}
        self.cell = undrawn(nn.LSTMCell, dimension, units)

    def draw(self, generator: torch.Generator) -> None:
        """Draws weights uniform in ±1/√units, and a forget gate that starts open (Jozefowicz et al. 2015): of its
        two biases one is 1 and the other random, so that their sum is 1 ± 1/√units."""
        units = self.cell.hidden_size
        draw_uniform(self.cell, units**-0.5, generator)
        with torch.no_grad():
            self.cell.bias_ih[units : 2 * units] = 1.0

    def initial_belief(self, batch: int) -> State:
        zeros = self.readout_bias.new_zeros(batch, self.cell.hidden_size)
        return zeros, zeros

    def advance(self, belief: State, observation: Tensor) -> State:
        hidden, memory = belief
        return self.cell(observation, (hidden, memory))

    def moved_along(self, belief: State, values: Tensor) -> State:
        driven = nn.functional.linear(values, self.cell.weight_ih, self.cell.bias_ih + self.cell.bias_hh)
        return lstm_states(driven, self.cell.weight_hh, *belief)

    def exposed_along(self, belief: State, values: Tensor) -> Tensor:
        """Returns the hidden states before each of the observations (batch, time, d): (batch, time, units).

        In single precision on a CPU torch's own layer is the fastest; it does not say its memories.
        """
        own = values.dtype != torch.float32 or values.device.type != "cpu" or values.shape[1] < 2
        if own or not torch.is_grad_enabled():
            return super().exposed_along(belief, values)
        start = tuple(part.unsqueeze(0).contiguous() for part in belief)
        weights = [self.cell.weight_ih, self.cell.weight_hh, self.cell.bias_ih, self.cell.bias_hh]
        seen = torch.lstm(values[:, :-1], start, weights, True, 1, 0.0, True, False, True)[0]
        return torch.cat([belief[0].unsqueeze(1), seen], 1)


class GRUNetwork(Gated):
    """Is the gated recurrent unit (Cho et al. 2014)."""

    def __init__(self, *, dimension: int, units: int, lags: int) -> None:
        super().__init__(dimension=dimension, exposed=units, lags=lags)
        self.architecture = {"dimension": dimension, "units": units, "lags": lags}
        self.cell = undrawn(nn.GRUCell, dimension, units)

    def draw(self, generator: torch.Generator) -> None:
        """Draws weights uniform in ±1/√units."""
        draw_uniform(self.cell, self.cell.hidden_size**-0.5, generator)

    def initial_belief(self, batch: int) -> State:
        return (self.readout_bias.new_zeros(batch, self.cell.hidden_size),)

    def advance(self, belief: State, observation: Tensor) -> State:
        return (self.cell(observation, belief[0]),)

    def moved_along(self, belief: State, values: Tensor) -> State:
        driven = nn.functional.linear(values, self.cell.weight_ih, self.cell.bias_ih)
        return (gru_states(driven, self.cell.weight_hh, self.cell.bias_hh, belief[0]),)


class MinGRULayer(nn.Module):
    """Moves h ← (1 − z) ⊙ h + z ⊙ h̃ with z = σ(W_z x + b_z), h̃ = W_h x + b_h: neither depends on h (Feng et al.
    2024)."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.gate = undrawn(nn.Linear, inputs, units)
        self.candidate = undrawn(nn.Linear, inputs, units)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """Returns h (batch, units) after x (batch, inputs), from `hidden` (batch, units)."""
        return torch.lerp(hidden, self.candidate(x), torch.sigmoid(self.gate(x)))

    def along(self, inputs: Tensor, hidden: Tensor) -> Tensor:
        """Returns h before, between and after the inputs (time, batch, inputs): (time + 1, batch, units)."""
        return leaky_states(torch.sigmoid(self.gate(inputs)), self.candidate(inputs), hidden)


class MinGRUNetwork(Gated):
    """Has two minGRU layers (Feng et al. 2024, Were RNNs all we needed?), the second on tanh of the first.

    A single layer moves on linearly between gates that see only the current observation; the second layer's gates see
    the first layer's past. The readout sees both layers.
    """

    def __init__(self, *, dimension: int, units: int, lags: int) -> None:
        super().__init__(dimension=dimension, exposed=2 * units, lags=lags)
        self.architecture = {"dimension": dimension, "units": units, "lags": lags}
        self.units = units
        self.first, self.second = MinGRULayer(dimension, units), MinGRULayer(units, units)

    def draw(self, generator: torch.Generator) -> None:
        """Draws each layer's weights uniform in ±1/√n, n the number of the layer's inputs."""
        for layer in (self.first, self.second):
            draw_uniform(layer, layer.gate.in_features**-0.5, generator)

    def initial_belief(self, batch: int) -> State:
        zeros = self.readout_bias.new_zeros(batch, self.units)
        return zeros, zeros

    def advance(self, belief: State, observation: Tensor) -> State:
        first = self.first(observation, belief[0])
        return first, self.second(torch.tanh(first), belief[1])

    def moved_along(self, belief: State, values: Tensor) -> State:
        first = self.first.along(values, belief[0])
        return first, self.second.along(torch.tanh(first[1:]), belief[1])

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        """Returns the beliefs before each of the observations (batch, time, d), each tensor (batch, time, units); it
        goes block by block where there is no gradient."""
        if torch.is_grad_enabled():
            return super().beliefs_along(belief, values)
        blocks = []
        for block in values.transpose(0, 1).split(BLOCK):
            moved = self.moved_along(belief, block)
            blocks.append(tuple(part[:-1].transpose(0, 1) for part in moved))
            belief = tuple(part[-1] for part in moved)
        return tuple(torch.cat(parts, 1) for parts in zip(*blocks, strict=True))

    def exposed(self, belief: State) -> Tensor:
        return torch.cat(belief, -1)


@dataclass(frozen=True, kw_only=True)
class _Network:
    """Is a section `model` of a network. units: the size of each state vector. Raises ValueError for units below 1."""

    name: ClassVar[str]
    trained: ClassVar[bool] = True
    network: ClassVar[type[LSTMNetwork | GRUNetwork | MinGRUNetwork]]
    units: Count = 32

    def __post_init__(self) -> None:
        if self.units < 1:
            raise ValueError(f"units must be at least 1, got {self.units}")

    def fit(self, problem: Problem) -> Fitted:
        """Draws random weights and solves a readout on them: where the refinement by gradient begins."""
        model = self.network(dimension=problem.dimension, units=self.units, lags=problem.readout.lags)
        model.draw(problem.generator)
        return with_readout(model, problem)


@dataclass(frozen=True, kw_only=True)
class LSTM(_Network):
    """Is the section `model=lstm`. units: the size of each state vector. Raises ValueError for units below 1."""

    name: ClassVar[str] = "lstm"
    network: ClassVar = LSTMNetwork


@dataclass(frozen=True, kw_only=True)
class GRU(_Network):
    """Is the section `model=gru`. units: the size of the state vector. Raises ValueError for units below 1."""

    name: ClassVar[str] = "gru"
    network: ClassVar = GRUNetwork


@dataclass(frozen=True, kw_only=True)
class MinGRU(_Network):
    """Is the section `model=min_gru`. units: the size of each state vector. Raises ValueError for units below 1."""

    name: ClassVar[str] = "min_gru"
    network: ClassVar = MinGRUNetwork
