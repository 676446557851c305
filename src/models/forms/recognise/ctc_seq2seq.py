"""CTC-Seq2Seq: patches, a bidirectional LSTM with CTC, and an LSTM that attends to it and writes the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from models.forms.images import Crops
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.attending import AttentionRecogniser, Memory
from models.forms.recognise.frames import readings
from models.forms.recognise.patches import GROUP, PatchFeatures, patch_counts
from models.forms.recognise.recogniser import Reading
from models.ranges import Count, Range
from models.runtime.parameters import one_of, whole_number, yes_or_no
from models.runtime.seeding import drawn
from models.sequence.ctc import best_paths, ctc_losses, frames_needed
from models.sequence.recurrent import BidirectionalLSTM

NORMALISE = ("characters", "patches")
Weight = Annotated[float, Range(at_least=0, at_most=1)]


@dataclass(frozen=True, kw_only=True)
class CTCSeq2Seq:
    """`recogniser=ctc_seq2seq`.

    height: that images are brought to, in pixels. patch, step: width of a patch and from one to the next, in pixels.
    channels: of the first layer, which looks at patches; the others have 2 and 4 times as many. units: of the LSTMs.
    encoder_layers, decoder_layers: how many of them. residual: each layer of the encoder adds its states to what it
    reads, so that CTC and the decoder see the patch itself too; without, the encoder counts patches for long before it
    looks at the ink. ctc_share: λ of L = λ L_CTC + (1 − λ) L_decoder. normalise: by
    what the loss of a text is divided, the number of its "characters" or of its "patches". beam: hypotheses. dropout:
    between layers. attention: false has the decoder see the mean of all patches at every step.
    Raises TypeError and ValueError for others.
    """

    height: Count = 32
    patch: Count = 8
    step: Count = 4
    channels: Count = 32
    units: Count = 96
    encoder_layers: Count = 4
    decoder_layers: Count = 4
    residual: bool = True
    ctc_share: Weight = 0.5
    normalise: str = "characters"
    beam: Count = 1
    dropout: Weight = 0.0
    attention: bool = True

    def __post_init__(self) -> None:
        for name in ("height", "patch", "step", "channels", "units", "encoder_layers", "decoder_layers", "beam"):
            whole_number(name, getattr(self, name))
        if self.height % 8 or self.patch % 8 or self.channels % GROUP or self.step > self.patch:
            raise ValueError(
                f"height={self.height} and patch={self.patch} must be multiples of 8, channels={self.channels} one of "
                f"{GROUP}, and step={self.step} at most patch"
            )
        if not 0 <= self.ctc_share <= 1:
            raise ValueError(f"ctc_share must lie from 0 to 1, got {self.ctc_share}")
        one_of("normalise", self.normalise, NORMALISE)
        yes_or_no("attention", self.attention)
        yes_or_no("residual", self.residual)

    def network(self, alphabet: Alphabet, *, seed: int = 0) -> CTCSeq2SeqNetwork:
        """Returns the network, with first weights drawn by that seed."""
        with drawn(seed, "forms/ctc_seq2seq"):
            return CTCSeq2SeqNetwork(self, alphabet)


class CTCSeq2SeqNetwork(AttentionRecogniser):
    """Encodes patches by a bidirectional LSTM, whose states CTC reads as well, and writes as `AttentionRecogniser`."""

    def __init__(self, settings: CTCSeq2Seq, alphabet: Alphabet) -> None:
        super().__init__()
        self.settings, self.alphabet, self.attends = settings, alphabet, settings.attention
        own, outputs = settings, len(alphabet) + 1
        widths = [own.channels, 2 * own.channels, 4 * own.channels]
        self.features = PatchFeatures(widths, height=own.height, width=own.units, patch=own.patch, step=own.step)
        self.encoder = BidirectionalLSTM(
            own.units, own.units, layers=own.encoder_layers, dropout=own.dropout, residual=own.residual
        )
        self.say_frames = nn.Linear(own.units, outputs)
        self.add_decoder(own.units, layers=own.decoder_layers, dropout=own.dropout)

    def frames(self, widths: Tensor) -> Tensor:
        """Returns how many patches images have."""
        return patch_counts(widths, width=self.settings.patch, step=self.settings.step)

    def frames_needed(self, symbols: Sequence[int]) -> int:
        """Returns how many patches CTC needs, and where it has no part in the loss one a symbol."""
        return frames_needed(symbols) if self.settings.ctc_share else len(symbols)

    def remember(self, crops: Crops) -> Memory:
        """Returns what the decoder attends to."""
        seen = self.features(crops)
        return self.memory_of(self.encoder(seen), seen.present)

    def losses(self, crops: Crops, texts: Sequence[str]) -> dict[str, Tensor]:
        """Returns λ times ctc_loss and 1 − λ times decoder_loss, −ln p of each text over its characters, or patches;
        the mean over the texts."""
        symbols, memory = self.alphabet.encode(texts), self.remember(crops)
        share, patches = self.settings.ctc_share, memory.present.sum(1)
        lengths = torch.tensor([len(own) for own in symbols], device=patches.device)
        by = lengths if self.settings.normalise == "characters" else patches
        found = {"decoder_loss": (1 - share) * (self.nats(memory, symbols) / by).mean()}
        if share:
            frames = self.say_frames(memory.states).log_softmax(2)
            found["ctc_loss"] = share * (ctc_losses(frames, patches, symbols) / by).mean()
        return found

    def read(self, crops: Crops) -> list[Reading]:
        """Returns the text of the best hypothesis of the beam and its probability, as `AttentionRecogniser.read`; where
        CTC alone is learnt, the text of the most probable path, and its probability of all paths that say it."""
        if self.settings.ctc_share < 1:
            return super().read(crops)
        memory = self.remember(crops)
        log_p, patches = self.say_frames(memory.states).log_softmax(2), memory.present.sum(1)
        return readings(self.alphabet, best_paths(log_p, patches), log_p, patches)
