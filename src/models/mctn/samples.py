"""What a model takes: a stream of steps for each modality, in the units it learns in, and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.standardisation import Standardisation
from models.sequence.masks import present_steps
from models.sequence.packing import Packed, Padded

MOST_DEVIATIONS = 5.0  # standard deviations at which standardised numbers are cut


@dataclass(frozen=True, eq=False)
class Stream:
    """Holds one modality of all samples. steps: its numbers; with a table (row, width), each step is one number, the
    row of the table that stands for it, as words stand for their vectors."""

    steps: Packed
    table: Tensor | None = None

    @property
    def width(self) -> int:
        """Returns how many numbers a step has for the model."""
        return self.steps.width if self.table is None else self.table.shape[1]

    def pick(self, rows: Tensor) -> Padded:
        """Returns the sequences of these samples, padded."""
        padded = self.steps.pick(rows)
        if self.table is None:
            return padded
        values = self.table[padded.values[..., 0].long()]
        return Padded(values.masked_fill(~padded.present.unsqueeze(-1), 0), padded.lengths)

    def take(self, rows: Tensor) -> Stream:
        """Returns some samples, in this order."""
        return Stream(self.steps.take(rows), self.table)

    def looked_up(self) -> Tensor:
        """Returns the numbers of all steps, (step, width)."""
        return self.steps.values if self.table is None else self.table[self.steps.values[:, 0].long()]


def units_of(stream: Stream) -> Standardisation:
    """Returns mean and scale of a stream's numbers over all steps; a constant one keeps scale 1. Without any step,
    those that change nothing."""
    values = stream.looked_up()
    if not len(values):
        return Standardisation(values.new_zeros(stream.width), values.new_ones(stream.width))
    return Standardisation.of(values)


def in_units(stream: Stream, units: Standardisation, dtype: torch.dtype | None = None) -> Stream:
    """Returns the stream in standard deviations from the mean, cut at ±`MOST_DEVIATIONS`, as numbers of the type; None
    for that of the stream."""
    if stream.table is None:
        values = stream.steps.values
        return Stream(replace(stream.steps, values=standardised(values, units).to(dtype or values.dtype)))
    return replace(stream, table=standardised(stream.table, units).to(dtype or stream.table.dtype))


def standardised(values: Tensor, units: Standardisation) -> Tensor:
    """Returns values (row, width) in those units, cut."""
    return units.apply(values).clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS)


@dataclass(frozen=True, eq=False)
class Samples:
    """Holds samples for a model: streams by letter, in the units it learns in, and labels (sample,), scores or numbers
    of classes; None where they are not known."""

    streams: Mapping[str, Stream]
    labels: Tensor | None = None

    @property
    def count(self) -> int:
        """Returns how many samples there are."""
        return next(iter(self.streams.values())).steps.count

    def pick(self, rows: Tensor, letters: str) -> dict[str, Padded]:
        """Returns the modalities of these letters of some samples, padded."""
        return {letter: self.streams[letter].pick(rows) for letter in letters}

    def lengths(self, letters: str) -> Tensor:
        """Returns the number of steps of each sample's modalities joined step by step, (sample,)."""
        return torch.stack([self.streams[letter].steps.lengths for letter in letters]).amax(0)


def without(samples: Samples, letters: str) -> Samples:
    """Returns the same samples, of which none has a step of the modalities of these letters."""
    emptied = {
        letter: replace(stream, steps=Packed(stream.steps.values[:0], torch.zeros_like(stream.steps.lengths)))
        for letter, stream in samples.streams.items()
        if letter in letters
    }
    return replace(samples, streams={**samples.streams, **emptied})


def holding(samples: Samples, letters: str, made: Callable[[Tensor], Tensor]) -> Samples:
    """Returns the same samples with other numbers in all steps of the modalities of these letters. made: returns them
    for those there are, (step, width), or (row, width) of a table."""
    other = dict[str, Stream]()
    for letter in filter(samples.streams.__contains__, letters):
        stream = samples.streams[letter]
        if stream.table is None:
            other[letter] = replace(stream, steps=replace(stream.steps, values=made(stream.steps.values)))
        else:
            other[letter] = replace(stream, table=made(stream.table))
    return replace(samples, streams={**samples.streams, **other})


def dropped(inputs: Mapping[str, Padded], share: float, generator: torch.Generator) -> dict[str, Padded]:
    """Returns padded modalities of which each is missing from a sample with probability `share`, independently
    (Neverova et al. 2016, IEEE TPAMI 38). A missing one has values of 0 and length 0. A sample that would lose all it
    has keeps them all."""
    had = torch.stack([part.lengths > 0 for part in inputs.values()])
    kept = torch.rand(had.shape, generator=generator).to(had.device) >= share
    kept = kept | ~(kept & had).any(0)
    return {
        letter: Padded(part.values * own.view(-1, 1, 1), part.lengths * own)
        for (letter, part), own in zip(inputs.items(), kept, strict=True)
    }


class Joined(NamedTuple):
    """Holds modalities joined step by step: the padded sequences, and which of their entries are present, bool
    (sequence, step, 1 or width)."""

    sequences: Padded
    entries: Tensor


def joined(parts: Sequence[Padded]) -> Joined:
    """Returns [x_1; x_2; …] at each step. A modality that has ended is 0; the joined sequence is as long as the longest
    of its modalities."""
    if len(parts) == 1:
        return Joined(parts[0], parts[0].present.unsqueeze(-1))
    steps, lengths = max(part.values.shape[1] for part in parts), torch.stack([part.lengths for part in parts]).amax(0)
    longer = [(0, 0, 0, steps - part.values.shape[1]) for part in parts]
    values = [torch.nn.functional.pad(part.values, more) for part, more in zip(parts, longer, strict=True)]
    entries = [
        present_steps(part.lengths, steps).unsqueeze(-1).expand_as(own) for part, own in zip(parts, values, strict=True)
    ]
    return Joined(Padded(torch.cat(values, -1), lengths), torch.cat(entries, -1))
