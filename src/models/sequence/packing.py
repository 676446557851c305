"""Sequences of unequal length: end to end in memory, padded for a network, and batches of similar lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.sequence.masks import present_steps

WINDOW = 16  # batches of an epoch that are sorted by length together


class Padded(NamedTuple):
    """Holds sequences padded to the longest.

    values: (sequence, step, width), 0 past the end. lengths: int64 (sequence,); a length of 0 is a missing sequence.
    """

    values: Tensor
    lengths: Tensor

    @property
    def present(self) -> Tensor:
        """Returns whether a step is one of the sequence's own: bool (sequence, step)."""
        return present_steps(self.lengths, self.values.shape[1])


@dataclass(frozen=True, eq=False)
class Packed:
    """Holds sequences end to end, without padding.

    values: (step, width), the steps of all sequences. lengths: int64 (sequence,), 0 for a missing sequence.
    """

    values: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, arrays: Sequence[Any], *, dtype: torch.dtype = torch.float32) -> Packed:
        """Returns arrays or tensors (step, width) as packed sequences.

        Raises ValueError without any array, and for one that has no rows of steps or another width than the first.
        """
        tensors = [torch.as_tensor(array) for array in arrays]
        if not tensors:
            raise ValueError("packing needs at least one sequence")
        for place, tensor in enumerate(tensors):
            if tensor.ndim != 2 or tensor.shape[1] != tensors[0].shape[1]:
                wanted = f"(step, {tensors[0].shape[1]})" if tensors[0].ndim == 2 else "(step, width)"
                raise ValueError(f"sequence {place} must have shape {wanted}, got {tuple(tensor.shape)}")
        lengths = torch.tensor([len(tensor) for tensor in tensors])
        return cls(torch.cat([tensor.to(dtype) for tensor in tensors]), lengths)

    @property
    def count(self) -> int:
        """Returns how many sequences there are."""
        return len(self.lengths)

    @property
    def width(self) -> int:
        """Returns how many numbers a step has."""
        return self.values.shape[1]

    @cached_property
    def starts(self) -> Tensor:
        """Returns the row of `values` with which each sequence begins: int64 (sequence,)."""
        return self.lengths.cumsum(0) - self.lengths

    def pick(self, rows: Tensor) -> Padded:
        """Returns the sequences of these numbers (row,), in this order, padded to the longest of them and at least to
        one step."""
        lengths = self.lengths[rows]
        steps = max(1, int(lengths.max())) if len(lengths) else 1
        present = present_steps(lengths, steps)
        places = self.starts[rows].unsqueeze(1) + torch.arange(steps, device=lengths.device)
        values = self.values.new_zeros(len(lengths), steps, self.width)
        values[present] = self.values[places[present]]
        return Padded(values, lengths)

    def take(self, rows: Tensor) -> Packed:
        """Returns these sequences (row,), in this order; a row may come more than once."""
        places = Places.of(self.lengths[rows])
        return Packed(self.values[self.starts[rows][places.sequence] + places.step], places.lengths)

    def unpack(self) -> list[Tensor]:
        """Returns one tensor (step, width) a sequence."""
        return list(self.values.split(self.lengths.tolist()))


@dataclass(frozen=True, eq=False)
class Places:
    """Says where the tokens of sequences stand: end to end, (token, …), and padded, (sequence, step, …).

    lengths: int64 (sequence,). steps: of the longest, at least 1. sequence, step: of each token, int64 (token,).
    """

    lengths: Tensor
    steps: int
    sequence: Tensor
    step: Tensor

    @classmethod
    def of(cls, lengths: Tensor) -> Places:
        """Returns the places of sequences of these lengths (sequence,)."""
        steps = max(1, int(lengths.max())) if len(lengths) else 1
        sequence, step = present_steps(lengths, steps).nonzero().unbind(1)
        return cls(lengths, steps, sequence, step)

    def to(self, device: torch.device) -> Places:
        """Returns the places on that device."""
        return Places(self.lengths.to(device), self.steps, self.sequence.to(device), self.step.to(device))

    @property
    def full(self) -> bool:
        """Returns whether all sequences have the same length, so that there is no padding."""
        return len(self.sequence) == len(self.lengths) * self.steps

    def bias(self) -> Tensor | None:
        """Returns which steps may be attended to, bool (sequence, 1, 1, step); None where all may be."""
        return None if self.full else present_steps(self.lengths, self.steps)[:, None, None]

    def pad(self, values: Tensor) -> Tensor:
        """Returns values (token, …) as (sequence, step, …), 0 past the end."""
        if self.full:
            return values.unflatten(0, (len(self.lengths), self.steps))
        whole = values.new_zeros(len(self.lengths) * self.steps, *values.shape[1:])
        return whole.index_copy(0, self._rows, values).unflatten(0, (len(self.lengths), self.steps))

    def pack(self, values: Tensor) -> Tensor:
        """Returns values (sequence, step, …) as (token, …), without what is past the end."""
        flat = values.flatten(0, 1)
        return flat if self.full else flat.index_select(0, self._rows)

    def means(self, values: Tensor) -> Tensor:
        """Returns the mean over the tokens of each sequence, (sequence, width) for (token, width); 0 of none."""
        sums = values.new_zeros(len(self.lengths), values.shape[1]).index_add(0, self.sequence, values)
        return sums / self.lengths.clamp(min=1).unsqueeze(1)

    @property
    def _rows(self) -> Tensor:
        return self.sequence * self.steps + self.step


def batches_by_length(lengths: Tensor, *, size: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Returns the row numbers of each batch of an epoch, int64 (batch size,) each; every row comes once.

    The rows are drawn in a random order; each `WINDOW` batches of them are sorted by length, so that a batch has little
    padding, and the batches then come in a random order. lengths (row,); size: rows of a batch, the last may be
    smaller. Raises ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError(f"a batch needs at least one row, got {size}")
    order = torch.randperm(len(lengths), generator=generator)
    batches, lengths = list[Tensor](), lengths.cpu()
    for rows in order.split(size * WINDOW):
        batches += rows[lengths[rows].argsort(stable=True)].split(size)
    return tuple(batches[place] for place in torch.randperm(len(batches), generator=generator).tolist())
