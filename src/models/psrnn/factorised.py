"""The predictive state recurrent network with its update tensor held as a sum of outer products."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from models.forecasting.filtering import Filtered, State
from models.numerics.canonical import Canonical, Factors, balanced, canonical_decomposition
from models.numerics.ridge import factor_ridge
from models.psrnn.bilinear_cell import BilinearCell
from models.psrnn.cell import PSRNN
from models.psrnn.fused_factorised import factorised_states
from models.psrnn.kronecker import curvature_along, of_unit_mean
from models.psrnn.shape import CellShape

METRIC_DAMPING = 0.01  # of the three metrics, where the mean eigenvalue is 1


class FactorisedPSRNN(BilinearCell):
    """Moves its state by z = A ((Bᵀ q) ⊙ (Cᵀ ω)) + b: the cell of W = Σ_j a_j ∘ b_j ∘ c_j, which is never written out.

    A, B (s, J) and C (w, J) are J·(2s + w) numbers in place of s²·w, and as many multiplications a step. rank: J.
    shape: the fields of a `CellShape`. Raises ValueError for a rank below 1.
    """

    left: nn.Parameter
    of_state: nn.Parameter
    of_features: nn.Parameter

    def __init__(self, *, rank: int, **shape: Any) -> None:
        if rank < 1:
            raise ValueError(f"rank must be at least 1, got {rank}")
        cell = CellShape(**shape)
        by_state = (cell.state, rank)
        super().__init__(cell, update={"left": by_state, "of_state": by_state, "of_features": (cell.features, rank)})
        self.architecture["rank"] = rank

    def set_update(self, update: Factors, initial: Tensor) -> None:
        """Takes A (s, J), B (s, J), C (w, J), and q_1 (s,) as in `set_initial`."""
        with torch.no_grad():
            for parameter, factor in zip((self.left, self.of_state, self.of_features), update, strict=True):
                parameter.copy_(factor)
        self.set_initial(initial)

    def bilinear(self, belief: Tensor, features: Tensor) -> Tensor:
        return torch.addmm(self.bias, (belief @ self.of_state) * (features @ self.of_features), self.left.T)

    def curvature(self, belief: Tensor, features: Tensor, metric: Tensor) -> dict[str, tuple[Tensor, ...]]:
        """Returns the Kronecker factors, with u = Bᵀ q, c = Cᵀ ω, of R ⊗ E[(u⊙c)(u⊙c)ᵀ] for A, E[q qᵀ] ⊗ (AᵀRA ⊙ E[c
        cᵀ]) for B, the like for C."""
        left = self.left.double()
        by_state, by_features = belief @ self.of_state.double(), features @ self.of_features.double()
        count, both, onto = len(belief), by_state * by_features, left.T @ metric @ left
        return {
            "left": (metric, both.T @ both / count),
            "of_state": (belief.T @ belief / count, onto * (by_features.T @ by_features / count)),
            "of_features": (features.T @ features / count, onto * (by_state.T @ by_state / count)),
        }

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        """Returns the beliefs before each of the observations (batch, time, d): states (batch, time, s), and with a
        delay the observations before them.

        They are found as in `psrnn.fused_factorised`.
        """
        delayed, before = self.delayed(values, belief[1:])
        features = self.features(delayed[:, :-1].transpose(0, 1))
        parts = features @ self.of_features, self.bias, belief[0], self.sign_reference
        return (factorised_states(self.left, self.of_state, *parts).transpose(0, 1), *before)


def empty_factorised(full: PSRNN, rank: int) -> FactorisedPSRNN:
    """Returns a cell like `full` with a factorised update: its features, dtype and device; the rest is 0.

    Raises ValueError for a rank below 1.
    """
    model = FactorisedPSRNN(**full.architecture, rank=rank).to(dtype=full.bias.dtype, device=full.bias.device)
    model.features.load_state_dict(full.features.state_dict())
    return model


def decompose_update(
    full: PSRNN, filtered: Filtered, scored: Tensor, *, rank: int, generator: torch.Generator
) -> Canonical:
    """Returns W ≈ Σ_j a_j ∘ b_j ∘ c_j, near where it matters: on the states and features that occur, as the readout
    sees the result.

    The error is that of W ×₁ L_1ᵀ ×₂ L_2ᵀ ×₃ L_3ᵀ, with L Lᵀ = R, E[q qᵀ] and E[ω ωᵀ] as in `KroneckerPreconditioner`,
    each damped by `METRIC_DAMPING`. full: with its readout solved; filtered: the training part as it filters it; scored
    (sequence, time, d): its scored entries. Errors: as `canonical_decomposition`.
    """
    metrics = curvature_along(full, filtered.states[0], filtered.filled, scored)["update_tensor"]
    roots = [factor_ridge(of_unit_mean(metric), METRIC_DAMPING) for metric in metrics]
    weighted = torch.einsum("abc,ai,bj,ck->ijk", full.update_tensor.detach().double(), *roots)
    decomposition = canonical_decomposition(weighted, rank, generator=generator)
    left, of_state, of_features = (
        torch.linalg.solve_triangular(root.T, factor, upper=True)
        for root, factor in zip(roots, decomposition.factors, strict=True)
    )
    return decomposition._replace(factors=balanced((left, of_state, of_features)))
