"""CRNN: convolutions, one bidirectional LSTM over their columns, and CTC (Shi, Bai and Yao 2017); our own control."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.forms.images import Crops
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.convolutions import WordMaps
from models.forms.recognise.frames import FrameRecogniser, FrameSettings
from models.forms.recognise.own_group_norm import GROUP
from models.ranges import Count
from models.runtime.parameters import whole_number
from models.runtime.seeding import drawn
from models.sequence.packing import Padded
from models.sequence.recurrent import BidirectionalLSTM

HALVINGS = 4  # of the height


@dataclass(frozen=True, kw_only=True)
class CRNN(FrameSettings):
    """`recogniser=crnn`. height: that images are brought to, in pixels, a multiple of 16. width: channels of the first
    layer, a multiple of 32; the others have 1.5 and 2 times as many. units: of the LSTM in each direction. language:
    as `FrameSettings` has it. Raises TypeError and ValueError for others."""

    height: Count = 32
    width: Count = 32
    units: Count = 80

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("height", "width", "units"):
            whole_number(name, getattr(self, name))
        if self.height % 2**HALVINGS or self.width % (2 * GROUP):
            raise ValueError(f"height={self.height} must be a multiple of 16 and width={self.width} one of {2 * GROUP}")

    def network(self, alphabet: Alphabet, *, seed: int = 0) -> CRNNNetwork:
        """Returns the network, with first weights drawn by that seed."""
        with drawn(seed, "forms/crnn"):
            return CRNNNetwork(self, alphabet)


class CRNNNetwork(FrameRecogniser):
    """Gives each frame, two pixels wide, a probability for every symbol and for blank, from the LSTM's state and from
    the column of maps itself. Without the latter the LSTM counts frames for long before it looks at the ink."""

    def __init__(self, settings: CRNN, alphabet: Alphabet) -> None:
        super().__init__(settings, alphabet)
        own = settings.width
        self.maps = WordMaps([own, 3 * own // 2, 2 * own, 2 * own])
        column = 2 * own * (settings.height >> HALVINGS)
        self.lstm = BidirectionalLSTM(column, settings.units, directions="joined")
        self.say = nn.Linear(2 * settings.units + column, len(alphabet) + 1)

    def frames(self, widths: Tensor) -> Tensor:
        """Returns ⌈width / 2⌉."""
        return self.maps.frames(widths)

    def forward(self, crops: Crops) -> tuple[Tensor, Tensor]:
        """Returns ln p (image, frame, symbol), and how many frames each image has."""
        frames = self.frames(crops.widths)
        columns = self.maps(crops.ink, crops.widths).flatten(1, 2).transpose(1, 2)
        states = self.lstm(Padded(columns, frames))
        return self.say(torch.cat([states, columns], 2)).log_softmax(2), frames
