"""Recognisers that give each frame of an image a symbol or blank, trained by CTC (Graves et al. 2006)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from models.forms.images import Crops
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.language import Language
from models.forms.recognise.recogniser import Reading, Recogniser
from models.sequence.ctc import DecodedSymbols, best_paths, ctc_losses, frames_needed, text_log_p


@dataclass(frozen=True, kw_only=True)
class FrameSettings:
    """Are settings of a recogniser that says a symbol at each frame.

    language: how a language model of characters takes part in reading; None to read the most probable path. Raises
    ValueError for what is none.
    """

    language: Language | None = None

    def __post_init__(self) -> None:
        if self.language is not None and not isinstance(self.language, Language):
            raise ValueError(f"language must be a Language, or None (null) for none, got {self.language!r}")

    def prepared(self, texts: Sequence[str], alphabet: Alphabet) -> Self:
        """Returns the settings with the training texts in their language model, where it has none."""
        return self if self.language is None else replace(self, language=self.language.of(texts, alphabet))


class FrameRecogniser(Recogniser):
    """Reads what the most probable path over the frames of an image says, or what a search finds where its settings
    have a language model. Raises ValueError for a language model without texts."""

    def __init__(self, settings: FrameSettings, alphabet: Alphabet) -> None:
        super().__init__()
        self.settings, self.alphabet = settings, alphabet
        self.search = best_paths if settings.language is None else settings.language.reader(alphabet)

    def leave_language_out(self) -> None:
        """Reads the most probable path from now on."""
        self.settings, self.search = replace(self.settings, language=None), best_paths

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
        """Returns the text that is found, and its probability by the ink alone, of all paths that say it."""
        log_p, frames = self(crops)
        return readings(self.alphabet, self.search(log_p, frames), log_p, frames)

    def glance(self, crops: Crops) -> list[Reading]:
        """Returns the text of the most probable path, and its probability, of all paths that say it."""
        log_p, frames = self(crops)
        return readings(self.alphabet, best_paths(log_p, frames), log_p, frames)


def readings(alphabet: Alphabet, said: Sequence[DecodedSymbols], log_p: Tensor, frames: Tensor) -> list[Reading]:
    """Returns the texts that were found in frames, ln p (image, frame, symbol), with p(text | image)."""
    texts = [own.symbols for own in said]
    found = text_log_p(log_p, frames, texts).clamp(max=0.0).exp().tolist()  # rounding may be above 1
    return [Reading(alphabet.decode(own), one) for own, one in zip(texts, found, strict=True)]
