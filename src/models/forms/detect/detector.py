"""What every detector is: named losses to be minimised, and boxes that are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from models.forms.detect.boxes import Detections, Truth


class Detector(nn.Module, ABC):
    """Finds boxes on forms.

    architecture: the keyword arguments that make it again, plain values. Images are ink, float32 (form, 1, height,
    width) in [0, 1], 1 = ink, all of one size.
    """

    architecture: dict[str, Any]

    @abstractmethod
    def losses(self, images: Tensor, truths: Sequence[Truth]) -> dict[str, Tensor]:
        """Returns named losses, each the mean over the forms; what is minimised is their sum. Nothing is drawn.

        Raises ValueError for true boxes that cannot be, see `models.forms.detect.boxes.refuse_bad`.
        """

    @abstractmethod
    def detect(self, images: Tensor, least_score: float = 0.05) -> list[Detections]:
        """Returns what is found on each form with at least that score, best first."""
