"""Vector autoregression by ridge: the linear model that any recurrent network has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from models.filtering import State, one_step_error
from models.fitting import Fitted, Problem
from models.numerics.ridge import RegressionData, fit_affine_by_validation


class Autoregression(nn.Module):
    """ô_t = M [o_{t−p}, …, o_{t−1}] + c; before the first observation the lags are 0, the training mean."""

    def __init__(self, *, dimension: int, order: int) -> None:
        super().__init__()
        if order < 1:
            raise ValueError(f"an autoregression needs an order of at least 1, got {order}")
        self.architecture = {"dimension": dimension, "order": order}
        self.weight = nn.Parameter(torch.zeros(dimension, order * dimension))
        self.bias = nn.Parameter(torch.zeros(dimension))

    def initial_state(self, batch: int) -> State:
        return (self.bias.new_zeros(batch, self.weight.shape[1]),)

    def predict(self, state: State) -> Tensor:
        return torch.nn.functional.linear(state[0], self.weight, self.bias)

    def update(self, state: State, observation: Tensor) -> State:
        return (torch.cat([state[0], observation], 1)[:, observation.shape[1] :],)


def lag_rows(values: Tensor, mask: Tensor, scored: Tensor, order: int) -> RegressionData:
    """Rows with `order` entirely observed steps before a scored one; values, mask, scored (sequence, time, feature)."""
    if values.shape[1] <= order:
        raise ValueError(f"sequences of {values.shape[1]} steps are too short for an autoregression of order {order}")
    lags = values.unfold(1, order, 1)[:, :-1].transpose(2, 3).flatten(2)
    complete = mask.all(2).unfold(1, order, 1).all(2)[:, :-1]
    keep = complete & scored[:, order:].any(2)
    return RegressionData(lags[keep], values[:, order:][keep], scored[:, order:][keep])


def fit_autoregression(
    train: tuple[Tensor, Tensor, Tensor],
    validation: tuple[Tensor, Tensor, Tensor],
    *,
    order: int,
    ridges: Sequence[float],
    scale: str,
) -> tuple[Autoregression, float]:
    """Ridge chosen on validation. Each part is values, mask, scored, all (sequence, time, feature).

    Raises ValueError when no training step has `order` observed steps before it.
    """
    rows = lag_rows(*train, order)
    if not len(rows.inputs):
        raise ValueError(f"no training step has {order} observed steps before it; an autoregression cannot be fitted")
    readout, place = fit_affine_by_validation(rows, lag_rows(*validation, order), ridges, scale=scale)
    model = Autoregression(dimension=train[0].shape[2], order=order)
    model.to(dtype=train[0].dtype, device=train[0].device)
    with torch.no_grad():
        model.weight.copy_(readout.weight)
        model.bias.copy_(readout.bias)
    return model, ridges[place]


@dataclass(frozen=True, kw_only=True)
class VAR:
    """`model=var`: the order of `orders` and the ridge of `ridges` with the least validation error.

    Raises ValueError without orders or ridges, and when several orders meet an empty validation part.
    """

    name: ClassVar[str] = "var"
    trained: ClassVar[bool] = False
    orders: list[int] = field(default_factory=lambda: [1, 2, 4, 8])
    ridges: list[float] = field(default_factory=lambda: [1e-4, 1e-2, 1.0, 1e2, 1e4])
    scale: str = "none"

    def __post_init__(self) -> None:
        if not self.orders or not self.ridges:
            raise ValueError("model.orders and model.ridges need at least one value each")

    def fit(self, problem: Problem) -> Fitted:
        if len(self.orders) > 1 and not bool(problem.validation.scored.any()):
            raise ValueError("several model.orders to choose from and no validation step to choose by; give one order")
        fits = {
            order: fit_autoregression(
                problem.train, problem.validation, order=order, ridges=self.ridges, scale=self.scale
            )
            for order in self.orders
        }
        order = min(fits, key=lambda order: one_step_error(fits[order][0], problem.validation))
        model, ridge = fits[order]
        return Fitted(model, {"order": order, "ridge": ridge})
