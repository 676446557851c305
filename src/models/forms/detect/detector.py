"""What every detector is: settings, and the network that they make, with named losses and boxes that are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import torch
from torch import Tensor, nn

from models.forms.detect.anchors import Shapes, checked_shapes, shapes_of
from models.forms.detect.boxes import CLASSES, Detections, Truth
from models.forms.detect.suppression import softened, suppress
from models.forms.detect.trunk import NORMS, Trunk, refuse_odd_trunk
from models.ranges import Count, Positive, Range
from models.runtime.parameters import not_negative, number, one_of, whole_number

MOST_FOUND = 500  # on a form, by a detector with anchors


class Detector(nn.Module, ABC):
    """Finds boxes on forms.

    settings: the `Settings` that it was made with. Images are ink, float32 (form, 1, height, width) in [0, 1], 1 = ink,
    all of one size.
    """

    settings: Any

    @abstractmethod
    def losses(self, images: Tensor, truths: Sequence[Truth]) -> dict[str, Tensor]:
        """Returns named losses, each the mean over the forms; what is minimised is their sum. Nothing is drawn.

        Raises ValueError for true boxes that cannot be, see `models.forms.detect.boxes.refuse_bad`.
        """

    @abstractmethod
    def detect(self, images: Tensor, least_score: float = 0.05) -> list[Detections]:
        """Returns what is found on each form with at least that score, best first."""

    def detect_on(self, ink: Tensor, least_score: float) -> Detections:
        """Returns what is found on one form, ink (height, width), on the CPU; it is looked at where the detector is."""
        device = next((value.device for value in self.parameters()), torch.device("cpu"))
        (found,) = self.detect(ink[None, None].to(device), least_score)
        return found.to("cpu")


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """Says what a detector is made of. trained: whether its losses are minimised. kinds: the classes that it finds."""

    trained: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = CLASSES[1:]

    def prepared(self, images: Sequence[Tensor], truths: Sequence[Truth]) -> Self:  # noqa: ARG002
        """Returns the settings with what is taken from training forms, (1, height, width) each, before any gradient:
        shapes of anchors, or thresholds; of which nothing is set here."""
        return self

    @abstractmethod
    def network(self, *, seed: int = 0) -> Detector:
        """Returns the detector, with first weights drawn by that seed. Raises ValueError for what is not set yet."""


@dataclass(frozen=True, kw_only=True)
class TrunkSettings(Settings):
    """Are settings of a detector with a trunk.

    stride: pixels of a cell of the map, a power of 2 from 2 to 16. width: channels of the map, a multiple of 16. depth:
    residual units. norm: "group", or "batch" for one process alone. Raises TypeError and ValueError for others.
    """

    stride: int = 8
    width: Count = 48
    depth: Annotated[int, Range(at_least=1, at_most=8)] = 4
    norm: str = "group"

    def __post_init__(self) -> None:
        refuse_odd_trunk(self.stride, self.width, self.depth)
        one_of("norm", self.norm, NORMS)

    def trunk(self) -> Trunk:
        """Returns the trunk, whose first weights are drawn from torch's own generator."""
        return Trunk(stride=self.stride, width=self.width, depth=self.depth, norm=self.norm)


@dataclass(frozen=True, kw_only=True)
class AnchoredSettings(TrunkSettings):
    """Are settings of a detector with anchors.

    anchors: widths and heights in pixels; None to take `shapes` of them from the training forms, see
    `models.forms.detect.anchors.anchor_shapes`. decay: the smaller, the more scores of detections fall that overlap a
    better one of their class, see `models.forms.detect.suppression.softened`; None to drop those that overlap it by
    more than `most_overlap` (IoU, in [0, 1]) instead. Raises TypeError and ValueError for others.
    """

    anchors: Shapes | None = None
    shapes: Count = 5
    decay: Positive | None = 0.5
    most_overlap: Annotated[float, Range(at_least=0, at_most=1)] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("shapes", self.shapes)
        not_negative("most_overlap", self.most_overlap, most=1)
        if self.decay is not None:
            number("decay", self.decay)
        if self.anchors is not None:
            object.__setattr__(self, "anchors", checked_shapes(self.anchors))

    def prepared(self, images: Sequence[Tensor], truths: Sequence[Truth]) -> Self:  # noqa: ARG002
        return self if self.anchors is not None else replace(self, anchors=shapes_of(truths, self.shapes))

    def suppressed(self, found: Detections, least_score: float) -> Detections:
        """Returns what is left of the detections of a form, best first, `MOST_FOUND` at most."""
        if self.decay is None:
            return found.at(suppress(found, most_overlap=self.most_overlap, most=MOST_FOUND))
        return softened(found, decay=self.decay, least_score=least_score, most=MOST_FOUND)
