"""The states of a factorised PSRNN along observed sequences, with the gradient written by hand; see `psrnn.fused`.

With c_t = Cᵀ ω_t known for all steps, the recursion is z_t = A h_t + b, h_t = (Bᵀ q_t) ⊙ c_t, q_{t+1} = σ_t z_t/‖z_t‖.
Backwards, with ∂z_t as in `psrnn.fused` and ∂h_t = Aᵀ ∂z_t,

    g_t ← g_t + B (∂h_t ⊙ c_t),     ∂A = Σ_t ∂z_t h_tᵀ,     ∂B = Σ_t q_t (∂h_t ⊙ c_t)ᵀ,     ∂c_t = ∂h_t ⊙ (Bᵀ q_t).

Both loops over steps are recorded as CUDA graphs on a GPU (`models.runtime.cuda_graphs`). Tensors are time first here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from models.psrnn.fused import signed_norms, through_norm
from models.runtime.by_hand import STEP_BY_STEP, differentiable_once
from models.runtime.cuda_graphs import Recorded


def recursion(
    weights: Tensor, left: Tensor, of_state: Tensor, bias: Tensor, initial: Tensor, reference: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Returns states q_0 … q_T (T + 1, B, s) and σ_t‖z_t‖ (T, B, 1), with the sign; arguments as in
    `factorised_states`."""
    states, norms = [initial], []
    for weight in weights.unbind():
        z = torch.addmm(bias, (states[-1] @ of_state) * weight, left.T)
        norms.append(signed_norms(z, reference))
        states.append(z / norms[-1])
    return torch.stack(states), torch.stack(norms) if norms else initial.new_zeros(0, len(initial), 1)


def reversal(
    weights: Tensor, left: Tensor, of_state: Tensor, states: Tensor, norms: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns ∂z (T, B, s), ∂h (T, B, J) and ∂q_0 (B, s) from what reaches each state by itself, (T + 1, B, s).

    weights (T, B, J), states (T + 1, B, s), norms (T, B, 1): of `recursion`.
    """
    reaching, at_z, at_products = gradient[-1], list[Tensor](), list[Tensor]()
    for t in reversed(range(len(norms))):
        at_z.append(through_norm(reaching, states[t + 1], norms[t]))
        at_products.append(at_z[-1] @ left)
        reaching = torch.addmm(gradient[t], at_products[-1] * weights[t], of_state.T)
    if not at_z:
        return states[1:], weights, reaching.clone()
    return torch.stack(at_z[::-1]), torch.stack(at_products[::-1]), reaching.clone()


RECURSION, REVERSAL = Recorded(recursion), Recorded(reversal)


class _States(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        """Returns the states. inputs: left, of_state, weights, bias, initial and reference of `factorised_states`."""
        left, of_state, weights, bias, initial, reference = inputs
        states, norms = RECURSION(weights, left, of_state, bias, initial, reference)
        if any(ctx.needs_input_grad):
            REVERSAL.prepare(weights, left, of_state, states, norms, states)  # as in `psrnn.fused`
        ctx.save_for_backward(left, of_state, weights, states, norms)
        return states

    @staticmethod
    @differentiable_once(STEP_BY_STEP)
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        left, of_state, weights, states, norms = ctx.saved_tensors
        by_z, by_products, at_initial = REVERSAL(weights, left, of_state, states, norms, gradients[0])
        if not len(norms):
            return None, None, None, None, at_initial, None
        before = states[:-1].flatten(0, 1)
        projected = (before @ of_state).view_as(weights)
        by_left = by_z.flatten(0, 1).T @ (projected * weights).flatten(0, 1)
        by_state = before.T @ (by_products * weights).flatten(0, 1)
        return by_left, by_state, by_products * projected, by_z.sum((0, 1)), at_initial, None


def factorised_states(
    left: Tensor, of_state: Tensor, weights: Tensor, bias: Tensor, initial: Tensor, reference: Tensor | None
) -> Tensor:
    """Returns q_0 … q_T (T + 1, B, s), differentiable once in the first five arguments.

    left A (s, J), of_state B (s, J), weights c_0 … c_{T−1} (T, B, J), bias (s,), initial q_0 (B, s); reference: see
    `signed_norms`.
    """
    if not torch.is_grad_enabled():
        return recursion(weights, left, of_state, bias, initial, reference)[0]
    states: Any = _States.apply(left, of_state, weights, bias, initial, reference)
    return states
