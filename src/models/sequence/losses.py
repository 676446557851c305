"""Losses as sums with their weights, so that means over batches and processes are exact."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

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


class TokenLosses(NamedTuple):
    """Holds a smoothed loss to descend, with the number of tokens as its weight; and −log p of each target in nats,
    (token,), without a gradient."""

    loss: Loss
    nats: Tensor


def smoothed_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, *, smoothing: float = 0.1, rows: int = 256
) -> TokenLosses:
    """Returns Σ over tokens of (1 − ε) (−log p(y)) + ε/V Σ_v (−log p(v)), p = softmax(W h), ε the smoothing.

    hidden: h (token, width). weight: W (V, width). targets: y, int64 (token,). The logits are made for so many rows at
    a time, and their gradient with them, so that (token, V) numbers never stand in memory together: they are made once,
    and read while they are in the cache. Without tokens the sum is 0. Raises ValueError for a smoothing outside [0, 1).
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing must be at least 0 and below 1, got {smoothing}")
    found: Any = _SmoothedCrossEntropy.apply(hidden, weight, targets, smoothing, rows)
    return TokenLosses(Loss(found[0], float(len(targets))), found[1])


def losses_of(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Returns the sum of smoothed losses and −log p of each target (row,), and leaves log p in the logits (row, V)."""
    logits.sub_(logits.logsumexp(1, keepdim=True))
    nats = -logits.gather(1, targets.unsqueeze(1)).squeeze(1)
    total = nats.sum()
    return (total if not smoothing else (1 - smoothing) * total - smoothing * logits.mean(1).sum()), nats


def to_logits(log_p: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Returns the gradient of the smoothed losses with respect to the logits (row, V), p − (1 − ε) 1_y − ε/V, made in
    place of log p."""
    slope = log_p.exp_()
    if smoothing:
        slope.sub_(smoothing / slope.shape[1])
    ones = slope.new_full((len(targets), 1), smoothing - 1)
    return slope.scatter_add_(1, targets.unsqueeze(1), ones)


class _SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float, rows: int
    ) -> tuple[Tensor, Tensor]:
        wanted = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        above, below = torch.zeros_like(hidden), torch.zeros_like(weight) if wanted else None
        totals, nats = [hidden.new_zeros(())], [hidden.new_zeros(0)]
        for own, chosen, slope in zip(*(part.split(rows) for part in (hidden, targets, above)), strict=True):
            logits = own @ weight.T
            total, each = losses_of(logits, chosen, smoothing)
            totals.append(total)
            nats.append(each)
            if below is not None:
                gradient = to_logits(logits, chosen, smoothing)
                torch.mm(gradient, weight, out=slope)
                below.addmm_(gradient.T, own)
        found = torch.stack(totals).sum(), torch.cat(nats)
        ctx.mark_non_differentiable(found[1])
        if below is not None:
            ctx.save_for_backward(above, below)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        hidden, weight = ctx.saved_tensors
        return above[0] * hidden, above[0] * weight, None, None, None
