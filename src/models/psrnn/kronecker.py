"""A Kronecker-factored preconditioner for the state update of a PSRNN."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.forecasting.bptt import TruncatedBPTT
from models.numerics.ridge import solve_ridge
from models.psrnn.bilinear_cell import BilinearCell


def of_unit_mean(moment: Tensor) -> Tensor:
    """Returns the matrix (n, n) scaled to a mean eigenvalue of 1, so that one damping suits all
    (Martens, Grosse 2015, section 6)."""
    return moment / moment.diagonal().mean().clamp(min=torch.finfo(moment.dtype).tiny)


def damped_inverse(moment: Tensor, damping: float) -> Tensor:
    """Returns (C/c + damping·I)⁻¹, (n, n), where c is the mean eigenvalue of C (n, n).

    Raises ValueError where the sum is not positive definite.
    """
    scaled = of_unit_mean(moment)
    return solve_ridge(scaled, torch.eye(len(scaled), dtype=scaled.dtype, device=scaled.device), damping)


@torch.no_grad()
def curvature_along(
    model: BilinearCell, states: Tensor, filled: Tensor, scored: Tensor
) -> dict[str, tuple[Tensor, ...]]:
    """Returns `BilinearCell.curvature` and that of the bias, in the metric MᵀM of the model's readout, in float64.

    states (sequence, time, s), filled and scored (sequence, time, d): of filtered sequences; rows with a score count.
    """
    used = scored.any(2)
    belief = states[used].double()
    omega = model.features(model.delayed(filled)[0][used]).double()
    readout = model.readout_weight[:, : belief.shape[1]].double()
    metric = readout.T @ readout
    return model.curvature(belief, omega, metric) | {"bias": (metric,)}


class KroneckerPreconditioner:
    """Preconditions a gradient, ∇θ ← (K_1 ⊗ K_2 ⊗ …)⁻¹ ∇θ, one matrix K for each axis of θ: a Gauss–Newton step with
    Kronecker factors.

    For the update tensor W they are R, E[q qᵀ] and E[ω ωᵀ]: the second moments of the two inputs of the bilinear update
    along the filtered training sequences, and the metric R = MᵀM that the readout M puts on the state; R alone for the
    bias. For the factors of a factorised update see `BilinearCell.curvature`. Each is scaled to a mean eigenvalue of 1
    and damped, so that the learning rate keeps its meaning. Raises ValueError for a damping that is not positive.
    """

    def __init__(self, *, damping: float) -> None:
        if damping <= 0:
            raise ValueError(f"damping must be positive, got {damping}")
        self.damping = damping
        self.inverses: dict[str, list[Tensor]]

    def handles(self, model: BilinearCell) -> list[nn.Parameter]:
        """Returns all parameters of the update, and the first state, which takes the gradient as it is, on the same
        scale as before."""
        readout = {id(p) for p in (*model.readout_parameters, *model.features.parameters())}
        return [p for p in model.parameters() if id(p) not in readout]

    def refresh(self, objective: TruncatedBPTT) -> None:
        """Takes the moments from the objective's filtered states and the model's readout.

        Raises TypeError for a model that is no PSRNN.
        """
        model = objective.model
        if not isinstance(model, BilinearCell):
            raise TypeError(f"the Kronecker preconditioner is for PSRNNs, not for {type(model).__name__}")
        matrices = curvature_along(model, objective.states[0], objective.filled, objective.train.scored)
        self.inverses = {
            name: [damped_inverse(m, self.damping).to(model.bias) for m in axes] for name, axes in matrices.items()
        }

    def apply(self, model: BilinearCell) -> None:
        """Preconditions the gradients of the update and the bias in place.

        Raises RuntimeError where there is no gradient yet.
        """
        for name, inverses in self.inverses.items():
            gradient = moved = model.get_parameter(name).grad
            if gradient is None or moved is None:
                raise RuntimeError("precondition after backward: there is no gradient yet")
            for axis, inverse in enumerate(inverses):
                front = moved.transpose(0, axis)
                moved = (inverse @ front.reshape(len(front), -1)).reshape(front.shape).transpose(0, axis)
            gradient.copy_(moved)
