"""Utterances as a network learns from them: streams by letter, in standard deviations of the training steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch

from data.utterances import Part, Utterances
from models.mctn.arms import MODALITIES
from models.mctn.samples import Samples, Stream, in_units, units_of
from models.numerics.standardisation import Standardisation
from models.sequence.packing import Packed


class Prepared(NamedTuple):
    """Holds samples of the training, validation and test part, and the units that they are in, by letter."""

    parts: Mapping[str, Samples]
    units: Mapping[str, Standardisation]

    @property
    def train(self) -> Samples:
        return self.parts["train"]

    @property
    def widths(self) -> dict[str, int]:
        """Returns how many numbers a step of each modality has."""
        return {letter: stream.width for letter, stream in self.train.streams.items()}


def stream_of(data: Utterances, part: Part, letter: str, *, dtype: torch.dtype) -> Stream:
    """Returns one modality of a part, in its own units. The words of a text are rows of the table of their vectors."""
    name = MODALITIES[letter]
    steps = Packed.of(part.modalities[name].to_arrays(), dtype=dtype)
    table = data.words.vectors.to(dtype) if data.words is not None and name == "text" else None
    return Stream(steps, table)


def prepared(data: Utterances, letters: str, *, dtype: torch.dtype) -> Prepared:
    """Returns the modalities of these letters of all parts. Units are those of the training steps."""
    streams = {
        name: {letter: stream_of(data, part, letter, dtype=dtype) for letter in letters}
        for name, part in data.parts.items()
    }
    units = {letter: units_of(stream) for letter, stream in streams["train"].items()}
    parts = {
        name: Samples({letter: in_units(stream, units[letter]) for letter, stream in own.items()}, labels)
        for name, own in streams.items()
        for labels in [labels_of(data, data.parts[name], dtype)]
    }
    return Prepared(parts, units)


def labels_of(data: Utterances, part: Part, dtype: torch.dtype) -> torch.Tensor:
    """Returns scores in the type that is computed in, or numbers of classes."""
    return part.labels.to(dtype) if data.label_kind == "score" else part.labels
