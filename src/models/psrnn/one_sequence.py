"""The recursion of `psrnn.fused` for a single sequence on a CPU, where a step's calls cost more than its arithmetic.

A call of NumPy for some thousand multiplications takes a quarter of the time of one of torch.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import torch
from torch import Tensor

# Larger states are worth torch's calls. From 9216 = 96² entries on OpenBLAS, NumPy's library, hands a matrix times a
# vector out to threads, which costs more than it saves and adds in another order; 95 stays below.
LARGEST_STATE = 95


def suits(matrices: Tensor) -> bool:
    """Says whether A_0 … A_{T−1} (T, B, s, s) are those of one sequence in float64 on the CPU, and small.

    Subclasses of tensors, which may have no numbers, and what is traced do not suit.
    """
    plain = type(matrices) is Tensor and matrices.device.type == "cpu" and not torch.compiler.is_compiling()
    return plain and matrices.dtype == torch.float64 and matrices.shape[1] == 1 and matrices.shape[2] <= LARGEST_STATE


def recursion_of_one(
    matrices: Tensor, bias: Tensor, initial: Tensor, reference: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Returns what `psrnn.fused.recursion` does for arguments that `suits`, without a gradient: the same but for
    rounding."""
    states, norms = initial.new_empty(len(matrices) + 1, *initial.shape), initial.new_empty(len(matrices), 1, 1)
    states[0] = initial
    towards = np.zeros(len(bias)) if reference is None else reference.detach().numpy()
    with np.errstate(all="ignore"):  # a filter that diverges is found by its errors
        signed_norms = _walk(matrices.detach()[:, 0].numpy(), bias.detach().numpy(), states[:, 0].numpy(), towards)
    norms[:, 0, 0] = torch.tensor(signed_norms, dtype=norms.dtype)
    return states, norms


def _walk(matrices: np.ndarray, bias: np.ndarray, states: np.ndarray, reference: np.ndarray) -> list[float]:
    """Fills states[1:] from states[0]. Returns σ_t‖z_t‖ of every step, σ = + where ⟨z, reference⟩ is 0."""
    state, z, signed_norms = states[0], np.empty_like(bias), list[float]()
    for matrix, following in zip(matrices, states[1:], strict=True):
        np.dot(matrix, state, out=z)
        np.add(z, bias, out=z)
        norm = max(math.sqrt(z.dot(z)), sys.float_info.min)
        signed_norms.append(-norm if z.dot(reference) < 0 else norm)
        state = np.divide(z, signed_norms[-1], out=following)
    return signed_norms
