"""The predictive state recurrent network: bilinear state update of unit norm, and a readout of the next observation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from models.forecasting.filtering import State
from models.psrnn.bilinear_cell import BilinearCell
from models.psrnn.fused import SCRATCH_BYTES, scratch_bytes, states_with_gradient, states_without_gradient
from models.psrnn.online import OnlineStep
from models.psrnn.shape import CellShape

BLOCK_BYTES, BLOCK_ROWS = 2**21, 128  # of q ⊗ ω: what a cache holds, and the rows for which reading W once pays


def bilinear(update: Tensor, bias: Tensor, belief: Tensor, features: Tensor) -> Tensor:
    """Returns z = W ×₂ q ×₃ ω + b (paper, section 3): (batch, s).

    update (s, s, w), bias (s,), belief (batch, s), features (batch, w).
    Many rows without a gradient are taken in blocks, on the CPU.
    """
    weights = update.flatten(1).T
    rows = max(BLOCK_ROWS, BLOCK_BYTES // (len(weights) * update.element_size()))
    if len(belief) > rows and belief.device.type == "cpu" and not _recorded():
        return _in_blocks(weights, bias, belief, features, rows)
    return torch.addmm(bias, (belief.unsqueeze(2) * features.unsqueeze(1)).flatten(1), weights)


def _recorded() -> bool:
    return torch.is_grad_enabled() or torch.compiler.is_compiling()


def _in_blocks(weights: Tensor, bias: Tensor, belief: Tensor, features: Tensor, rows: int) -> Tensor:
    """Returns z (batch, s) with the products of `rows` rows at a time formed in the same memory. weights (s·w, s)."""
    updated, products = torch.empty_like(belief), belief.new_empty(rows, belief.shape[1], features.shape[1])
    for q, omega, z in zip(belief.split(rows), features.split(rows), updated.split(rows), strict=True):
        block = torch.mul(q.unsqueeze(2), omega.unsqueeze(1), out=products[: len(q)])
        torch.addmm(bias, block.flatten(1), weights, out=z)
    return updated


class PSRNN(BilinearCell):
    """Is the cell with W (s, s, w) itself as its parameter; see `BilinearCell`.

    shape: the fields of a `CellShape`; rounded: see `round_update`.
    """

    update_tensor: nn.Parameter

    def __init__(self, *, rounded: bool = False, **shape: Any) -> None:
        cell = CellShape(**shape)
        super().__init__(cell, update={"update_tensor": (cell.state, cell.state, cell.features)})
        if rounded:
            self.architecture["rounded"] = True

    def set_update(self, update: Tensor, initial: Tensor) -> None:
        """Takes W (s, s, w), and q_1 (s,) as in `set_initial`."""
        with torch.no_grad():
            self.update_tensor.copy_(update)
        self.set_initial(initial)

    @torch.no_grad()
    def round_update(self) -> None:
        """Rounds W to the nearest bfloat16 numbers, off by 2⁻⁸ of each at most.

        It is saved in them; its dtype stays.
        """
        self.update_tensor.copy_(self.update_tensor.bfloat16())
        self.architecture["rounded"] = True

    def online_step(self) -> OnlineStep:
        """Returns a step of the filter for a single sequence, with the parameters as they are now."""
        return OnlineStep(self)

    def bilinear(self, belief: Tensor, features: Tensor) -> Tensor:
        return bilinear(self.update_tensor, self.bias, belief, features)

    def curvature(self, belief: Tensor, features: Tensor, metric: Tensor) -> dict[str, tuple[Tensor, ...]]:
        """Returns the Kronecker factors of R ⊗ E[q qᵀ] ⊗ E[ω ωᵀ]: (s, s), (s, s) and (w, w)."""
        moments = (belief.T @ belief / len(belief), features.T @ features / len(features))
        return {"update_tensor": (metric, *moments)}

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        """Returns the beliefs before each of the observations (batch, time, d): states (batch, time, s), and with a
        delay the observations before them.

        They are found as in `psrnn.fused`; step by step where the gradient would keep too many matrices.
        """
        delayed, before = self.delayed(values, belief[1:])
        features = self.features(delayed.transpose(0, 1))
        parts = self.update_tensor, self.bias, belief[0], features, self.sign_reference
        if not torch.is_grad_enabled():
            return (states_without_gradient(*parts).transpose(0, 1), *before)
        if scratch_bytes(self.update_tensor, features) > SCRATCH_BYTES:
            return super().beliefs_along(belief, values)
        return (states_with_gradient(*parts).transpose(0, 1), *before)
