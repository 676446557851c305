"""Two-stage regression (2SR): the method of moments that gives a PSRNN its first parameters (paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.khatri_rao import add_triple_products
from models.numerics.ridge import Ridge, per_sample_ridge, solve_ridge
from models.runtime.collectives import sum_over_ranks
from models.runtime.progress import advanced


class FeatureBatch(NamedTuple):
    """Holds random features of some steps: history η (row, h), future φ and shifted ψ (row, s), observation ω
    (row, w)."""

    history: Tensor
    future: Tensor
    shifted_future: Tensor
    observation: Tensor


@dataclass(frozen=True)
class LazyFeatureBatch:
    """Has the features of a `FeatureBatch`, each computed when it is first asked for; a pass over the data uses three
    of the four. compute: gives the features by their name."""

    compute: Callable[[str], Tensor]

    @cached_property
    def history(self) -> Tensor:
        return self.compute("history")

    @cached_property
    def future(self) -> Tensor:
        return self.compute("future")

    @cached_property
    def shifted_future(self) -> Tensor:
        return self.compute("shifted_future")

    @cached_property
    def observation(self) -> Tensor:
        return self.compute("observation")


class TwoStageMoments(NamedTuple):
    """Holds means over time steps: E[η ηᵀ] (h, h), E[η φᵀ] (h, s), E[η] (h,), E[ω ωᵀ] (w, w); and the number of
    steps."""

    history: Tensor
    history_future: Tensor
    history_mean: Tensor
    observation: Tensor
    steps: int


class TwoStageParameters(NamedTuple):
    """Holds update (s, s, w): W with z = W ×₂ q ×₃ ω;  initial (s,): mean state, of unit norm;
    observation_moment (w, w): E[ω ωᵀ].
    """

    update: Tensor
    initial: Tensor
    observation_moment: Tensor


FeatureStream = Callable[
    [], Iterable[FeatureBatch | LazyFeatureBatch]
]  # of the rows of this rank (`models.runtime.collectives`): all, if it is alone


def accumulate_moments(stream: FeatureStream) -> TwoStageMoments:
    """Returns the moments by the first pass over the data of all ranks.

    Products of a batch are summed in its dtype, batches in float64. Raises ValueError on an empty stream.
    """
    sums: list[Tensor] | None = None
    for batch in stream():
        eta, phi, omega = batch.history, batch.future, batch.observation
        rows = torch.tensor(len(eta), device=eta.device)
        parts = [part.double() for part in (eta.T @ eta, eta.T @ phi, eta.sum(0), omega.T @ omega, rows)]
        sums = parts if sums is None else [a + b for a, b in zip(sums, parts, strict=True)]
        advanced(len(eta))
    if sums is None or int(sums[-1]) == 0:
        raise ValueError(
            "two-stage regression got no time step; the training sequences are too short or have too many gaps"
        )
    history, history_future, mean, observation, count = map(sum_over_ranks, sums)
    return TwoStageMoments(history / count, history_future / count, mean / count, observation / count, int(count))


def state_update_projection(moments: TwoStageMoments, state_regression: Tensor, ridge: Ridge) -> Tensor:
    """Returns A = G⁻¹ Σ B (Bᵀ Σ B + λI)⁻¹ with Σ = E[η ηᵀ], G = Σ + λI: both stages of W in one (h, s) matrix.

    state_regression: B (h, s); ridge: λ on means. Raises ValueError as `factor_ridge`.
    """
    sigma, b = moments.history, state_regression
    smoothed = solve_ridge(sigma, sigma @ b, ridge)
    return solve_ridge(b.T @ sigma @ b, smoothed.T, ridge).T


def two_stage_regression(stream: FeatureStream, *, ridge: float, scale: str) -> TwoStageParameters:
    """Returns what two-stage regression finds (paper, section 3.1).

    Stage one regresses φ and ψ⊗ω on η, stage two the second estimate on the first:

        B = G⁻¹ E[η φᵀ],   W = E[(ψ ⊗ ω)(Aᵀ η)ᵀ],   A as in `state_update_projection`

    which equals the written-out equations exactly and never holds anything of size steps × features².
    `stream` is called twice and gives the same batches each time. ridge, scale: see `per_sample_ridge`.
    The means use λ. Products of a batch are summed in its dtype; batches are summed, and systems solved, in float64.
    Of several ranks each streams its own rows; sums go over all of them, and every rank gets the same parameters.
    Raises ValueError on an empty stream and as `per_sample_ridge` and `factor_ridge` do.
    """
    moments = accumulate_moments(stream)
    per_sample = per_sample_ridge(ridge, scale=scale, count=moments.steps)
    b = solve_ridge(moments.history, moments.history_future, per_sample)
    projection = state_update_projection(moments, b, per_sample)
    s, w = b.shape[1], len(moments.observation)
    total = torch.zeros(s, s, w, dtype=torch.float64, device=b.device)
    for batch in stream():
        estimate = batch.history @ projection.to(batch.history.dtype)
        add_triple_products(total, batch.shifted_future, estimate, batch.observation)
        advanced(len(batch.history))
    update = sum_over_ranks(total).div_(moments.steps)
    mean_state = b.T @ moments.history_mean
    return TwoStageParameters(update, mean_state / mean_state.norm(), moments.observation)


def whiten_observations(update: Tensor, observation_moment: Tensor, ridge: float) -> Tensor:
    """Returns W ×₃ (E[ω ωᵀ] + κI)⁻¹: the inverse of kernel Bayes' rule, folded into the update (Fukumizu et al. 2013).

    update (s, s, w), observation_moment (w, w), ridge κ > 0 on per-sample moments. The result is (s, s, w). Raises
    ValueError as `factor_ridge`.
    """
    flat = update.flatten(0, 1).T
    return solve_ridge(observation_moment, flat, ridge, name="whitening").T.reshape(update.shape)
