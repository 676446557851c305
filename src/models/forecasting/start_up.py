"""What a readout with lags is replaced by while fewer rows were seen than it reads: autoregressions of lower order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, pairwise

import torch
from torch import Tensor, nn

from models.numerics.ridge import (
    AffineMap,
    CentredMoments,
    RegressionData,
    affine_from_moments,
    centred_moments,
    least_validation_error,
)

Rows = Callable[[int], RegressionData]
EVERY_ORDER = 16  # up to here there is an autoregression of each order


def start_up_orders(lags: int) -> list[int]:
    """Returns 0, 1, …, 16, then in steps of a quarter of the last (20, 25, 31, …), below `lags`; and `lags` itself.

    All of them together have a few times the weights of the last one, however many lags there are.
    """
    orders, order = [], 0
    while order < lags:
        orders.append(order)
        order += max(1, order // 4) if order >= EVERY_ORDER else 1
    return [*orders, lags]


class StartUp(nn.Module):
    """Predicts ô_t = M_p [o_{t−p}, …, o_{t−1}] + c_p, p the largest of `orders` for which p rows were seen.

    It stands in until `history` rows were seen; from there on the model's own readout is read. The rows seen are
    counted from the first of which anything was observed (`models.forecasting.filtering.moved_by`): what the model
    itself put in place of missing rows before it does not count, and what stands in for missing rows after it does.

    dimension: d; orders: ascending, 0 first, which is the mean alone; history: at least the last of the orders.
    """

    def __init__(self, *, dimension: int, orders: Sequence[int], history: int) -> None:
        super().__init__()
        self.orders, self.history = tuple(orders), history
        for order in self.orders:
            self.register_buffer(f"weight_{order}", torch.zeros(dimension, order * dimension))
        self.bias: Tensor
        self.register_buffer("bias", torch.zeros(len(self.orders), dimension))

    def weight(self, order: int) -> Tensor:
        """Returns M_p (d, p·d), of the oldest row first."""
        return self.get_buffer(f"weight_{order}")

    def counted(self, seen: Tensor, rows: int) -> Tensor:
        """Returns how many rows were seen before each of so many more `rows` and after the last, at most `history`:
        (batch, rows + 1). seen (batch, 1): before the first."""
        steps = torch.arange(rows + 1, device=seen.device, dtype=seen.dtype)
        return (seen + steps).clamp(max=self.history)

    def take_over(self, predictions: Tensor, recent: Tensor, seen: Tensor) -> Tensor:
        """Overwrites the predictions (…, d) that were made after fewer than `history` rows, and returns them.

        recent (…, lags·d): observations, oldest first; seen (…, 1): how many rows of them there were.
        """
        rows = seen.squeeze(-1)
        if not bool((rows < self.history).any()):
            return predictions
        for i, (order, following) in enumerate(pairwise([*self.orders, self.history])):
            chosen = (rows >= order) & (rows < following)
            if bool(chosen.any()):
                predictions[chosen] = self._read(i, order, recent[chosen])
        return predictions

    def _read(self, place: int, order: int, recent: Tensor) -> Tensor:
        if not order:
            return self.bias[0].expand(len(recent), -1)
        inputs = recent[:, -order * self.bias.shape[1] :]
        return nn.functional.linear(inputs, self.weight(order), self.bias[place])

    def until(self, history: int) -> StartUp:
        """Returns the same up to another number of rows; an order that is used for none of them is left out."""
        orders = [order for order in self.orders if order < history]
        start_up = StartUp(dimension=self.bias.shape[1], orders=orders, history=history).to(self.bias)
        start_up.load_state_dict({name: self.get_buffer(name) for name in start_up.state_dict() if name != "bias"} | {
            "bias": self.bias[: len(orders)]
        })  # fmt: skip
        return start_up


def last_value(order: int, like: Tensor) -> AffineMap:
    """Returns ô_t = o_{t−1}, as a map of the last `order` rows: weight (d, order·d). like (row, d)."""
    dimension = like.shape[1]
    weight = torch.zeros(dimension, order * dimension, dtype=torch.float64, device=like.device)
    weight[:, -dimension:].fill_diagonal_(1.0)
    return AffineMap(weight, weight.new_zeros(dimension))


def mean_map(moments: Sequence[CentredMoments], like: Tensor) -> AffineMap:
    """Returns the mean of the outputs, as a map of no rows: weight (d, 0). like (row, d)."""
    mean = last_value(0, like)
    for part in moments:
        mean.bias[part.columns] = part.output_mean
    return mean


def lower_map(
    moments: Sequence[CentredMoments], held_out: RegressionData, *, ridges: Sequence[float], scale: str
) -> AffineMap:
    """Returns the autoregression with the ridge of least held-out error, or the last value where that has less.

    moments: of rows whose inputs are (row, order·d), oldest first; held_out: such rows. Raises ValueError as
    `affine_from_moments` and `least_validation_error`.
    """
    order = held_out.inputs.shape[1] // held_out.targets.shape[1]
    fits = (affine_from_moments(moments, ridge, scale=scale) for ridge in ridges)
    return least_validation_error(chain([last_value(order, held_out.targets)], fits), held_out)[0]


def maps_of_each(
    orders: Sequence[int],
    train: Rows,
    validation: Rows,
    *,
    ridges: Sequence[float],
    scale: str,
) -> list[AffineMap]:
    """Returns a `lower_map` for each of the orders, fitted to all rows that have its lags, with the ridge chosen on all
    such validation rows; on the training rows where there is none.

    train, validation: give the rows of an order.
    """
    maps = []
    for order in orders:
        rows, held_out = train(order), validation(order)
        held_out = held_out if bool(held_out.mask.any()) else rows
        maps.append(lower_map(centred_moments(rows), held_out, ridges=ridges, scale=scale))
    return maps


def fit_start_up(
    moments: Sequence[CentredMoments],
    held_out: RegressionData,
    *,
    orders: Sequence[int],
    ridges: Sequence[float],
    scale: str,
) -> list[AffineMap]:
    """Returns `mean_map` and a `lower_map` for each of the orders after 0, all from the moments of all lags, of which
    those of fewer are a block.

    moments: of rows whose inputs are (row, lags·d), oldest first; held_out: such rows.
    """
    maps = [mean_map(moments, held_out.targets)]
    for order in orders[1:]:
        count = order * held_out.targets.shape[1]
        of_last = [part.of_last(count) for part in moments]
        rows = held_out._replace(inputs=held_out.inputs[:, -count:])
        maps.append(lower_map(of_last, rows, ridges=ridges, scale=scale))
    return maps


def start_up_of(maps: Sequence[AffineMap], *, orders: Sequence[int], history: int, like: Tensor) -> StartUp:
    """Returns the maps of `fit_start_up` as a start-up, in the dtype and on the device of `like` (d,)."""
    start_up = StartUp(dimension=len(like), orders=orders, history=history).to(like)
    for i, (order, each) in enumerate(zip(orders, maps, strict=True)):
        start_up.weight(order).copy_(each.weight)
        start_up.bias[i] = each.bias
    return start_up


def lag_rows(values: Tensor, mask: Tensor, scored: Tensor, order: int) -> RegressionData:
    """Returns the rows with `order` entirely observed steps before a scored one; values, mask, scored
    (sequence, time, feature).

    inputs of the result: (row, order · feature), oldest first. Raises ValueError for sequences of at most `order`
    steps.
    """
    if values.shape[1] <= order:
        raise ValueError(
            f"sequences of {values.shape[1]} steps are too short for an autoregression of order {order}; lower it"
        )
    lags = values.unfold(1, order, 1)[:, :-1].transpose(2, 3).flatten(2)
    keep = steps_behind_lags(mask, scored, order)
    return RegressionData(lags[keep], values[:, order:][keep], scored[:, order:][keep])


def steps_behind_lags(mask: Tensor, scored: Tensor, order: int) -> Tensor:
    """Returns which of the steps from `order` on are scored and have `order` entirely observed steps before them, bool
    (sequence, time − order). mask, scored (sequence, time, feature); of more than `order` steps."""
    complete = mask.all(2).unfold(1, order, 1).all(2)[:, :-1]
    return complete & scored[:, order:].any(2)
