"""Convolve, attend and spell: the text of a whole form at once, without boxes (Kang et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.forms.images import Crops
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.attending import AttentionRecogniser, Memory
from models.forms.recognise.convolutions import WordMaps
from models.forms.recognise.own_group_norm import GROUP
from models.ranges import Count
from models.runtime.parameters import whole_number
from models.runtime.seeding import drawn
from models.sequence.masks import present_steps
from models.sequence.packing import Padded
from models.sequence.recurrent import BidirectionalGRU

WIDTHS = (1, 2, 4, 4, 4)  # channels of each layer, over those of the first one; each layer halves the height
HALVINGS = 3  # of the width


@dataclass(frozen=True, kw_only=True)
class ConvolveAttendSpell:
    """`reader=convolve_attend_spell`. height: that forms are brought to, in pixels, a multiple of 32. width: channels
    of the first layer, a multiple of 16; the last ones have 4 times as many. units: of the recurrent networks.
    characters: that a form's text may have at most. beam: hypotheses. Raises TypeError and ValueError for others."""

    height: Count = 256
    width: Count = 16
    units: Count = 96
    characters: Count = 400
    beam: Count = 1

    def __post_init__(self) -> None:
        for name in ("height", "width", "units", "characters", "beam"):
            whole_number(name, getattr(self, name))
        if self.height % 2 ** len(WIDTHS) or self.width % GROUP:
            raise ValueError(f"height={self.height} must be a multiple of 32 and width={self.width} one of {GROUP}")

    def network(self, alphabet: Alphabet, *, seed: int = 0) -> PageNetwork:
        """Returns the network, with first weights drawn by that seed. The alphabet needs the blank between words."""
        with drawn(seed, "forms/convolve_attend_spell"):
            return PageNetwork(self, alphabet)


class PageNetwork(AttentionRecogniser):
    """Encodes columns of a form, eight pixels wide and as high as the form, by convolutions as in VGG and a
    bidirectional network of gated recurrent units, and writes the words of all lines, as `AttentionRecogniser`.

    The paper reads single words, with a decoder of gated recurrent units; ours is the LSTM of the other recognisers.
    Crops are whole forms, texts their words in reading order, joined by one blank.
    """

    def __init__(self, settings: ConvolveAttendSpell, alphabet: Alphabet) -> None:
        super().__init__()
        self.settings, self.alphabet = settings, alphabet
        widths = [settings.width * factor for factor in WIDTHS]
        self.maps = WordMaps(widths, halvings=HALVINGS)
        self.encoder = BidirectionalGRU(widths[-1] * (settings.height >> len(widths)), settings.units)
        self.add_decoder(settings.units)

    def remember(self, crops: Crops) -> Memory:
        """Returns what the decoder attends to."""
        frames = self.maps.frames(crops.widths)
        columns = self.maps(*crops).flatten(1, 2).transpose(1, 2)
        return self.memory_of(self.encoder(Padded(columns, frames)), present_steps(frames, columns.shape[1]))

    def longest(self, memory: Memory) -> Tensor:
        """Returns how many symbols are written at most before the end, int64 (form,): as many as are set."""
        return torch.full_like(memory.present.sum(1), self.settings.characters)
