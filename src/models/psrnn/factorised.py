"""The predictive state recurrent network with its update tensor held as a sum of outer products."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.filtering import State
from models.numerics.canonical import Canonical
from models.psrnn.bilinear_cell import BilinearCell, feature_count, normalise


class FactorisedPSRNN(BilinearCell):
    """z = A ((Bᵀ q) ⊙ (Cᵀ ω)) + b: the cell of W = Σ_r a_r ∘ b_r ∘ c_r, which is never written out.

    A, B (s, R) and C (w, R) are R·(2s + w) numbers in place of s²·w, and as many multiplications a step. rank: R.
    The rest: see `BilinearCell`. Raises ValueError for a rank below 1.
    """

    left: nn.Parameter
    of_state: nn.Parameter
    of_features: nn.Parameter

    def __init__(
        self,
        *,
        frequencies: int,
        dimension: int,
        state: int,
        rank: int,
        projected: int | None = None,
        lags: int = 0,
        keep_sign: bool = True,
        learn_frequencies: bool = False,
    ) -> None:
        if rank < 1:
            raise ValueError(f"model.rank must be at least 1, got {rank}")
        width = feature_count(frequencies, projected)
        super().__init__(
            frequencies=frequencies, dimension=dimension, state=state, projected=projected, lags=lags,
            keep_sign=keep_sign, learn_frequencies=learn_frequencies,
            update={"left": (state, rank), "of_state": (state, rank), "of_features": (width, rank)},
        )  # fmt: skip
        self.architecture["rank"] = rank

    def set_update(self, update: Canonical, initial: Tensor) -> None:
        """Take A, B, C, and q_1 (s,) as in `set_initial`."""
        with torch.no_grad():
            for parameter, factor in zip((self.left, self.of_state, self.of_features), update, strict=False):
                parameter.copy_(factor)
        self.set_initial(initial)

    def bilinear(self, belief: Tensor, features: Tensor) -> Tensor:
        return torch.addmm(self.bias, (belief @ self.of_state) * (features @ self.of_features), self.left.T)

    def curvature(self, belief: Tensor, features: Tensor, metric: Tensor) -> dict[nn.Parameter, tuple[Tensor, ...]]:
        """With u = Bᵀ q, c = Cᵀ ω: R ⊗ E[(u⊙c)(u⊙c)ᵀ] for A, E[q qᵀ] ⊗ (AᵀRA ⊙ E[c cᵀ]) for B, the like for C."""
        left = self.left.double()
        by_state, by_features = belief @ self.of_state.double(), features @ self.of_features.double()
        count, both, onto = len(belief), by_state * by_features, left.T @ metric @ left
        return {
            self.left: (metric, both.T @ both / count),
            self.of_state: (belief.T @ belief / count, onto * (by_features.T @ by_features / count)),
            self.of_features: (features.T @ features / count, onto * (by_state.T @ by_state / count)),
        }

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        """As step by step, but for Cᵀ ω of all steps, which is one product."""
        weights = self.features(values.transpose(0, 1)) @ self.of_features
        states = [belief[0]]
        for weight in weights[:-1].unbind():
            z = torch.addmm(self.bias, (states[-1] @ self.of_state) * weight, self.left.T)
            states.append(normalise(z, self.sign_reference))
        return (torch.stack(states, 1),)
