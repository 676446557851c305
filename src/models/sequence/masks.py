"""Which steps count: masks from lengths, and means and softmax over what is allowed alone."""

from __future__ import annotations

import torch
from torch import Tensor


def present_steps(lengths: Tensor, steps: int) -> Tensor:
    """Returns whether each of so many steps lies before the end: bool (sequence, step) for lengths (sequence,)."""
    return torch.arange(steps, device=lengths.device) < lengths.unsqueeze(1)


def masked_softmax(scores: Tensor, allowed: Tensor) -> Tensor:
    """Returns exp(s_j) / Σ_l exp(s_l) along the last dimension, the sum over what is allowed; 0 for what is not.

    A row with nothing allowed gives zeros, and a gradient of zeros. scores (…, key); allowed: bool, of a shape that
    broadcasts to it.
    """
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~allowed, lowest).softmax(-1) * allowed


def masked_mean(values: Tensor, present: Tensor) -> Tensor:
    """Returns the mean over present steps, (sequence, width), 0 where none is present.

    values (sequence, step, width); present: bool (sequence, step).
    """
    weights = present.to(values.dtype)
    return torch.einsum("nl,nlw->nw", weights, values) / weights.sum(1, keepdim=True).clamp(min=1)
