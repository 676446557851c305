"""Lists of token numbers end to end, and batches of them by how many tokens they hold with their padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from models.sequence.packing import Places


@dataclass(frozen=True, eq=False)
class TokenLists:
    """Holds lists of token numbers end to end: a Python list of lists takes tens of times the memory.

    values: int32 (token,), all lists. lengths: int64 (sequence,), 0 for an empty list.
    """

    values: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, lists: Iterable[Sequence[int] | np.ndarray]) -> TokenLists:
        """Returns lists of numbers as token lists."""
        arrays = [np.asarray(own, dtype=np.int32) for own in lists]
        lengths = torch.tensor([len(own) for own in arrays], dtype=torch.int64)
        return cls(torch.from_numpy(np.concatenate([np.zeros(0, np.int32), *arrays])), lengths)

    @property
    def count(self) -> int:
        """Returns how many lists there are."""
        return len(self.lengths)

    @cached_property
    def starts(self) -> Tensor:
        """Returns the place in `values` of each list's first number, int64 (sequence,)."""
        return self.lengths.cumsum(0) - self.lengths

    def pick(self, rows: Tensor) -> tuple[Tensor, Places]:
        """Returns the tokens of these lists (row,) end to end, int64 (token,), with their places."""
        places = Places.of(self.lengths[rows])
        return self.values[self.starts[rows][places.sequence] + places.step].long(), places

    def take(self, rows: Tensor) -> TokenLists:
        """Returns these lists (row,), in this order."""
        values, places = self.pick(rows)
        return TokenLists(values.to(torch.int32), places.lengths)

    def unpack(self) -> list[list[int]]:
        """Returns one list of numbers a sequence."""
        return [own.tolist() for own in self.values.split(self.lengths.tolist())]


def batches_by_tokens(
    lengths: Tensor, *, most: int, generator: torch.Generator, window: int = 4096
) -> tuple[Tensor, ...]:
    """Returns the row numbers of each batch of an epoch, int64 (batch size,) each; every row comes once.

    lengths: (row, side), for example of sentence and translation. On every side a batch has at most so many tokens when
    it is padded. The rows are drawn in a random order; each window of them is sorted by length, first side first, and
    cut into batches; all batches then come in a random order. Raises ValueError for a row that is longer alone.
    """
    longest = int(lengths.max()) if len(lengths) else 0
    if longest > most:
        row = int(lengths.amax(1).argmax())
        raise ValueError(f"row {row} has {longest} tokens, and a batch may have {most}; leave it out or allow more")
    order = torch.randperm(len(lengths), generator=generator)
    batches = [batch for rows in order.split(window) for batch in cut(sorted_by_length(rows, lengths), lengths, most)]
    return tuple(batches[place] for place in torch.randperm(len(batches), generator=generator).tolist())


def sorted_by_length(rows: Tensor, lengths: Tensor) -> Tensor:
    """Returns the rows by their length on the first side, of equals on the second side, and so on."""
    for side in reversed(range(lengths.shape[1])):
        rows = rows[lengths[rows, side].argsort(stable=True)]
    return rows


def cut(rows: Tensor, lengths: Tensor, most: int) -> Iterable[Tensor]:
    """Yields the rows in batches as large as may be, in their order."""
    start, widest = 0, 0
    for place, each in enumerate(lengths[rows].amax(1).tolist()):
        if (place + 1 - start) * max(widest, each) > most and place > start:
            yield rows[start:place]
            start, widest = place, 0
        widest = max(widest, each)
    if start < len(rows):
        yield rows[start:]
