"""Projection after the random features: many features, then the few directions that matter (Downey et al. 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse.linalg import svds
from torch import Tensor

from models.numerics.signs import column_signs
from models.psrnn.two_stage import FeatureBatch, FeatureStream, LazyFeatureBatch
from models.runtime.collectives import sum_over_ranks, take_from_first_rank
from models.runtime.progress import advanced


class TooManyDirections(ValueError):
    """Says that a projection cannot keep so many directions of so few features."""


class Projections(NamedTuple):
    """Holds orthonormal columns, (features, p) each: of the history, the future (and shifted future) and the
    observation."""

    history: Tensor
    future: Tensor
    observation: Tensor


class CrossMoments(NamedTuple):
    """Holds E[φ ηᵀ] (s, h) and E[ω φᵀ] (w, s)."""

    future_history: Tensor
    observation_future: Tensor


def cross_moments(stream: FeatureStream) -> CrossMoments:
    """Returns E[φ ηᵀ] and E[ω φᵀ] by one pass over the data of all ranks.

    Products of a batch are summed in its dtype, batches in float64. Raises ValueError for a stream without any batch.
    """
    first: Tensor | None = None
    second: Tensor | None = None
    count = 0
    for batch in stream():
        parts = (batch.future.T @ batch.history).double(), (batch.observation.T @ batch.future).double()
        first = parts[0] if first is None else first + parts[0]
        second = parts[1] if second is None else second + parts[1]
        count += len(batch.future)
        advanced(len(batch.future))
    if first is None or second is None:
        raise ValueError("projection got no time step; the training sequences are too short or have too many gaps")
    total = sum_over_ranks(torch.tensor(float(count), dtype=torch.float64, device=first.device))
    return CrossMoments(sum_over_ranks(first) / total, sum_over_ranks(second) / total)


def leading_singular_vectors(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Returns left and right singular vectors of the `rank` largest singular values: (rows, rank), (columns, rank).

    Lanczos iterations from a fixed start, or the full decomposition where `rank` leaves too little room for them. The
    largest entry of each left vector is positive (`numerics.signs`), and the right one turns with it.
    """
    left, right = _singular_vectors(matrix, rank)
    signs = column_signs(left)
    return left * signs, right * signs


def _singular_vectors(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Returns left and right singular vectors, (row, rank) and (column, rank). Those of the largest values come first,
    with signs as rounding left them."""
    if rank > min(matrix.shape) // 2:
        left, _, right = torch.linalg.svd(matrix, full_matrices=False)
        return left[:, :rank], right[:rank].T
    array = matrix.cpu().numpy()
    start = np.ones(min(array.shape)) / min(array.shape) ** 0.5
    triplets: Any = svds(array, k=rank, v0=start)
    left, values, right = triplets
    order = np.argsort(values)[::-1].copy()
    return torch.from_numpy(left[:, order]).to(matrix), torch.from_numpy(right[order].T.copy()).to(matrix)


def find_projections(stream: FeatureStream, *, size: int) -> Projections:
    """Returns p = `size` leading directions by truncated singular value decomposition (Downey et al. 2017, section 5).

    History and future: of E[φ ηᵀ], what the past tells about the future. Observation: of E[ω φᵀ].
    Raises TooManyDirections when there are fewer features than directions. Every rank gets those of rank 0: where
    singular values are close, rounding alone may turn the directions, and what the ranks add up must be along the same
    ones.
    Directions of close values that are all kept may turn among themselves from one machine to another, on which
    predictions do not depend; where the last value kept and the first left out are close, they do.
    """
    moments = cross_moments(stream)
    most = min(*moments.future_history.shape, *moments.observation_future.shape)
    if not 1 <= size <= most:
        raise TooManyDirections(f"projection must lie between 1 and the number of features {most}, got {size}")
    future, history = leading_singular_vectors(moments.future_history, size)
    observation, _ = leading_singular_vectors(moments.observation_future, size)
    projections = Projections(history, future, observation)
    take_from_first_rank(projections)
    return projections


def projected(stream: FeatureStream, projections: Projections) -> FeatureStream:
    """Returns the stream with every batch projected, in the batch's dtype: p columns in place of the features."""

    def along(name: str, batch: FeatureBatch | LazyFeatureBatch) -> Tensor:
        features: Tensor = getattr(batch, name)
        directions: Tensor = getattr(projections, "future" if name == "shifted_future" else name)
        return features @ directions.to(features)

    def batches() -> Iterator[LazyFeatureBatch]:
        for batch in stream():
            yield LazyFeatureBatch(partial(along, batch=batch))

    return batches
