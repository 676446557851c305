"""Echo state network: a fixed random reservoir; only the readout is fitted (Jaeger 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from models.forecasting.filtering import State
from models.forecasting.fitting import Fitted, Problem, readout_solved_again, with_readout
from models.forecasting.recurrent import Recurrent
from models.ranges import Count, NotNegative, Positive, Share


class EchoStateNetwork(Recurrent):
    """Moves h ← (1 − a) h + a tanh(W h + V o + b), with leak a (Lukoševičius 2012, A practical guide, equations 2 and
    3).

    recurrent W (units, units), inputs V (units, d), offset b (units,).
    """

    recurrent: Tensor
    inputs: Tensor
    offset: Tensor

    def __init__(self, *, dimension: int, units: int, leak: float, lags: int) -> None:
        super().__init__(dimension=dimension, exposed=units, lags=lags)
        self.architecture = {"dimension": dimension, "units": units, "leak": leak, "lags": lags}
        self.leak = leak
        self.register_buffer("recurrent", torch.zeros(units, units))
        self.register_buffer("inputs", torch.zeros(units, dimension))
        self.register_buffer("offset", torch.zeros(units))

    def initial_belief(self, batch: int) -> State:
        return (self.offset.new_zeros(batch, len(self.offset)),)

    def advance(self, belief: State, observation: Tensor) -> State:
        driven = torch.addmm(self.offset, observation, self.inputs.T) + belief[0] @ self.recurrent.T
        return (torch.lerp(belief[0], torch.tanh(driven), self.leak),)


@dataclass(frozen=True, kw_only=True)
class EchoState:
    """Is the section `model=echo_state`.

    units: size of the reservoir; spectral_radius: of W; leak: in (0, 1]; input_scale: half width of V's entries,
    divided by √d, and of b's.
    Raises ValueError for values out of range.
    """

    name: ClassVar[str] = "echo_state"
    trained: ClassVar[bool] = False
    solved_again = staticmethod(readout_solved_again)
    units: Count = 200
    spectral_radius: NotNegative = 0.9
    leak: Share = 0.5
    input_scale: Positive = 0.5

    def __post_init__(self) -> None:
        if self.units < 1:
            raise ValueError(f"units must be at least 1, got {self.units}")
        if not 0 < self.leak <= 1:
            raise ValueError(f"leak must lie above 0 and at most at 1, got {self.leak}")
        if self.spectral_radius < 0 or self.input_scale <= 0:
            raise ValueError("spectral_radius must not be negative and input_scale must be positive")

    def fit(self, problem: Problem) -> Fitted:
        """Returns a network with a random reservoir, and what validation chose for its readout."""

        def uniform(*shape: int) -> Tensor:
            return 2 * torch.rand(*shape, generator=problem.generator, dtype=torch.float64) - 1

        dimension = problem.dimension
        model = EchoStateNetwork(dimension=dimension, units=self.units, leak=self.leak, lags=problem.readout.lags)
        recurrent = uniform(self.units, self.units)
        largest = torch.linalg.eigvals(recurrent).abs().max()
        model.recurrent = recurrent * (self.spectral_radius / largest)
        model.inputs = uniform(self.units, dimension) * (self.input_scale / dimension**0.5)
        model.offset = uniform(self.units) * self.input_scale
        return with_readout(model, problem)
