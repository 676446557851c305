"""Losses as sums with their weights, so that means over batches and processes are exact."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.runtime.by_hand import differentiable_once
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
    found: Any = _SmoothedCrossEntropy.apply(hidden.to(weight.dtype), weight, targets, smoothing, rows)
    return TokenLosses(Loss(found[0], float(len(targets))), found[1])


class Chunk(NamedTuple):
    """Holds what rows leave behind: exp(z − max z), (row, V); its sum and log Σ_v exp z_v, (row, 1); and z of the
    targets, (row, 1)."""

    raised: Tensor
    sums: Tensor
    whole: Tensor
    chosen: Tensor

    @classmethod
    def of(cls, hidden: Tensor, weight: Tensor, targets: Tensor, room: Tensor) -> Chunk:
        """Returns it for rows (row, width) with their targets (row, 1), in memory (row, V) that is used again for each
        chunk: memory that is taken anew costs as much as the exponentials."""
        logits = torch.mm(hidden, weight.T, out=room)
        chosen, highest = logits.gather(1, targets), logits.amax(1, keepdim=True)
        raised = logits.sub_(highest).exp_()
        sums = raised.sum(1, keepdim=True)
        return cls(raised, sums, sums.log() + highest, chosen)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """With p = e / Σ e, the gradient of the logits is p − (1 − ε) 1_y − ε/V. It is not made: with e in memory the three
    parts are multiplied by W and h one by one, and the last two need no product. ε/V Σ_v z_v is h · W̄ ε likewise."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float, rows: int
    ) -> tuple[Tensor, Tensor]:
        above, below = torch.zeros_like(hidden), None
        if ctx.needs_input_grad[0] or ctx.needs_input_grad[1]:
            below = (-smoothing / len(weight) * hidden.sum(0)).expand_as(weight).clone()
            below.index_add_(0, targets, hidden, alpha=smoothing - 1)
        mean, places = smoothing * weight.mean(0), targets.unsqueeze(1)
        room = hidden.new_empty(min(rows, len(hidden)), len(weight))
        nats, evenly = [hidden.new_zeros(0, 1)], (hidden * mean).sum()
        for own, chosen, slope in zip(*(part.split(rows) for part in (hidden, places, above)), strict=True):
            chunk = Chunk.of(own, weight, chosen, room[: len(own)])
            nats.append(chunk.whole - chunk.chosen)
            evenly = evenly - smoothing * chunk.chosen.sum()
            if below is not None:
                torch.mm(chunk.raised, weight, out=slope).div_(chunk.sums)
                slope.add_(weight[chosen.squeeze(1)], alpha=smoothing - 1).sub_(mean)
                below.addmm_(chunk.raised.T, own / chunk.sums)
        each = torch.cat(nats).squeeze(1)
        found = each.sum() - evenly, each
        ctx.mark_non_differentiable(each)
        if below is not None:
            ctx.save_for_backward(above, below)
        return found

    @staticmethod
    @differentiable_once("use torch.nn.functional.cross_entropy of the logits")
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        hidden, weight = ctx.saved_tensors
        return above[0] * hidden, above[0] * weight, None, None, None
