"""MORAN: offsets that set letters straight, a bidirectional LSTM, and a decoder with attention (Luo et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import grid_sample, interpolate, pad

from models.forms.images import Crops
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.attending import AttentionRecogniser, Memory
from models.forms.recognise.convolutions import WordMaps, inside
from models.forms.recognise.own_group_norm import GROUP
from models.ranges import Count, Share
from models.runtime.parameters import number, whole_number
from models.runtime.seeding import drawn
from models.sequence.masks import present_steps
from models.sequence.packing import Padded
from models.sequence.recurrent import BidirectionalLSTM

RECTIFIER = (16, 32)  # channels; each layer halves height and width
HALVINGS = 4  # of the height, before the LSTM


@dataclass(frozen=True, kw_only=True)
class MORAN:
    """`recogniser=moran`. height: that images are brought to, in pixels, a multiple of 16. width: channels of the first
    layer, a multiple of 32; the others have 1.5 and 2 times as many. units: of the LSTMs. reach: how far a pixel is
    moved at most, over the height. beam: hypotheses. Raises TypeError and ValueError for others."""

    height: Count = 32
    width: Count = 32
    units: Count = 96
    reach: Share = 0.25
    beam: Count = 1

    def __post_init__(self) -> None:
        for name in ("height", "width", "units", "beam"):
            whole_number(name, getattr(self, name))
        number("reach", self.reach, below=1.0)
        if self.height % 2**HALVINGS or self.width % (2 * GROUP):
            raise ValueError(f"height={self.height} must be a multiple of 16 and width={self.width} one of {2 * GROUP}")

    def network(self, alphabet: Alphabet, *, seed: int = 0) -> MORANNetwork:
        """Returns the network, with first weights drawn by that seed."""
        with drawn(seed, "forms/moran"):
            return MORANNetwork(self, alphabet)


class Rectifier(nn.Module):
    """Moves the pixels of an image: pixel (y, x) of the result is the ink at (y + o_y, x + o_x), |o| ≤ reach · height.

    The offsets o are made at a quarter of height and width, by convolutions and tanh, and interpolated. They begin as
    0. Past the end of an image they are 0, whether or not the image is padded.
    """

    def __init__(self, reach: float) -> None:
        super().__init__()
        self.reach = reach
        self.maps = WordMaps(RECTIFIER, halvings=len(RECTIFIER))
        self.say = nn.Conv2d(RECTIFIER[-1], 2, 3, padding=1)
        for own in self.say.parameters():
            nn.init.zeros_(own)

    def offsets(self, crops: Crops) -> Tensor:
        """Returns (o_y, o_x) in pixels, (image, 2, height, width)."""
        height, width = crops.ink.shape[2:]
        maps = self.maps(crops.ink, crops.widths)
        coarse = self.say(maps).tanh() * inside(self.maps.frames(crops.widths), maps.shape[3])
        fine = interpolate(pad(coarse, (0, 1)), scale_factor=2 ** len(RECTIFIER), mode="bilinear", align_corners=False)
        return self.reach * height * fine[..., :width]

    def forward(self, crops: Crops) -> Crops:
        """Returns images of the same size."""
        height, width = crops.ink.shape[2:]
        moved = self.offsets(crops)
        y = torch.arange(height, device=moved.device).unsqueeze(1) + moved[:, 0]
        x = torch.arange(width, device=moved.device) + moved[:, 1]
        places = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], 3)
        ink = grid_sample(crops.ink, places, mode="bilinear", padding_mode="zeros", align_corners=True)
        return Crops(ink * inside(crops.widths, width), crops.widths)


class MORANNetwork(AttentionRecogniser):
    """Rectifies an image, encodes columns of maps, four pixels wide, by a bidirectional LSTM, and writes as
    `AttentionRecogniser`. The paper's random exchange of neighbouring weights of attention is left out."""

    def __init__(self, settings: MORAN, alphabet: Alphabet) -> None:
        super().__init__()
        self.settings, self.alphabet = settings, alphabet
        own = settings.width
        self.rectifier = Rectifier(settings.reach)
        self.maps = WordMaps([own, 3 * own // 2, 2 * own, 2 * own], halvings=2)
        self.encoder = BidirectionalLSTM(2 * own * (settings.height >> HALVINGS), settings.units)
        self.add_decoder(settings.units)

    def frames(self, widths: Tensor) -> Tensor:
        """Returns ⌈width / 4⌉, rounded up at each half."""
        return self.maps.frames(widths)

    def remember(self, crops: Crops) -> Memory:
        """Returns what the decoder attends to."""
        frames = self.frames(crops.widths)
        columns = self.maps(*self.rectifier(crops)).flatten(1, 2).transpose(1, 2)
        return self.memory_of(self.encoder(Padded(columns, frames)), present_steps(frames, columns.shape[1]))
