"""The states of a factorised PSRNN along observed sequences, with the gradient written by hand; see `psrnn.fused`.

With c_t = Cᵀ ω_t known for all steps, the recursion is z_t = A h_t + b, h_t = (Bᵀ q_t) ⊙ c_t, q_{t+1} = σ_t z_t/‖z_t‖.
Backwards, with ∂z_t as in `psrnn.fused` and ∂h_t = Aᵀ ∂z_t,

    g_t ← g_t + B (∂h_t ⊙ c_t),     ∂A = Σ_t ∂z_t h_tᵀ,     ∂B = Σ_t q_t (∂h_t ⊙ c_t)ᵀ,     ∂c_t = ∂h_t ⊙ (Bᵀ q_t).

Tensors are time first here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from models.psrnn.fused import signed_norms, through_norm


class _States(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,
        of_state: Tensor,
        weights: Tensor,
        bias: Tensor,
        initial: Tensor,
        reference: Tensor | None,
    ) -> Tensor:
        states, norms = [initial], []
        for weight in weights.unbind():
            z = torch.addmm(bias, (states[-1] @ of_state) * weight, left.T)
            norms.append(signed_norms(z, reference))
            states.append(z / norms[-1])
        found = torch.stack(states)
        ctx.save_for_backward(left, of_state, weights, found, *norms)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        left, of_state, weights, states, *norms = ctx.saved_tensors
        reaching = list(gradients[0].unbind())
        at_z, at_products = [], []
        for t in reversed(range(len(norms))):
            at_z.append(through_norm(reaching[t + 1], states[t + 1], norms[t]))
            at_products.append(at_z[-1] @ left)
            reaching[t] = torch.addmm(reaching[t], at_products[-1] * weights[t], of_state.T)
        if not norms:
            return None, None, None, None, reaching[0], None
        by_z, by_products = torch.stack(at_z[::-1]), torch.stack(at_products[::-1])
        before = states[:-1].flatten(0, 1)
        projected = (before @ of_state).view_as(weights)
        by_left = by_z.flatten(0, 1).T @ (projected * weights).flatten(0, 1)
        by_state = before.T @ (by_products * weights).flatten(0, 1)
        return by_left, by_state, by_products * projected, by_z.sum((0, 1)), reaching[0], None


def factorised_states(
    left: Tensor, of_state: Tensor, weights: Tensor, bias: Tensor, initial: Tensor, reference: Tensor | None
) -> Tensor:
    """q_0 … q_T (T + 1, B, s), differentiable once in the first five arguments.

    left A (s, J), of_state B (s, J), weights c_0 … c_{T−1} (T, B, J), bias (s,), initial q_0 (B, s); reference: see
    `signed_norms`.
    """
    found: Any = _States.apply(left, of_state, weights, bias, initial, reference)
    return found
