"""What every recogniser is: settings, and the network that they make, with named losses and texts that are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from models.forms.images import Crops, batches_of
from models.forms.recognise.alphabet import Alphabet

BATCH = 64  # images that are read at once


class Reading(NamedTuple):
    """Holds what was read in an image, and p(text | image) as the recogniser has it: by CTC of all paths that say the
    text, by a decoder the product over its symbols and its end, of a text that was cut that over its symbols alone, by
    a word model its share among the words."""

    text: str
    probability: float


class CutReading(Reading):
    """Is what a decoder has written when it had come to no end and might write no more: the rest may be missing."""


@runtime_checkable
class RecogniserSettings(Protocol):
    """Says what a recogniser is made of: a frozen dataclass of plain values. height: that images are brought to."""

    @property
    def height(self) -> int: ...

    def network(self, alphabet: Alphabet, *, seed: int = 0) -> Recogniser:
        """Returns the recogniser, with first weights drawn by that seed."""
        ...


class Recogniser(nn.Module, ABC):
    """Reads images of words.

    settings: the settings that it was made with; `height` among them. alphabet: what it can read. A reading hangs on
    its own image alone, not on the others of the batch and not on how far it is padded.
    """

    settings: Any
    alphabet: Alphabet

    @abstractmethod
    def losses(self, crops: Crops, texts: Sequence[str]) -> dict[str, Tensor]:
        """Returns named losses, each the mean over the texts; what is minimised is their sum.

        Raises ValueError for characters outside the alphabet and for texts that are too long for their image.
        """

    def frames(self, widths: Tensor) -> Tensor | None:  # noqa: ARG002
        """Returns how many frames images of so many pixels have, int64 (image,); None where any text can be read."""
        return None

    def frames_needed(self, symbols: Sequence[int]) -> int:
        """Returns how many frames a text needs, by its symbols."""
        return len(symbols)

    @abstractmethod
    def read(self, crops: Crops) -> list[Reading]:
        """Returns what is read in each image."""

    def glance(self, crops: Crops) -> list[Reading]:
        """Returns what is read at a glance, without the search that `read` may take: for scores while it is trained."""
        return self.read(crops)

    def read_words(self, images: Sequence[Tensor], *, search: bool = True) -> list[Reading]:
        """Returns what is read in images of ink (height, width) of any size, in batches of similar width; at a glance
        where no search is wanted."""
        if not images:
            return []
        device = next(self.parameters()).device
        found: list[Reading | None] = [None] * len(images)
        self.eval()
        read = self.read if search else self.glance
        with torch.inference_mode():
            for rows, crops in batches_of(images, self.settings.height, BATCH):
                for row, reading in zip(rows, read(crops.to(device)), strict=True):
                    found[row] = reading
        return [own for own in found if own is not None]
