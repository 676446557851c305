"""What a sparse-spectrum Gaussian process needs of its data: Φᵀ Φ, Φᵀ y and yᵀ y, summed over blocks of rows.

Time is linear in the number of rows, memory that of one block. The gradient takes a second pass and forms the features
again, so that training streams as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.features.maps import random_features

Rows = tuple[Tensor, Tensor]  # inputs (row, dimension) and targets (row,)
Stream = Callable[[], Iterable[Rows]]  # gives the same rows each time it is called
BLOCK = 1024  # rows


class Moments(NamedTuple):
    """gram: Φᵀ Φ (f, f); cross: Φᵀ y (f,); square: yᵀ y; rows: N. Sums in float64."""

    gram: Tensor
    cross: Tensor
    square: Tensor
    rows: int


def in_blocks(inputs: Tensor, targets: Tensor, *, block: int = BLOCK) -> Stream:
    """A stream over rows in memory, `block` of them at a time. Raises ValueError unless there is a target per row."""
    if targets.shape != inputs.shape[:1]:
        raise ValueError(f"inputs {tuple(inputs.shape)} and targets {tuple(targets.shape)} do not belong together")
    return lambda: zip(inputs.split(block), targets.split(block), strict=True)


class _FeatureSums(torch.autograd.Function):
    """frequencies (m, dimension) ↦ Φᵀ Φ, Φᵀ y, yᵀ y and N; differentiable once, in the frequencies alone.

    With cosines c and sines s in Φ = (c, s), phases p and D = Φ (Ḡ + Ḡᵀ) + y b̄ᵀ = (D_c, D_s), the gradient in the
    phases is c∘D_s − s∘D_c, and that in the frequencies its transpose times the inputs.
    """

    @staticmethod
    def forward(ctx: Any, frequencies: Tensor, stream: Stream) -> tuple[Tensor, Tensor, Tensor, int]:
        ctx.save_for_backward(frequencies)
        ctx.stream = stream
        size = 2 * len(frequencies)
        gram = frequencies.new_zeros(size, size, dtype=torch.float64)
        cross, square, rows = gram.new_zeros(size), gram.new_zeros(()), 0
        for inputs, targets in stream():
            features = random_features(inputs, frequencies.to(inputs.dtype))
            gram += features.T @ features
            cross += features.T @ targets
            square += targets.double().square().sum()
            rows += len(targets)
        ctx.mark_non_differentiable(square)
        return gram, cross, square, rows

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (frequencies,) = ctx.saved_tensors
        count, total = len(frequencies), torch.zeros_like(frequencies, dtype=torch.float64)
        symmetric, of_cross = grads[0] + grads[0].T, grads[1]
        for inputs, targets in ctx.stream():
            kind = inputs.dtype
            features = random_features(inputs, frequencies.to(kind))
            back = torch.addmm(torch.outer(targets, of_cross.to(kind)), features, symmetric.to(kind))
            phases = features[:, :count] * back[:, count:] - features[:, count:] * back[:, :count]
            total += phases.T @ inputs
        return total.to(frequencies.dtype), None


def feature_moments(frequencies: Tensor, stream: Stream) -> Moments:
    """Moments of all rows of the stream under the features of `frequencies` (m, dimension), with their gradient.

    Raises ValueError for a stream without rows, and for values that are not finite.
    """
    gram, cross, square, rows = _FeatureSums.apply(frequencies, stream)  # pyright: ignore[reportGeneralTypeIssues]
    if rows == 0:
        raise ValueError("a Gaussian process got no row to learn from; give at least one")
    if not bool(gram.isfinite().all()) or not bool(square.isfinite()):
        raise ValueError(f"of {rows} rows one holds a value that is not finite; leave it out")
    return Moments(gram, cross, square, rows)
