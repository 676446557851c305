"""A Kronecker-factored preconditioner for the state update of a PSRNN."""

from __future__ import annotations

import torch
from torch import Tensor

from models.bptt import TruncatedBPTT
from models.numerics.ridge import solve_ridge
from models.psrnn.cell import PSRNN


def damped_inverse(moment: Tensor, damping: float) -> Tensor:
    """(C/c + damping·I)⁻¹, where c is the mean eigenvalue of C (Martens and Grosse 2015, section 6)."""
    scaled = moment / moment.diagonal().mean().clamp(min=torch.finfo(moment.dtype).tiny)
    return solve_ridge(scaled, torch.eye(len(moment), dtype=moment.dtype, device=moment.device), damping)


class KroneckerPreconditioner:
    """∇W ← R⁻¹ ∇W (C_q ⊗ C_ω)⁻¹ and ∇b ← R⁻¹ ∇b: a Gauss–Newton step with Kronecker factors.

    C_q = E[q qᵀ] and C_ω = E[ω ωᵀ] are the second moments of the two inputs of the bilinear update along the
    filtered training sequences; R = MᵀM is the metric that the readout M puts on the state. Each is scaled to a
    mean eigenvalue of 1 and damped, so that the learning rate keeps its meaning.
    """

    def __init__(self, *, damping: float) -> None:
        if damping <= 0:
            raise ValueError(f"refine.damping must be positive, got {damping}")
        self.damping = damping
        self.inverses: tuple[Tensor, Tensor, Tensor]

    def handles(self, model: PSRNN) -> list[torch.nn.Parameter]:
        """Update tensor, bias and first state; the last takes the gradient as it is, on the same scale as before."""
        return [model.update_tensor, model.bias, model.initial]

    def refresh(self, objective: TruncatedBPTT) -> None:
        """Take the moments from the objective's filtered states and the model's readout."""
        model = objective.model
        if not isinstance(model, PSRNN):
            raise TypeError(f"the Kronecker preconditioner is for PSRNNs, not for {type(model).__name__}")
        used = objective.train.scored.any(2)
        with torch.no_grad():
            belief = objective.states[0][used].double()
            omega = model.features(objective.filled[used]).double()
            readout = model.readout_weight[:, : belief.shape[1]].double()
            moments = readout.T @ readout, belief.T @ belief / len(belief), omega.T @ omega / len(omega)
            metric, state, observation = (damped_inverse(moment, self.damping).to(model.bias) for moment in moments)
            self.inverses = metric, state, observation

    def apply(self, model: PSRNN) -> None:
        """Precondition the gradients of the update tensor and the bias in place."""
        gradient, bias = model.update_tensor.grad, model.bias.grad
        if gradient is None or bias is None:
            raise RuntimeError("precondition after backward: there is no gradient yet")
        moved = gradient
        for axis, inverse in enumerate(self.inverses):
            front = moved.transpose(0, axis)
            moved = (inverse @ front.flatten(1)).reshape(front.shape).transpose(0, axis)
        gradient.copy_(moved)
        bias.copy_(self.inverses[0] @ bias)
