"""Vector autoregression by ridge: the linear model that any recurrent network has to beat."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from models.forecasting.filtering import Filtered, MaskedSequences, State, one_step_error, recent_along
from models.forecasting.fitting import Fitted, Problem
from models.forecasting.start_up import (
    StartUp,
    lag_rows,
    maps_of_each,
    mean_map,
    start_up_of,
    start_up_orders,
    steps_behind_lags,
)
from models.numerics.held_out import least_error
from models.numerics.ridge import (
    AffineMap,
    RegressionData,
    affine_from_moments,
    centred_moments,
    least_validation_error,
)
from models.numerics.ties import first_of_least
from models.ranges import Count, Positive


class Autoregression(nn.Module):
    """Predicts ô_t = M [o_{t−p}, …, o_{t−1}] + c, M (d, p·d) and c (d,).

    start_up: autoregressions of lower order, read while fewer than p rows were seen. Without it lags before the first
    observation are 0, the training mean, as in models that were saved before there was a start-up.

    The state is the last p observations (batch, p·d), oldest first, and the rows seen (batch, 1), at most p. Raises
    ValueError for an order below 1.
    """

    start_up: StartUp | None

    def __init__(self, *, dimension: int, order: int) -> None:
        super().__init__()
        if order < 1:
            raise ValueError(f"an autoregression needs an order of at least 1, got {order}")
        self.architecture = {"dimension": dimension, "order": order}
        self.history = order
        self.weight = nn.Parameter(torch.zeros(dimension, order * dimension))
        self.bias = nn.Parameter(torch.zeros(dimension))
        self.start_up = None

    def initial_state(self, batch: int) -> State:
        """Returns the state of `batch` sequences before their first observation: no row is seen."""
        return self.bias.new_zeros(batch, self.weight.shape[1]), self.bias.new_zeros(batch, 1)

    def has_begun(self, state: State) -> Tensor:
        """Returns bools (batch,): whether a row was seen; true without a start-up, as no rows are counted then."""
        seen = state[1][:, 0]
        return torch.ones_like(seen, dtype=torch.bool) if self.start_up is None else seen > 0

    def predict(self, state: State) -> Tensor:
        """Returns the expected next observation, (batch, d)."""
        recent, seen = state
        predictions = nn.functional.linear(recent, self.weight, self.bias)
        return predictions if self.start_up is None else self.start_up.take_over(predictions, recent, seen)

    def update(self, state: State, observation: Tensor) -> State:
        """Returns the state after one more observation (batch, d)."""
        recent, seen = state
        if self.start_up is not None:
            seen = self.start_up.counted(seen, 1)[:, 1:]
        return torch.cat([recent, observation], 1)[:, observation.shape[1] :], seen

    def filter_observed(self, start: State, values: Tensor) -> Filtered:
        """Returns what `filter_sequences` does where every entry was observed: the predictions of all steps are read
        at once."""
        recent, seen = start
        counts = seen.expand(-1, values.shape[1])
        if self.start_up is not None:
            counts = self.start_up.counted(seen, values.shape[1])[:, :-1]
        states = recent_along(recent, values), counts.unsqueeze(2)
        return Filtered(self.predict(states), values, states)


def fit_autoregressions(
    train: tuple[Tensor, Tensor, Tensor],
    validation: tuple[Tensor, Tensor, Tensor],
    *,
    orders: Sequence[int],
    ridges: Sequence[float],
    scale: str,
) -> Iterator[tuple[Autoregression, float]]:
    """Yields an autoregression of each of the orders, and its ridge, which is chosen on validation. Each part is
    values, mask, scored, all (sequence, time, feature).

    Lower orders, for the beginning of sequences, are fitted each to all rows that have its lags, with a ridge of its
    own: in a system that begins at rest, say, the first rows are not like the others. Where no validation row has the
    lags of a lower order, its ridge is chosen on the training rows. A lower order is fitted once for all of them.

    Raises ValueError when no training step has as many observed steps before it as an order.
    """
    for each in orders_apart(train, validation, orders=orders, ridges=ridges, scale=scale):
        readout, place = least_validation_error(each.maps, each.held_out)
        yield each.model(readout), ridges[place]


class OrderFits(NamedTuple):
    """Holds what is fitted to one order: the map of each ridge, made when it is asked for, the validation rows that
    have its lags, and the start-up, which all of its autoregressions share."""

    order: int
    maps: Iterator[AffineMap]
    held_out: RegressionData
    start_up: StartUp

    def model(self, readout: AffineMap) -> Autoregression:
        """Returns the autoregression of one of the maps, with the start-up."""
        model = autoregression_of(readout, order=self.order, like=self.start_up.bias)
        model.start_up = self.start_up
        return model


def orders_apart(
    train: tuple[Tensor, Tensor, Tensor],
    validation: tuple[Tensor, Tensor, Tensor],
    *,
    orders: Sequence[int],
    ridges: Sequence[float],
    scale: str,
) -> Iterator[OrderFits]:
    """Yields the fits of each of the orders. A lower order is fitted once for all of them. Raises ValueError as
    `fit_autoregressions`."""
    train_rows, validation_rows = (partial(lag_rows, *part) for part in (train, validation))
    below: dict[int, AffineMap] = {}
    for order in orders:
        rows = train_rows(order)
        if not len(rows.inputs):
            raise ValueError(
                f"no training step has {order} observed steps before it; take a lower order, or fill the gaps"
            )
        held_out, moments = validation_rows(order), centred_moments(rows)
        lower = start_up_orders(order)[:-1]
        new = [p for p in lower[1:] if p not in below]
        below |= zip(new, maps_of_each(new, train_rows, validation_rows, ridges=ridges, scale=scale), strict=True)
        maps = [mean_map(moments, rows.targets), *(below[p] for p in lower[1:])]
        start_up = start_up_of(maps, orders=lower, history=order, like=train[0][0, 0])
        fits = (affine_from_moments(moments, ridge, scale=scale) for ridge in ridges)
        yield OrderFits(order, fits, held_out, start_up)


def autoregression_of(readout: AffineMap, *, order: int, like: Tensor) -> Autoregression:
    """Returns the autoregression of the map, M (d, order·d) and c (d,), in the dtype and on the device of `like`
    (…, d), without a start-up."""
    model = Autoregression(dimension=like.shape[-1], order=order).to(dtype=like.dtype, device=like.device)
    with torch.no_grad():
        model.weight.copy_(readout.weight)
        model.bias.copy_(readout.bias)
    return model


def has_rows(part: MaskedSequences, order: int) -> bool:
    """Returns whether a scored step of the part has `order` entirely observed steps before it."""
    return order < part.values.shape[1] and bool(steps_behind_lags(part.mask, part.scored, order).any())


def orders_that_fit(orders: Sequence[int], parts: Sequence[MaskedSequences]) -> list[int]:
    """Returns the orders with a scored step after so many entirely observed ones in each of the parts."""
    return [order for order in orders if all(has_rows(part, order) for part in parts)]


def orders_with_rows(orders: Sequence[int], parts: Sequence[MaskedSequences]) -> list[int]:
    """Returns the orders with a scored step after so many observed ones in each of the parts; warns of the others.

    A single order is left as it is.
    """
    if len(orders) == 1:
        return list(orders)
    usable = orders_that_fit(orders, parts)
    skipped = [order for order in orders if order not in usable]
    if skipped:
        named = ", ".join(map(str, skipped))
        warnings.warn(
            "orders of the autoregression: no step has so many observed ones before it in training and validation: "
            f"{named}; skipped",
            stacklevel=4,
        )
    return usable or [min(orders)]


@dataclass(frozen=True, kw_only=True)
class VAR:
    """Is the section `model=var`: it takes the order of `orders` and the ridge of `ridges` with the least validation
    error.

    Orders are compared over the same steps: the first of a sequence are predicted by lower orders. Those that the data
    are too short for are skipped with a warning.
    Raises ValueError without orders or ridges, and when several orders meet an empty validation part.
    """

    name: ClassVar[str] = "var"
    trained: ClassVar[bool] = False
    orders: list[Count] = field(default_factory=lambda: [1, 2, 4, 8, 16])
    ridges: list[Positive] = field(default_factory=lambda: [1e-4, 1e-2, 1.0, 1e2, 1e4])
    scale: str = "none"

    def __post_init__(self) -> None:
        if not self.orders or not self.ridges:
            raise ValueError("orders and ridges need at least one value each")
        if min(self.orders) < 1:
            raise ValueError(f"an autoregression needs an order of at least 1, got {min(self.orders)}")

    def fit(self, problem: Problem) -> Fitted:
        """Returns the autoregression of the chosen order and ridge, and these: of orders whose errors are rounding
        (`least_error`) the first. Raises ValueError as `fit_autoregressions`."""
        fits = self.candidates(problem)
        models: list[Any] = [fitted.model for fitted in fits]
        errors = [one_step_error(model, problem.validation) for model in models]
        rounding = least_error(problem.validation.values, problem.validation.scored)
        return fits[first_of_least(errors, rounding, within=1.0)]

    def candidates(self, problem: Problem) -> list[Fitted]:
        """Returns the autoregression of each order that the data are long enough for, in the order of `orders`, with
        the ridge chosen for it. Raises ValueError as `fit`."""
        orders = self._usable(problem)
        fits = fit_autoregressions(
            problem.train, problem.validation, orders=orders, ridges=self.ridges, scale=self.scale
        )
        return [
            Fitted(model, {"order": order, "ridge": ridge}) for order, (model, ridge) in zip(orders, fits, strict=True)
        ]

    def candidates_of_every_ridge(self, problem: Problem) -> list[Fitted]:
        """Returns the autoregression of each order that the data are long enough for with each ridge: of the orders in
        theirs, and of one order the largest ridge first. Raises ValueError as `fit`."""
        ridges = sorted(self.ridges, reverse=True)
        fits = orders_apart(
            problem.train, problem.validation, orders=self._usable(problem), ridges=ridges, scale=self.scale
        )
        return [
            Fitted(each.model(readout), {"order": each.order, "ridge": ridge})
            for each in fits
            for ridge, readout in zip(ridges, each.maps, strict=True)
        ]

    def solved_again(self, model: Autoregression, chosen: Mapping[str, Any], problem: Problem) -> nn.Module:
        """Returns the autoregression of the chosen order and ridge along other sequences; the lower orders for their
        beginning are those of the model."""
        of_chosen = replace(self, orders=[chosen["order"]], ridges=[chosen["ridge"]])
        again: Any = of_chosen.candidates(problem)[0].model
        again.start_up = model.start_up
        return again

    def _usable(self, problem: Problem) -> list[int]:
        if len(self.orders) > 1 and not bool(problem.validation.scored.any()):
            raise ValueError("several orders to choose from and no validation step to choose by; give one order")
        return orders_with_rows(self.orders, [problem.train, problem.validation])
