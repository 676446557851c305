"""What a sparse-spectrum Gaussian process needs of its data: Φᵀ Φ, Φᵀ y and yᵀ y, summed over blocks of rows.

Time is linear in the number of rows. The gradient takes a second pass, so that training streams as well: memory is
that of a block and of the features kept for that pass, at most `KEPT_BYTES`; those of further rows are formed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.features.maps import write_features
from models.runtime.by_hand import differentiable_once

Rows = tuple[Tensor, Tensor]  # inputs (row, dimension) and targets (row,)
RowStream = Callable[[], Iterable[Rows]]  # gives the same rows each time it is called
BLOCK = 4096  # rows
KEPT_BYTES = 64 * 2**20


class FeatureMoments(NamedTuple):
    """Holds gram: Φᵀ Φ (f, f); cross: Φᵀ y (f,); square: yᵀ y, a scalar; and rows: N. The sums are in float64."""

    gram: Tensor
    cross: Tensor
    square: Tensor
    rows: int


def sum_of_moments(first: FeatureMoments, second: FeatureMoments) -> FeatureMoments:
    """Returns the moments of the rows of both, under the same frequencies."""
    return FeatureMoments(
        first.gram + second.gram, first.cross + second.cross, first.square + second.square, first.rows + second.rows
    )


def in_blocks(inputs: Tensor, targets: Tensor, *, block: int = BLOCK) -> RowStream:
    """Returns a stream over inputs (row, dimension) and targets (row,) in memory, `block` rows at a time.

    Raises ValueError unless there is a target per row.
    """
    if targets.shape != inputs.shape[:1]:
        raise ValueError(f"inputs {tuple(inputs.shape)} and targets {tuple(targets.shape)} do not belong together")
    return lambda: zip(inputs.split(block), targets.split(block), strict=True)


def _with_targets(inputs: Tensor, targets: Tensor, frequencies: Tensor) -> Tensor:
    """(Φ, y), one column more than there are features, so that one product gives all the sums."""
    dtype = torch.promote_types(inputs.dtype, targets.dtype)
    joined = inputs.new_empty(len(inputs), 2 * len(frequencies) + 1, dtype=dtype)
    write_features(joined[:, :-1], inputs, frequencies.to(inputs.dtype))
    joined[:, -1] = targets
    return joined


class _FeatureSums(torch.autograd.Function):
    """frequencies (m, dimension) ↦ (Φ, y)ᵀ (Φ, y) and N; differentiable once, in the frequencies alone.

    With cosines c and sines s in Φ = (c, s), phases p and D = (Φ, y) (Ḡ + Ḡᵀ) = (D_c, D_s, ·), the gradient in the
    phases is c∘D_s − s∘D_c, and that in the frequencies its transpose times the inputs.
    """

    @staticmethod
    def forward(ctx: Any, frequencies: Tensor, stream: RowStream) -> tuple[Tensor, int]:
        ctx.save_for_backward(frequencies)
        ctx.stream, ctx.kept = stream, list[Tensor]()
        size, rows, free = 2 * len(frequencies) + 1, 0, KEPT_BYTES if frequencies.requires_grad else 0
        sums = frequencies.new_zeros(size, size, dtype=torch.float64)
        for inputs, targets in stream():
            joined = _with_targets(inputs, targets, frequencies)
            sums += joined.T @ joined
            rows += len(targets)
            free -= joined.numel() * joined.element_size()
            if free >= 0:
                ctx.kept.append(joined)
        return sums, rows

    @staticmethod
    @differentiable_once("form the features by models.features.maps.random_features, and multiply them")
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (frequencies,) = ctx.saved_tensors
        count, total = len(frequencies), torch.zeros_like(frequencies, dtype=torch.float64)
        symmetric = (grads[0] + grads[0].T)[:, : 2 * count]
        for (inputs, targets), kept in zip_longest(ctx.stream(), ctx.kept):
            joined = _with_targets(inputs, targets, frequencies) if kept is None else kept
            back = joined @ symmetric.to(joined.dtype)
            phases = joined[:, :count] * back[:, count:]
            phases.addcmul_(joined[:, count : 2 * count], back[:, :count], value=-1)
            total += (inputs.T @ phases).T  # the faster way round
        ctx.kept.clear()  # a second backward pass forms all features again
        return total.to(frequencies.dtype), None


def feature_moments(frequencies: Tensor, stream: RowStream) -> FeatureMoments:
    """Returns the moments of all rows of the stream under the features of `frequencies` (m, dimension), with their
    gradient; f = 2m.

    Raises ValueError for a stream without rows, and for values that are not finite.
    """
    sums, rows = _FeatureSums.apply(frequencies, stream)  # pyright: ignore[reportGeneralTypeIssues]
    if rows == 0:
        raise ValueError("a Gaussian process got no row to learn from; give at least one")
    if not bool(sums.isfinite().all()):
        raise ValueError(f"of {rows} rows one holds a value that is not finite; leave it out")
    return FeatureMoments(sums[:-1, :-1], sums[:-1, -1], sums[-1, -1], rows)
