"""Vector autoregression by ridge: the linear model that any recurrent network has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.filtering import State
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
    readout, ridge = fit_affine_by_validation(rows, lag_rows(*validation, order), ridges, scale=scale)
    model = Autoregression(dimension=train[0].shape[2], order=order)
    model.to(dtype=train[0].dtype, device=train[0].device)
    with torch.no_grad():
        model.weight.copy_(readout.weight)
        model.bias.copy_(readout.bias)
    return model, ridge
