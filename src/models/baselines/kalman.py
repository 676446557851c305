"""Kalman filter whose linear-Gaussian state-space model is found by subspace identification (`subspace`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from models.baselines.subspace import (
    StateSpace,
    complete_windows,
    identify_orders,
    principal_components,
    window_moment,
)
from models.forecasting.filtering import SHORTEST_STRETCH, Filtered, State, one_step_error, step_by_step
from models.forecasting.fitting import Fitted, Problem
from models.numerics.held_out import least_error
from models.numerics.ties import first_of_least
from models.ranges import Count
from models.runtime.progress import advanced

LARGEST_WINDOW = 2000
NOISE = 1e-6  # variance of white noise that the moments are given, as if every observation carried it


class Kalman(nn.Module):
    """Is the innovation form with a constant gain: ô_t = C x_t + c, x_{t+1} = A x_t + K (o_t − ô_t).

    transition A (state, state), gain K (state, feature), readout C (feature, state), bias c (feature,),
    initial x_1 (state,). Raises ValueError for a state below 1.
    """

    def __init__(self, *, dimension: int, state: int) -> None:
        super().__init__()
        if state < 1:
            raise ValueError(f"a Kalman filter needs a state of at least 1 dimension, got {state}")
        self.architecture = {"dimension": dimension, "state": state}
        self.transition = nn.Parameter(torch.zeros(state, state))
        self.gain = nn.Parameter(torch.zeros(state, dimension))
        self.readout = nn.Parameter(torch.zeros(dimension, state))
        self.bias = nn.Parameter(torch.zeros(dimension))
        self.initial = nn.Parameter(torch.zeros(state))

    def initial_state(self, batch: int) -> State:
        """Returns the state of `batch` sequences before their first observation: x_1 (batch, state)."""
        return (self.initial.expand(batch, -1),)

    def predict(self, state: State) -> Tensor:
        """Returns the expected next observation, (batch, d)."""
        return nn.functional.linear(state[0], self.readout, self.bias)

    def exposed(self, state: State) -> Tensor:
        """Returns x_t (…, state), what a readout may see of the state."""
        return state[0]

    def update(self, state: State, observation: Tensor) -> State:
        """Returns the state after one more observation (batch, d)."""
        innovation = observation - self.predict(state)
        return (state[0] @ self.transition.T + innovation @ self.gain.T,)

    def filter_observed(self, start: State, values: Tensor) -> Filtered:
        """Returns what `filter_sequences` does where every entry was observed, but for rounding. The state moves by
        x_{t+1} = (A − K C) x_t + K (o_t − c), whose second term is found for all steps at once. Stretches below
        `SHORTEST_STRETCH` go row by row, as they do beside gaps: rows missing before the first change no bit there."""
        if values.shape[1] < SHORTEST_STRETCH:
            observed = torch.ones_like(values, dtype=torch.bool)
            return step_by_step(self, values, observed, observed.all(2), start)[0]
        driven = nn.functional.linear(values - self.bias, self.gain)
        closed = (self.transition - self.gain @ self.readout).T
        states = [start[0]]
        for drive in driven.unbind(1)[:-1]:
            states.append(torch.addmm(drive, states[-1], closed))
        advanced(driven.shape[0] * driven.shape[1])
        along = torch.stack(states, 1)
        return Filtered(self.predict((along,)), values, (along,))


def orders_up_to(orders: Sequence[int], largest: int) -> list[int]:
    """Returns the orders up to `largest`; warns of the others. Raises ValueError when none is left or one is below
    1."""
    if not orders or min(orders) < 1:
        raise ValueError(f"a Kalman filter needs orders of at least 1 to choose from, got {list(orders)}")
    skipped = [order for order in orders if order > largest]
    if len(skipped) == len(orders):
        raise ValueError(
            f"every order of {list(orders)} is above {largest}, block · features; lower them or raise blocks"
        )
    if skipped:
        named = ", ".join(map(str, skipped))
        warnings.warn(f"orders above {largest}, block · features, are skipped: {named}", stacklevel=3)
    return [order for order in orders if order <= largest]


def build_kalman(system: StateSpace, bias: Tensor, basis: Tensor | None) -> Kalman:
    """Returns a filter in the dtype and on the device of `bias` (feature,).

    basis: V (feature, component); with it, gain and readout of the system are those of Vᵀ(o − c).
    """
    gain, readout = system.gain, system.readout
    if basis is not None:
        gain, readout = gain @ basis.T, basis @ readout
    model = Kalman(dimension=len(bias), state=len(system.transition)).to(bias)
    with torch.no_grad():
        model.transition.copy_(system.transition)
        model.gain.copy_(gain)
        model.readout.copy_(readout)
        model.bias.copy_(bias)
    return model


def fit_kalman(
    train: tuple[Tensor, Tensor, Tensor], *, orders: Sequence[int], block: int, components: int = 64
) -> dict[int, Kalman]:
    """Returns the filter of each of the orders. train: values, mask, scored, all (sequence, time, feature),
    standardised; the models have the dtype and device of the values.

    block: steps of past, and of future, that the states are found from. Only windows of 2 · block steps that were
    observed entirely are used; orders above block · features are skipped with a warning.
    components: above block · features = 2000 the identification runs on the leading `components` principal components
    Vᵀ(o − c) of the observations, and orders go up to block · components; the filter still reads and predicts
    observations, with K Vᵀ for K and V C for C, so every prediction lies in c + span V.
    The initial state is 0, the stationary mean.

    Raises ValueError for a block, components or order below 1, no orders, and no complete window.
    """
    if min(block, components) < 1:
        raise ValueError(f"block ({block}) and components ({components}) must be at least 1")
    values, mask, _ = train
    windows = windows_of_blocks(mask, block)
    bias = values.masked_fill(~mask, 0.0).sum((0, 1)) / mask.sum((0, 1)).clamp(min=1)
    centred, basis = values - bias, None
    if block * values.shape[2] > LARGEST_WINDOW:
        basis = principal_components(centred, mask, components)
        centred = centred @ basis.to(centred)
    usable = orders_up_to(orders, block * centred.shape[2])
    moment = window_moment(centred, windows, 2 * block)
    moment.diagonal().add_(NOISE)
    return {n: build_kalman(system, bias, basis) for n, system in identify_orders(moment, block, usable).items()}


def windows_of_blocks(mask: Tensor, block: int) -> Tensor:
    """Returns the windows of 2 · block steps, as `complete_windows`. Raises ValueError where there is none."""
    windows = complete_windows(mask, 2 * block)
    if not len(windows):
        raise ValueError(
            f"no training sequence has {2 * block} entirely observed steps in a row; lower blocks ({block})"
        )
    return windows


@dataclass(frozen=True, kw_only=True)
class KalmanFilter:
    """Is the section `model=kalman`: it takes the block and the order with the least validation error.

    orders: those up to block · d are tried, and block · d itself (block · components for many features).
    Raises ValueError without blocks, and when several blocks or orders meet an empty validation part.
    """

    name: ClassVar[str] = "kalman"
    trained: ClassVar[bool] = False
    blocks: list[Count] = field(default_factory=lambda: [2, 4])
    orders: list[Count] = field(default_factory=lambda: [2, 4, 8, 16, 32, 64])
    components: Count = 64

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ValueError("blocks needs at least one value")

    def fit(self, problem: Problem) -> Fitted:
        """Returns the filter of the chosen block and order, and these: of those whose errors are rounding
        (`least_error`) the first. Raises ValueError as `candidates`."""
        fits = self.candidates(problem)
        if len(fits) == 1:
            return fits[0]
        models: list[Any] = [fitted.model for fitted in fits]
        errors = [one_step_error(model, problem.validation) for model in models]
        rounding = least_error(problem.validation.values, problem.validation.scored)
        return fits[first_of_least(errors, rounding, within=1.0)]

    def candidates(self, problem: Problem) -> list[Fitted]:
        """Returns the filter of every block and order, and these, in the order of `blocks` and `orders`. Raises
        ValueError as `fit_kalman`, and where there are several and the validation part is empty."""
        orders = {block: self._orders(block, problem.dimension) for block in self.blocks}
        if sum(map(len, orders.values())) > 1 and not bool(problem.validation.scored.any()):
            raise ValueError(
                "several blocks or orders to choose from and no validation step to choose by; give a longer "
                "validation part"
            )
        return [
            Fitted(model, {"block": block, "order": order})
            for block, tried in orders.items()
            for order, model in fit_kalman(problem.train, orders=tried, block=block, components=self.components).items()
        ]

    def solved_again(self, model: nn.Module, chosen: Mapping[str, Any], problem: Problem) -> nn.Module:  # noqa: ARG002
        """Returns the filter of the chosen block and order, identified along other sequences."""
        fits = replace(self, blocks=[chosen["block"]], orders=[chosen["order"]]).candidates(problem)
        return next(fitted.model for fitted in fits if fitted.chosen["order"] == chosen["order"])

    def _orders(self, block: int, dimension: int) -> list[int]:
        """Returns the orders that are tried with a block of so many steps: the largest one too."""
        largest = block * (dimension if block * dimension <= LARGEST_WINDOW else self.components)
        return [*(order for order in self.orders if order < largest), largest]
