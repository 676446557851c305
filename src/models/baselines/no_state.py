"""No state at all: a readout of recent observations, beside which one sees what a state adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from models.forecasting.filtering import State
from models.forecasting.fitting import Fitted, Problem, readout_solved_again, with_readout
from models.forecasting.recurrent import Recurrent


class Stateless(Recurrent):
    """Has a belief of no numbers; its readout sees the last `lags` observations alone."""

    def __init__(self, *, dimension: int, lags: int) -> None:
        super().__init__(dimension=dimension, exposed=0, lags=lags)
        self.architecture = {"dimension": dimension, "lags": lags}

    def initial_belief(self, batch: int) -> State:
        return (self.readout_bias.new_zeros(batch, 0),)

    def advance(self, belief: State, observation: Tensor) -> State:  # noqa: ARG002
        return belief

    def beliefs_along(self, belief: State, values: Tensor) -> State:  # noqa: ARG002
        return (values[..., :0],)


@dataclass(frozen=True, kw_only=True)
class NoState:
    """Is the section `model=no_state`: the readout without a state, whichever readout is asked for."""

    name: ClassVar[str] = "no_state"
    trained: ClassVar[bool] = False
    solved_again = staticmethod(readout_solved_again)

    def fit(self, problem: Problem) -> Fitted:
        """Returns the model with its readout solved, and what validation chose for it. Raises ValueError as
        `models.forecasting.readout.fit_readout`."""
        return with_readout(Stateless(dimension=problem.dimension, lags=problem.readout.lags), problem)
