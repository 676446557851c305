"""History, observation, future and shifted future of every time step (paper, section 3; method: one notation)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad


class Windows(NamedTuple):
    """Holds one row per usable time step t; k are the observations in a history, f those in a future, d features each.

    history (row, k·d): o_{t−k}, …, o_{t−1};  future (row, f·d): o_t, …, o_{t+f−1};  shifted_future (row, f·d): o_{t+1},
    …, o_{t+f};  observation (row, j·d): o_{t−j+1}, …, o_t, which is o_t alone where the delay j is 1;  sequence, time
    (row,): where the row comes from.
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


def extract_windows(values: Tensor, mask: Tensor, *, length: int, future: int | None = None, delay: int = 1) -> Windows:
    """Returns the windows of all t for which o_{t−k}, …, o_{t+f} were observed entirely: no window crosses a gap or a
    sequence's end. Rows of a delayed observation before the first of its sequence are 0, the others were observed.

    values and mask (sequence, time, feature). length: k, and f where `future` is None; delay: j. Raises ValueError
    for a number below 1 and when no step is usable.
    """
    ahead = length if future is None else future
    for name, rows in (("window length", length), ("future", ahead), ("delay", delay)):
        if rows < 1:
            raise ValueError(f"{name} must be at least 1, got {rows}")
    span, early = length + ahead + 1, max(0, delay - 1 - length)  # early: delayed rows before the history
    window = f"a window of length {length}" if length == ahead else f"a history of {length} and a future of {ahead}"
    need = "needs" if length == ahead else "need"
    if values.shape[1] < span:
        raise ValueError(f"the longest sequence has {values.shape[1]} steps; {window} {need} {span}")
    before = pad(values, (0, 0, early, 0)), pad(mask.all(2), (early, 0), value=True)
    sequence, start = before[1].unfold(1, early + span, 1).all(2).nonzero(as_tuple=True)
    if not len(sequence):
        raise ValueError(f"no sequence has {span} observed steps in a row, which {window} {need}")
    rows = before[0][sequence[:, None], start[:, None] + torch.arange(early + span, device=values.device)]
    now = early + length
    return Windows(
        history=rows[:, early:now].flatten(1),
        observation=rows[:, now + 1 - delay : now + 1].flatten(1),
        future=rows[:, now:-1].flatten(1),
        shifted_future=rows[:, now + 1 :].flatten(1),
        sequence=sequence,
        time=start + length,
    )
