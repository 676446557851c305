"""Region proposals: where on a form there may be a box, of whatever class (Ren et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import smooth_l1_loss, softplus

from models.forms.detect.anchors import Shapes, anchors_on
from models.forms.detect.boxes import Detections, Truth, clipped, decode, encode, overlaps
from models.forms.detect.suppression import suppress
from models.forms.detect.trunk import head, unit

POSITIVE, NEGATIVE = 0.55, 0.3  # overlap of an anchor with a true box
SAMPLED = 256  # anchors of a form that count, at most half of them positive
BETA = 1 / 9  # where the smooth L1 loss turns from a parabola to a line
MOST_OVERLAP = 0.7  # of two proposals
LEAST_SIDE = 2.0  # of a proposal, in pixels


class Raw(NamedTuple):
    """Holds what is said at each anchor: objectness, logits (form, anchor), offsets (form, anchor, 4), and the anchors
    (anchor, 4), in pixels."""

    objectness: Tensor
    offsets: Tensor
    anchors: Tensor


class Proposals(nn.Module):
    """Says at each cell of a map, for each shape of anchor, whether a box is there, and how far off the anchor is."""

    shapes: Tensor

    def __init__(self, anchors: Shapes, *, stride: int, width: int, norm: str) -> None:
        super().__init__()
        self.stride = stride
        self.register_buffer("shapes", torch.tensor(anchors))
        self.look = unit(width, width, norm=norm)
        self.say = head(width, 5 * len(self.shapes))

    def forward(self, maps: Tensor) -> Raw:
        said = self.say(self.look(maps))
        rows, columns = said.shape[2:]
        said = said.unflatten(1, (-1, 5)).permute(0, 3, 4, 1, 2).flatten(1, 3)
        return Raw(said[..., 0], said[..., 1:], anchors_on(self.shapes, rows, columns, self.stride))

    def loss(self, raw: Raw, truths: Sequence[Truth]) -> Tensor:
        """Returns the mean over the forms of cross-entropy and smooth L1, a scalar."""
        forms = zip(raw.objectness, raw.offsets, truths, strict=True)
        return torch.stack(
            [form_loss(said, offsets, raw.anchors, truth.boxes) for said, offsets, truth in forms]
        ).mean()

    @torch.no_grad()
    def propose(self, raw: Raw, height: int, width: int, most: int, *, candidates: int) -> list[Tensor]:
        """Returns boxes of each form of that size, (box, 4), at most `most`, best first, of those of the `candidates`
        anchors of highest score."""
        return [self._proposed(said, offsets, raw.anchors, (height, width, most, candidates))
                for said, offsets in zip(raw.objectness, raw.offsets, strict=True)]  # fmt: skip

    def _proposed(self, said: Tensor, offsets: Tensor, anchors: Tensor, limits: tuple[int, int, int, int]) -> Tensor:
        height, width, most, candidates = limits
        scores, places = (part[:candidates] for part in said.sort(descending=True, stable=True))
        boxes = clipped(decode(offsets[places], anchors[places]), height, width)
        large = (boxes[:, 2:] - boxes[:, :2]).amin(1) >= LEAST_SIDE
        found = Detections(boxes, torch.ones_like(places), scores).at(large)
        return found.boxes[suppress(found, most_overlap=MOST_OVERLAP, most=most)]


def labels(anchors: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns which anchors are positive and which are negative, bool (anchor,), and which box each means, (anchor,).

    Positive: they overlap a true box by `POSITIVE`, or it more than any other anchor does; of several boxes of which an
    anchor is the best it means the last. Negative: less than `NEGATIVE`. The others do not count.
    """
    if not len(boxes):
        none = torch.zeros(len(anchors), dtype=torch.bool, device=anchors.device)
        return none, ~none, none.long()
    pairs = overlaps(anchors, boxes)
    shares, meant = pairs.max(1)
    best = pairs.amax(0)
    firsts = (pairs == best).int().argmax(0)
    positive, own = shares >= POSITIVE, best > 0
    positive[firsts[own]] = True
    meant.scatter_reduce_(0, firsts[own], own.nonzero()[:, 0], "amax", include_self=False)  # on every device alike
    return positive, ~positive & (shares < NEGATIVE), meant


def form_loss(said: Tensor, offsets: Tensor, anchors: Tensor, boxes: Tensor) -> Tensor:
    """Returns the loss of a form, a scalar: what `SAMPLED` anchors that are drawn would cost on average.

    Of P positive anchors p = min(P, SAMPLED / 2) would count and of N negative ones n = min(N, SAMPLED - p), so the
    cross-entropy is (p mean₊ + n mean₋) / (p + n). Nothing is drawn. Offsets cost the mean over positive anchors.
    """
    positive, negative, meant = labels(anchors, boxes)
    counts = int(positive.sum()), int(negative.sum())
    drawn = min(counts[0], SAMPLED // 2)
    others = min(counts[1], SAMPLED - drawn)
    shares = [number / max(1, count) / max(1, drawn + others)
              for number, count in zip((drawn, others), counts, strict=True)]  # fmt: skip
    entropy = softplus(-said[positive]).sum() * shares[0] + softplus(said[negative]).sum() * shares[1]
    targets = encode(boxes[meant[positive]], anchors[positive]) if counts[0] else offsets[positive]
    distance = smooth_l1_loss(offsets[positive], targets.detach(), beta=BETA, reduction="sum")
    return entropy + distance / max(1, counts[0])
