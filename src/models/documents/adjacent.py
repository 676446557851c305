"""Mixing each token of a document with those that stand directly before and behind it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class AdjacentMixing(nn.Module):
    """Is LN(e_i + b + Σ_{|k| ≤ r} A_k e_{i+k}) over the r tokens on each side: a convolution along the text, before the
    first layer (the window approach of Collobert et al. 2011, section 3.3.1).

    A token outside the document counts as 0, as does one outside the chunk that is read: documents end to end do not
    see each other. Where tokens are hidden to be guessed, what is mixed are the signs that hide them.
    """

    def __init__(self, width: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.mix, self.norm = nn.Linear((2 * reach + 1) * width, width), nn.LayerNorm(width)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Returns (token, width). states: (token, width), documents end to end. lengths: int64 (document,)."""
        count, places = len(states), torch.arange(len(states), device=states.device)
        document = torch.repeat_interleave(lengths)
        parts = list[Tensor]()
        for step in range(-self.reach, self.reach + 1):
            beside = (places + step).clamp(0, count - 1)
            inside = (beside == places + step) & (document[beside] == document)
            parts.append(states[beside] * inside[:, None])
        return self.norm(states + self.mix(torch.cat(parts, 1)))
