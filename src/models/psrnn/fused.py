"""The states of a PSRNN along observed sequences, with the gradient written by hand.

With ω_t known for all steps, one product builds the matrices A_t = W ×₃ ω_t, and the recursion is z_t = A_t q_t + b,
q_{t+1} = σ_t z_t/‖z_t‖ with the sign σ_t of `normalise`. Backwards, with g_t the gradient that reaches q_t,

    ∂z_t = σ_t (g_{t+1} − q_{t+1} ⟨q_{t+1}, g_{t+1}⟩)/‖z_t‖,     g_t ← g_t + A_tᵀ ∂z_t,
    ∂W = Σ_t ∂z_t ⊗ q_t ⊗ ω_t,     ∂ω_t = W ×₁ ∂z_t ×₂ q_t,     ∂b = Σ_t ∂z_t,

where the sums over steps are single products again: 4·T·B·s²·w multiplications and additions instead of the 6 of
differentiating step by step. On a GPU the two loops over steps are recorded as CUDA graphs
(`models.runtime.cuda_graphs`) where there is a gradient. Tensors are time first here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from models.psrnn.one_sequence import recursion_of_one, suits
from models.runtime.by_hand import STEP_BY_STEP, differentiable_once
from models.runtime.cuda_graphs import Recorded
from models.runtime.progress import advanced
from models.runtime.scratch import Scratch

SCRATCH_BYTES = 256 * 2**20  # most that the matrices kept for a gradient may take
SCRATCH = Scratch(2 * SCRATCH_BYTES)  # the matrices, and ∂z ⊗ q of the same size
BLOCK_BYTES = 16 * 2**20  # least that the matrices of a block of steps without a gradient may take: what a cache holds


def step_matrices(update: Tensor, features: Tensor) -> Tensor:
    """Returns A = W ×₃ ω, without a gradient: update (s, s, w), features (T, B, w) → (T, B, s, s)."""
    rows, flat = features.flatten(0, 1), update.flatten(0, 1)
    matrices = SCRATCH.empty((len(rows), len(flat)), like=features)
    return torch.mm(rows, flat.T, out=matrices).view(*features.shape[:2], len(update), len(update))


def signed_norms(z: Tensor, reference: Tensor | None) -> Tensor:
    """Returns σ‖z‖ (B, 1) for z (B, s); σ is the sign with ⟨σz, reference⟩ ≥ 0, + without a `reference` (s,)."""
    norms = z.norm(dim=1, keepdim=True).clamp(min=torch.finfo(z.dtype).tiny)
    return norms if reference is None else torch.where((z @ reference < 0).unsqueeze(1), -norms, norms)


@torch.no_grad()
def recursion(matrices: Tensor, bias: Tensor, initial: Tensor, reference: Tensor | None) -> tuple[Tensor, Tensor]:
    """Returns states q_0 … q_T (T + 1, B, s) and σ_t‖z_t‖ (T, B, 1), with the sign.

    matrices A_0 … A_{T−1} (T, B, s, s), bias (s,), initial q_0 (B, s); reference: see `signed_norms`.
    """
    if suits(matrices):
        return recursion_of_one(matrices, bias, initial, reference)
    states, norms = (
        initial.new_empty(len(matrices) + 1, *initial.shape),
        initial.new_empty(len(matrices), len(initial), 1),
    )
    states[0] = initial
    z, products = torch.empty_like(initial), initial.new_zeros(len(initial), 1)
    columns, offset, towards = z.unsqueeze(2), bias.unsqueeze(1), products.squeeze(1)
    steps = zip(matrices.unbind(), states[:-1].unsqueeze(3).unbind(), states[1:].unbind(), norms.unbind(), strict=True)
    for matrix, state, following, norm in steps:
        torch.baddbmm(offset, matrix, state, out=columns)
        torch.linalg.vector_norm(z, dim=1, keepdim=True, out=norm).clamp_(min=torch.finfo(z.dtype).tiny)
        if reference is not None:
            torch.mv(z, reference, out=towards).add_(0.0)  # no negative zero
            torch.copysign(norm, products, out=norm)
        torch.div(z, norm, out=following)
    return states, norms


def through_norm(gradient: Tensor, state: Tensor, norm: Tensor) -> Tensor:
    """Returns ∂z from the gradient that reaches q = z/norm, all (B, s) but norm (B, 1)."""
    return (gradient - state * (state * gradient).sum(1, keepdim=True)) / norm


@torch.no_grad()
def reversal(matrices: Tensor, states: Tensor, norms: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Returns ∂z_0 … ∂z_{T−1} (T, B, s) and ∂q_0 (B, s) from what reaches each state by itself, (T + 1, B, s).

    matrices (T, B, s, s), states (T + 1, B, s), norms (T, B, 1): of `recursion`.
    """
    at_z, reaching = torch.empty_like(states[1:]), gradient[-1].clone()
    along, moved, row = (
        torch.empty_like(norms[0]) if len(norms) else reaching[:, :1],
        torch.empty_like(reaching),
        reaching.unsqueeze(1),
    )
    steps = zip(
        matrices.unbind(),
        states[1:].unbind(),
        norms.unbind(),
        gradient[:-1].unsqueeze(2).unbind(),
        at_z.unbind(),
        at_z.unsqueeze(2).unbind(),
        strict=True,
    )
    for matrix, state, norm, own, at_step, at_step_row in reversed(list(steps)):
        torch.mul(state, reaching, out=moved)
        torch.sum(moved, 1, keepdim=True, out=along)
        torch.mul(state, along, out=moved)
        torch.sub(reaching, moved, out=at_step).div_(norm)
        torch.baddbmm(own, at_step_row, matrix, out=row)
    return at_z, reaching


RECURSION, REVERSAL = Recorded(recursion), Recorded(reversal)


class _States(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, update: Tensor, bias: Tensor, initial: Tensor, features: Tensor, reference: Tensor | None
    ) -> Tensor:
        matrices = step_matrices(update, features[:-1])
        states, norms = RECURSION(matrices, bias, initial, reference)
        if any(ctx.needs_input_grad):
            REVERSAL.prepare(matrices, states, norms, states)  # here, as backwards runs in a thread of its own
        ctx.save_for_backward(update, features, matrices, states, norms)
        return states

    @staticmethod
    @differentiable_once(STEP_BY_STEP)
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        update, features, matrices, states, norms = ctx.saved_tensors
        at_z, at_initial = REVERSAL(matrices, states, norms, gradients[0])
        if not len(at_z):
            return None, None, at_initial, None, None
        pairs = SCRATCH.empty((*at_z.shape, at_z.shape[2]), like=at_z)
        pairs = torch.mul(at_z.unsqueeze(3), states[:-1].unsqueeze(2), out=pairs).flatten(0, 1).flatten(1)
        by_features = None
        if ctx.needs_input_grad[3]:
            by_features = torch.zeros_like(features)
            by_features[:-1] = (pairs @ update.flatten(0, 1)).view_as(features[:-1])
        by_update = SCRATCH.empty((pairs.shape[1], features.shape[2]), like=update)
        torch.mm(pairs.T, features[:-1].flatten(0, 1), out=by_update)
        return by_update.view_as(update), at_z.sum((0, 1)), at_initial, by_features, None


def scratch_bytes(update: Tensor, features: Tensor) -> int:
    """Returns how many bytes the matrices of all steps take. update (s, s, w), features (T, B, w)."""
    return features.shape[0] * features.shape[1] * len(update) ** 2 * update.element_size()


def states_with_gradient(
    update: Tensor, bias: Tensor, initial: Tensor, features: Tensor, reference: Tensor | None
) -> Tensor:
    """Returns q_0 … q_{T−1} (T, B, s), differentiable once in the first four arguments.

    update (s, s, w), bias (s,), initial q_0 (B, s), features (T, B, w); reference: see `signed_norms`.
    """
    states: Any = _States.apply(update, bias, initial, features, reference)
    return states


@torch.no_grad()
def states_without_gradient(
    update: Tensor, bias: Tensor, initial: Tensor, features: Tensor, reference: Tensor | None
) -> Tensor:
    """Returns what `states_with_gradient` does, without a gradient.

    It goes in blocks of steps whose matrices take half of what W takes, which every block reads once.
    """
    most = min(SCRATCH_BYTES, max(BLOCK_BYTES, update.numel() * update.element_size() // 2))
    block = max(1, most // max(1, scratch_bytes(update, features[:1])))
    blocks, start = [], initial
    for i in range(0, len(features), block):
        part = features[i : i + block + 1]  # one more, for the state that the next block begins with
        states, _ = recursion(step_matrices(update, part[:-1]), bias, start, reference)
        blocks.append(states[:block])
        start = states[-1]
        advanced(len(blocks[-1]) * len(initial))
    return torch.cat(blocks)
