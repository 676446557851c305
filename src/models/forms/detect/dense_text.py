"""What detectors of words share that say something at each cell: a U-shaped trunk, which cells a word has, and losses
that few of them count in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor
from torch.nn.functional import softplus

from models.forms.detect.boxes import WORD, WORDS_ALONE, Detections, Truth, clipped, refuse_bad
from models.forms.detect.detector import Detector, TrunkSettings
from models.forms.detect.trunk import UTrunk, head
from models.ranges import Range, Share
from models.runtime.parameters import number

HARD = 3  # negative cells that count, the hardest, for each positive one
HARD_ALONE = 64  # of a form without a word


@dataclass(frozen=True, kw_only=True)
class DenseTextSettings(TrunkSettings):
    """Are settings of a detector of words that says something at each cell of a map; other classes are background.

    depth: halvings of the trunk below the map. cell_score: least score of a cell that becomes part of a word; it bounds
    the scores of words from below.
    """

    kinds: ClassVar[tuple[str, ...]] = WORDS_ALONE
    stride: int = 4
    depth: Annotated[int, Range(at_least=1, at_most=8)] = 2
    cell_score: Share = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        number("cell_score", self.cell_score, below=1.0)

    def u_trunk(self) -> UTrunk:
        """Returns the trunk, whose first weights are drawn from torch's own generator."""
        return UTrunk(stride=self.stride, width=self.width, depth=self.depth, norm=self.norm)


class Map(NamedTuple):
    """Says how a map lies on a form: rows and columns of cells, each `stride` pixels wide and high."""

    rows: int
    columns: int
    stride: int

    def centres(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Returns y of the centres of rows, (row,), and x of those of columns, (column,), in pixels."""
        return tuple((torch.arange(count, device=device) + 0.5) * self.stride for count in (self.rows, self.columns))  # pyright: ignore[reportReturnType]

    def inside(self, boxes: Tensor) -> Tensor:
        """Returns whether the centre of a cell lies in a box, bool (box, row, column)."""
        y, x = self.centres(boxes.device)
        high = (y >= boxes[:, 1:2]) & (y < boxes[:, 3:4])
        wide = (x >= boxes[:, 0:1]) & (x < boxes[:, 2:3])
        return high[:, :, None] & wide[:, None]

    def owners(self, boxes: Tensor) -> Tensor:
        """Returns the box in which the centre of a cell lies, int64 (row, column), the first of several, else -1. A box
        without such a centre has no cell."""
        inside = torch.cat([torch.zeros_like(self.inside(boxes[:1]).any(0))[None], self.inside(boxes)])
        return torch.where(inside.any(0), inside.int().argmax(0) - 1, -1)


class DenseText(Detector):
    """Says some numbers at each cell; a subclass says what they mean."""

    outputs: int

    def __init__(self, settings: DenseTextSettings) -> None:
        super().__init__()
        self.settings = settings
        self.trunk = settings.u_trunk()
        self.say = head(settings.width, self.outputs)

    def forward(self, images: Tensor) -> tuple[Tensor, Map]:
        """Returns what is said, (form, output, row, column), and how the map lies on the forms."""
        said = self.say(self.trunk(images))
        return said, Map(said.shape[2], said.shape[3], self.settings.stride)

    def losses(self, images: Tensor, truths: Sequence[Truth]) -> dict[str, Tensor]:
        refuse_bad(truths, *images.shape[2:])
        said, lying = self(images)
        parts = [self.form_losses(own, words_of(truth), lying) for own, truth in zip(said, truths, strict=True)]
        return {name: torch.stack([own[name] for own in parts]).mean() for name in parts[0]}

    @abstractmethod
    def form_losses(self, said: Tensor, words: Truth, lying: Map) -> dict[str, Tensor]:
        """Returns the named losses of a form, of what is said, (output, row, column), and its words."""

    @torch.no_grad()
    def detect(self, images: Tensor, least_score: float = 0.05) -> list[Detections]:
        said, lying = self(images)
        return [in_order(self.found(own, lying), images.shape[2:], least_score) for own in said]

    @abstractmethod
    def found(self, said: Tensor, lying: Map) -> Detections:
        """Returns the words of a form, in any order."""


def words_of(truth: Truth) -> Truth:
    """Returns the words among the true boxes."""
    words = truth.classes == WORD
    characters = truth.characters
    if characters is not None:
        characters = tuple(characters[place] for place in words.nonzero()[:, 0].tolist())
    return Truth(truth.boxes[words], truth.classes[words], characters)


def in_order(found: Detections, size: Sequence[int], least_score: float) -> Detections:
    """Returns what has at least that score, best first, and lies on a form of that height and width."""
    found = found._replace(boxes=clipped(found.boxes, size[0], size[1]))
    order = found.scores.sort(descending=True, stable=True).indices
    return found.at(order[: int((found.scores >= least_score).sum())])


def hard_mean(positive: Tensor, negative: Tensor, weights: Tensor) -> Tensor:
    """Returns the mean of positive losses, with their weights, and of the `HARD` times as many negative ones that are
    largest, equal ones in their order. All are (cell,), of different cells."""
    total = float(weights.sum())
    most = int(HARD * total) if total else HARD_ALONE
    hardest = negative[negative.detach().sort(descending=True, stable=True).indices[:most]]
    return ((positive * weights).sum() + hardest.sum()) / max(1.0, total + len(hardest))


def hard_entropy(said: Tensor, weights: Tensor, negative: Tensor) -> Tensor:
    """Returns cross-entropy of logits (row, column), see `hard_mean`. weights: of positive cells, else 0. negative:
    bool; cells that are neither do not count."""
    positive = weights > 0
    return hard_mean(softplus(-said[positive]), softplus(said[negative]), weights[positive])


def boxes_of(labels: np.ndarray, stride: int) -> Tensor:
    """Returns the box of the cells of each number from 1, float32 (number, 4), in pixels; all numbers are there."""
    places = [place for place in ndimage.find_objects(labels) if place is not None]
    edges = [(x.start, y.start, x.stop, y.stop) for y, x in places]
    return torch.tensor(edges, dtype=torch.float32).reshape(-1, 4) * stride


def means_of(values: np.ndarray, labels: np.ndarray) -> Tensor:
    """Returns the mean of values over the cells of each number from 1, float32 (number,)."""
    count = np.bincount(labels.ravel())[1:]
    sums = np.bincount(labels.ravel(), values.ravel().astype(np.float64))[1:]
    return torch.from_numpy((sums / np.maximum(count, 1)).astype(np.float32))


def words_at(boxes: Tensor, scores: Tensor) -> Detections:
    """Returns words with those boxes and scores."""
    return Detections(boxes, torch.full((len(boxes),), WORD, device=boxes.device), scores)
