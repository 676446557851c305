"""Losses as sums with their weights, so that means over batches and processes are exact."""

from __future__ import annotations

from torch import Tensor

from models.runtime.objective import Loss


def masked_squared_error(predicted: Tensor, true: Tensor, present: Tensor) -> Loss:
    """Returns Σ (x̂ − x)² over present entries, with their number as its weight.

    predicted, true (sequence, step, width); present: bool, of a shape that broadcasts to theirs. What is not present
    has a gradient of 0, whatever it holds.
    """
    counted = present.expand_as(true)
    difference = (predicted - true).masked_fill(~counted, 0)
    return Loss(difference.square().sum(), counted.sum().to(true.dtype))


def absolute_error(predicted: Tensor, true: Tensor) -> Loss:
    """Returns Σ |ŷ − y|, with the number of entries as its weight; both of one shape."""
    return Loss((predicted - true).abs().sum(), float(true.numel()))
