"""An encoder and a decoder with attention, which share their weights among several streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from models.runtime.seeding import drawn
from models.sequence.packing import Padded
from models.sequence.recurrent import Affine, AttentionDecoder, BidirectionalLSTM, Decoded, Score, TeacherForcing


class Shape(NamedTuple):
    """Says what a translator is made of: units of each recurrent layer, layers of the encoder, whether the decoder is
    fed its outputs, the score of its attention, the dropout between layers; padded: the number of entries that vectors
    are filled up to with zeros, None for maps of their own for each stream."""

    units: int
    layers: int
    fed: bool
    attention: Score
    dropout: float
    padded: int | None


class Translator(nn.Module):
    """Is an encoder f_e and a decoder f_d of one set of recurrent and attention weights for all its streams.

    reads, writes: numbers of a step of each stream that is encoded, and decoded. Without padding a stream has maps of
    its own: into the encoder, out of the decoder, and back into it. With padding a stream's vectors are filled up with
    zeros, and of what the decoder writes the first entries are taken; nothing else of it is fed back.
    """

    def __init__(
        self, reads: Mapping[str, int], writes: Mapping[str, int], shape: Shape, *, seed: int, name: str
    ) -> None:
        super().__init__()
        self.widths, self.shape = dict(writes), shape
        entering, units = shape.padded or shape.units, shape.units
        with drawn(seed, f"mctn/{name}/encoder"):
            self.encoder = BidirectionalLSTM(entering, units, layers=shape.layers, dropout=shape.dropout)
        self.into, self.out, self.feed = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleDict()
        if shape.padded is None:
            for stream, width in reads.items():
                with drawn(seed, f"mctn/{name}/encoder/{stream}"):
                    self.into[stream] = nn.Linear(width, units)
        if not writes:
            return
        with drawn(seed, f"mctn/{name}/decoder"):
            fed = entering if shape.fed else 0
            self.decoder = AttentionDecoder(units, units, fed=fed, score=shape.attention)
        for stream, width in {"": shape.padded}.items() if shape.padded else writes.items():
            with drawn(seed, f"mctn/{name}/decoder/{stream}"):
                self.out[stream or "all"] = nn.Linear(2 * units, width)
                if shape.fed and shape.padded is None:
                    self.feed[stream] = nn.Linear(width, units, bias=False)

    def reading(self, stream: str) -> list[nn.Module]:
        """Returns the parts that encode a stream."""
        return [self.encoder, *([self.into[stream]] if stream in self.into else [])]

    def encode(self, stream: str, sequences: Padded) -> Padded:
        """Returns E of sequences of the stream, with as many steps, (sequence, step, unit)."""
        values, lengths = sequences
        if self.shape.padded is None:
            values = self.into[stream](values)
        else:
            values = nn.functional.pad(values, (0, self.shape.padded - values.shape[2]))
        return Padded(self.encoder(Padded(values, lengths)), lengths)

    def decode(self, encoding: Padded, stream: str, *, steps: int, told: TeacherForcing | None = None) -> Decoded:
        """Returns the translation into a stream, (sequence, step, width), with its weights of attention."""
        read, feed = self._maps(stream)
        told = told if self.shape.fed else None
        return self.decoder(encoding.values, encoding.present, steps=steps, read=read, feed=feed, told=told)

    def _maps(self, stream: str) -> tuple[Any, torch.Tensor | None]:
        """Returns what makes vectors of the stream of the decoder's states, and what they are fed back by."""
        if self.shape.padded is None:
            feed: Any = self.feed[stream] if self.shape.fed else None
            return self.out[stream], None if feed is None else feed.weight
        whole: Any = self.out["all"]
        width = self.widths[stream]
        kept = torch.eye(self.shape.padded, width, dtype=whole.weight.dtype, device=whole.weight.device)
        return Affine(whole.weight[:width], whole.bias[:width]), kept
