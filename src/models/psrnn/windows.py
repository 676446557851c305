"""History, observation, future and shifted future of every time step (paper, section 3; method: one notation)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Windows(NamedTuple):
    """Holds one row per usable time step t; k is the window length, d the number of features.

    history (row, k·d): o_{t−k}, …, o_{t−1};  observation (row, d): o_t;  future (row, k·d): o_t, …, o_{t+k−1};
    shifted_future (row, k·d): o_{t+1}, …, o_{t+k};  sequence, time (row,): where the row comes from.
    """

    history: Tensor
    observation: Tensor
    future: Tensor
    shifted_future: Tensor
    sequence: Tensor
    time: Tensor

    @property
    def adjacent(self) -> Tensor:
        """Returns bools (row − 1,), True where the next row is the next step of the same sequence."""
        return (self.sequence.diff() == 0) & (self.time.diff() == 1)


def extract_windows(values: Tensor, mask: Tensor, *, length: int) -> Windows:
    """Returns the windows of all t for which o_{t−k}, …, o_{t+k} were observed entirely: no window crosses a gap or a
    sequence's end.

    values and mask (sequence, time, feature). Raises ValueError when length < 1 and when no step is usable.
    """
    if length < 1:
        raise ValueError(f"window length must be at least 1, got {length}")
    span = 2 * length + 1
    if values.shape[1] < span:
        raise ValueError(f"the longest sequence has {values.shape[1]} steps; a window of length {length} needs {span}")
    complete = mask.all(2).unfold(1, span, 1).all(2)
    sequence, start = complete.nonzero(as_tuple=True)
    if not len(sequence):
        raise ValueError(f"no sequence has {span} observed steps in a row, which a window of length {length} needs")
    rows = values[sequence[:, None], start[:, None] + torch.arange(span, device=values.device)]
    return Windows(
        history=rows[:, :length].flatten(1),
        observation=rows[:, length],
        future=rows[:, length:-1].flatten(1),
        shifted_future=rows[:, length + 1 :].flatten(1),
        sequence=sequence,
        time=start + length,
    )
