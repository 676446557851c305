"""Where found words are read: the best alone of boxes that share a word, with edges as found or where its ink ends."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.choices import EDGES
from models.forms.detect.boxes import WORD, Detections
from models.forms.detect.suppression import suppress
from models.forms.ink_edges import to_ink
from models.runtime.parameters import not_negative, one_of


@dataclass(frozen=True)
class Placing:
    """Says where found words are read.

    most_shared: of two words, of which a better one takes more than this share of the smaller box, the worse one is not
    read; 1: all are. edges: "found" leaves boxes as they are, "ink" moves the left and the right edge of words to where
    their ink ends (`models.forms.ink_edges.to_ink`). Boxes of other classes stay. Raises TypeError and ValueError for
    others.
    """

    most_shared: float = 1.0
    edges: str = "found"

    def __post_init__(self) -> None:
        not_negative("most_shared", self.most_shared, most=1)
        one_of("edges", self.edges, EDGES)

    def placed(self, ink: Tensor, found: Detections) -> Detections:
        """Returns the boxes that are read of those found on a form's ink (height, width), in their order."""
        kept = apart(found, self.most_shared) if self.most_shared < 1 else found
        return at_their_ink(ink, kept) if self.edges == "ink" else kept


AS_FOUND = Placing()


def apart(found: Detections, most_shared: float) -> Detections:
    """Returns detections without the words of which a better one, the first of equal ones, takes more than a share of
    the smaller box; in their order."""
    words = (found.classes == WORD).nonzero()[:, 0]
    kept = found.classes != WORD
    kept[words[suppress(found.at(words), most_overlap=most_shared, of_smaller=True)]] = True
    return found.at(kept)


def at_their_ink(ink: Tensor, found: Detections) -> Detections:
    """Returns detections with the left and right edges of words where their ink ends."""
    page, boxes = ink.cpu().numpy(), found.boxes.clone()
    for place in (found.classes == WORD).nonzero()[:, 0].tolist():
        boxes[place] = torch.tensor(to_ink(page, found.boxes[place].tolist()))
    return found._replace(boxes=boxes)
