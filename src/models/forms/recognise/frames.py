"""Recognisers that give each frame of an image a symbol or blank, trained by CTC."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from models.forms.images import Crops
from models.forms.recognise.recogniser import Reading, Recogniser
from models.sequence.ctc import best_paths, ctc_losses, frames_needed


class FrameRecogniser(Recogniser):
    """Reads what the most probable path over the frames of an image says."""

    @abstractmethod
    def forward(self, crops: Crops) -> tuple[Tensor, Tensor]:
        """Returns ln p (image, frame, symbol), symbol 0 being blank, and how many frames each image has."""

    def frames_needed(self, symbols: Sequence[int]) -> int:
        """Returns how many frames CTC needs."""
        return frames_needed(symbols)

    def losses(self, crops: Crops, texts: Sequence[str]) -> dict[str, Tensor]:
        """Returns ctc_loss, −ln p(text) over the number of its characters, the mean over the texts."""
        symbols = self.alphabet.encode(texts)
        log_p, frames = self(crops)
        lengths = torch.tensor([len(own) for own in symbols], device=log_p.device)
        return {"ctc_loss": (ctc_losses(log_p, frames, symbols) / lengths).mean()}

    def read(self, crops: Crops) -> list[Reading]:
        """Returns the text of the most probable path; its probability is that of the path, which is less than that of
        the text."""
        said = best_paths(*self(crops))
        return [Reading(self.alphabet.decode(own.symbols), math.exp(own.log_p)) for own in said]
