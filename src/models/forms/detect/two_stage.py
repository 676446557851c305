"""What detectors of two stages share: proposals, then a class and better edges for each of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, smooth_l1_loss

from models.forms.detect.anchors import known_shapes
from models.forms.detect.boxes import (
    CLASSES,
    Detections,
    Truth,
    clipped,
    decode,
    encode,
    overlaps,
    refuse_bad,
)
from models.forms.detect.detector import MOST_FOUND, AnchoredSettings, Detector
from models.forms.detect.proposals import Proposals, Raw
from models.ranges import Count
from models.runtime.parameters import whole_number

RIGHT = 0.5  # least overlap of a proposal with the box whose class it has
UNITS = (0.1, 0.1, 0.2, 0.2)  # of offsets: about as far as proposals are off, so that edges weigh as much as classes


class TooManyBoxes(ValueError):
    """Says that a training form has more boxes than half of the proposals, as several proposals lie on one box and the
    others are never found. form: its place among the training forms, from 0 on."""

    def __init__(self, settings: TwoStageSettings, form: int, boxes: int) -> None:
        self.settings, self.form, self.boxes = settings, form, boxes
        super().__init__(self.said(f"form {form + 1} of the training forms"))

    def said(self, form: str) -> str:
        """Returns the message, with what the form is called. More than `MOST_FOUND` boxes need smaller forms."""
        own, needed = self.settings, 2 * self.boxes
        both = "raise it and candidates" if needed > own.candidates else "raise it"
        advice = f"{both} to {needed} or more"
        if self.boxes > MOST_FOUND:
            advice = f"cut it into pieces, as at most {MOST_FOUND} boxes are found on a form"
        return (
            f"proposals={own.proposals} must be at least twice the boxes of a form, and {form} has {self.boxes}; "
            f"{advice}"
        )


@dataclass(frozen=True, kw_only=True)
class TwoStageSettings(AnchoredSettings):
    """Are settings of a detector of two stages.

    proposals: that are kept, at least twice as many as a form has boxes, of those of the `candidates` anchors of
    highest score: where only few anchors are looked at, all may lie on the same boxes. hard_examples: proposals of a
    form, those of largest loss, that count while training.
    """

    proposals: Count = 150
    candidates: Count = 2400
    hard_examples: Count = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("proposals", "candidates", "hard_examples"):
            whole_number(name, getattr(self, name))
        if self.candidates < self.proposals:
            raise ValueError(f"candidates must be at least proposals={self.proposals}, got {self.candidates}")

    def prepared(self, images: Sequence[Tensor], truths: Sequence[Truth]) -> Self:
        """Returns the settings with anchors of the training forms. Raises TooManyBoxes, a ValueError, for a form with
        more boxes than half of the proposals."""
        most = max((len(truth.boxes) for truth in truths), default=0)
        if 2 * most > self.proposals:
            form = next(place for place, truth in enumerate(truths) if len(truth.boxes) == most)
            raise TooManyBoxes(self, form, most)
        return super().prepared(images, truths)


class TwoStage(Detector):
    """Proposes boxes, then gives each a class and edges."""

    def __init__(self, settings: TwoStageSettings) -> None:
        super().__init__()
        self.settings = settings
        self.trunk = settings.trunk()
        shapes = known_shapes(settings.anchors)
        self.proposals = Proposals(shapes, stride=settings.stride, width=settings.width, norm=settings.norm)

    @abstractmethod
    def judge(self, maps: Tensor, boxes: Sequence[Tensor]) -> Tensor:
        """Returns logits of classes and offsets, (box, classes + 4), of the boxes of all forms, one form after the
        other; boxes (box, 4), in pixels."""

    def losses(self, images: Tensor, truths: Sequence[Truth]) -> dict[str, Tensor]:
        height, width = images.shape[2:]
        refuse_bad(truths, height, width)
        maps = self.trunk(images)
        raw = self.proposals(maps)
        proposed = self.proposed(raw, height, width)
        # true boxes teach too, while there are no good proposals
        regions = [torch.cat([own, truth.boxes]) for own, truth in zip(proposed, truths, strict=True)]
        judged = self.judge(maps, regions).split([len(own) for own in regions])
        parts = [
            region_losses(*form, self.settings.hard_examples) for form in zip(judged, regions, truths, strict=True)
        ]
        of_class, of_box = torch.stack(parts).mean(0)
        return {"proposal_loss": self.proposals.loss(raw, truths), "class_loss": of_class, "box_loss": of_box}

    @torch.no_grad()
    def detect(self, images: Tensor, least_score: float = 0.05) -> list[Detections]:
        height, width = images.shape[2:]
        maps = self.trunk(images)
        regions = self.proposed(self.proposals(maps), height, width)
        judged = self.judge(maps, regions).split([len(own) for own in regions])
        return [
            self.settings.suppressed(found_in(said, own, (height, width), least_score), least_score)
            for said, own in zip(judged, regions, strict=True)
        ]

    def proposed(self, raw: Raw, height: int, width: int) -> list[Tensor]:
        """Returns the proposals of each form of that size, (box, 4), best first."""
        own = self.settings
        return self.proposals.propose(raw, height, width, own.proposals, candidates=own.candidates)


def region_losses(said: Tensor, regions: Tensor, truth: Truth, hard: int) -> Tensor:
    """Returns the losses of classes and of edges of a form, (2,): sums over the `hard` proposals of largest loss, equal
    ones in their order, over their number (Shrivastava et al. 2016)."""
    kinds, targets = region_targets(regions, truth)
    of_class = cross_entropy(said[:, :-4], kinds, reduction="none")
    of_box = smooth_l1_loss(said[:, -4:], targets, reduction="none").sum(1) * (kinds > 0)
    both = torch.stack([of_class, of_box], 1)
    hardest = both.detach().sum(1).sort(descending=True, stable=True).indices[:hard]
    return both[hardest].sum(0) / max(1, len(hardest))


def region_targets(regions: Tensor, truth: Truth) -> tuple[Tensor, Tensor]:
    """Returns the class of each proposal, 0 where it overlaps no true box by `RIGHT`, and the offsets from it of the
    box that it overlaps most, in `UNITS`."""
    if not len(truth.boxes):
        return torch.zeros(len(regions), dtype=torch.int64, device=regions.device), torch.zeros_like(regions)
    shares, meant = overlaps(regions, truth.boxes).max(1)
    return torch.where(shares >= RIGHT, truth.classes[meant], 0), encode(
        truth.boxes[meant], regions
    ) / regions.new_tensor(UNITS)


def found_in(said: Tensor, regions: Tensor, size: tuple[int, int], least_score: float) -> Detections:
    """Returns what is found on a form of that height and width, before suppression."""
    scores = said[:, : len(CLASSES)].softmax(1)[:, 1:]
    region, kind = (scores >= least_score).nonzero().unbind(1)
    boxes = clipped(decode(said[:, -4:] * said.new_tensor(UNITS), regions), *size)
    return Detections(boxes[region], kind + 1, scores[region, kind])
