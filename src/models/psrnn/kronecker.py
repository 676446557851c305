"""A Kronecker-factored preconditioner for the state update of a PSRNN."""

from __future__ import annotations

import torch
from torch import Tensor

from models.bptt import TruncatedBPTT
from models.numerics.ridge import solve_ridge
from models.psrnn.cell import PSRNN


def damped(moment: Tensor, damping: float) -> tuple[Tensor, float]:
    """The matrix scaled to a mean eigenvalue of 1, and its damping (Martens and Grosse 2015, section 6)."""
    return moment / moment.diagonal().mean().clamp(min=torch.finfo(moment.dtype).tiny), damping


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
        self.state: tuple[Tensor, float]
        self.observation: tuple[Tensor, float]
        self.metric: tuple[Tensor, float]

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
            self.state = damped(belief.T @ belief / len(belief), self.damping)
            self.observation = damped(omega.T @ omega / len(omega), self.damping)
            self.metric = damped(readout.T @ readout, self.damping)

    def apply(self, model: PSRNN) -> None:
        """Precondition the gradients of the update tensor and the bias in place."""
        gradient, bias = model.update_tensor.grad, model.bias.grad
        if gradient is None or bias is None:
            raise RuntimeError("precondition after backward: there is no gradient yet")
        moved = gradient
        for axis, (moment, damping) in enumerate((self.metric, self.state, self.observation)):
            front = moved.transpose(0, axis)
            solved = solve_ridge(moment, front.flatten(1), damping).to(gradient.dtype)
            moved = solved.reshape(front.shape).transpose(0, axis)
        gradient.copy_(moved)
        bias.copy_(solve_ridge(self.metric[0], bias.unsqueeze(1), self.metric[1]).squeeze(1))
