"""Words as connected ink: threshold, closing and connected components; what a trained detector has to beat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor
from tqdm import tqdm

from models.forms.detect.average_precision import curve
from models.forms.detect.boxes import WORD, WORDS_ALONE, Detections, Truth, centres_and_sides, no_detections
from models.forms.detect.detector import Detector, Settings
from models.forms.ruled_lines import back, ruled
from models.ranges import NotNegative, Share, Steps

THRESHOLDS = (0.3, 0.5)
GAPS, RISES = (0.0, 0.2, 0.4, 0.7, 1.0), (0.0, 0.1, 0.2)  # that are closed, of the median height of a word
RULES = (0.0, 3.0)  # length of strokes that are taken for ruled lines, of that height; 0 for none
LEAST_SIDES = 0.25  # of the lowest and of the narrowest training word: what is smaller is dust


@dataclass(frozen=True, kw_only=True)
class Components(Settings):
    """`detector=components`: how ink becomes words. Nothing is minimised; `prepared` looks for the best settings.

    threshold: ink above it counts. gap, rise: width and height in pixels of white that is closed. rule: horizontal
    strokes of this length in pixels are taken away, 0 for none. least_width, least_height: of a box. log_width,
    log_height: mean and standard deviation of the logarithms of those of training words, by which boxes are scored.
    """

    trained: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = WORDS_ALONE
    threshold: Share = 0.5
    gap: Steps = 8
    rise: Steps = 2
    rule: Steps = 0
    least_width: NotNegative = 4.0
    least_height: NotNegative = 4.0
    log_width: tuple[float, float] = (4.0, 1.0)
    log_height: tuple[float, float] = (3.3, 0.5)

    def prepared(self, images: Sequence[Tensor], truths: Sequence[Truth]) -> Components:
        """Returns the settings of most average precision for words on training forms, (1, height, width) each; of
        equals the first tried. Raises ValueError where no form has a word."""
        words = [truth.boxes[truth.classes == WORD] for truth in truths]
        if not sum(map(len, words)):
            raise ValueError("components are tuned on words, and no training form has any")
        tried = list(tunings(torch.cat(words)))
        alike = groupby(tried, key=lambda own: (own.threshold, own.rule))
        scores = [score for _, own in alike for score in word_precisions(list(own), images, truths)]
        return tried[scores.index(max(scores))]

    def network(self, *, seed: int = 0) -> ConnectedInk:  # noqa: ARG002
        return ConnectedInk(self)


class ConnectedInk(Detector):
    """Finds words as connected ink.

    A box's score says how well it has the size of a training word: exp(-(z_w² + z_h²) / 2), z of the logarithms of
    width and height. There are no parameters.
    """

    def __init__(self, settings: Components) -> None:
        super().__init__()
        self.settings = settings

    def losses(self, images: Tensor, truths: Sequence[Truth]) -> dict[str, Tensor]:  # noqa: ARG002
        raise ValueError("components have no loss; take Components().prepared(training images, their boxes)")

    def detect(self, images: Tensor, least_score: float = 0.05) -> list[Detections]:
        own = self.settings
        inks = (ink_of(image, own.threshold, own.rule) for image in images[:, 0].detach().cpu().numpy())
        return [self.found(ink, least_score).to(images.device) for ink in inks]

    def found(self, ink: np.ndarray, least_score: float) -> Detections:
        """Returns what is found where there is ink, bool (height, width)."""
        boxes = torch.from_numpy(ink_boxes(ink, self.settings))
        if not len(boxes):
            return no_detections(boxes.device)
        scores = self._scores(boxes)
        found = Detections(boxes, torch.full((len(boxes),), WORD), scores)
        return found.at(scores.sort(descending=True, stable=True).indices[: int((scores >= least_score).sum())])

    def _scores(self, boxes: Tensor) -> Tensor:
        own = self.settings
        means, deviations = (torch.tensor(pair) for pair in zip(own.log_width, own.log_height, strict=True))
        z = (centres_and_sides(boxes)[1].log() - means) / deviations
        return (z.square().sum(1) / -2).exp()


def word_precisions(alike: Sequence[Components], images: Sequence[Tensor], truths: Sequence[Truth]) -> list[float]:
    """Returns the average precisions for words on forms, (1, height, width) each, of settings with one threshold and
    one rule, so that ink is told from paper once a form."""
    networks, found = [own.network() for own in alike], list[list[Detections]]()
    for image in tqdm(images, desc="connected ink", unit="form", disable=None, leave=False):
        ink = ink_of(image[0].cpu().numpy(), alike[0].threshold, alike[0].rule)
        found.append([network.found(ink, 0.0) for network in networks])
    curves = [curve(own, truths, WORD) for own in zip(*found, strict=True)]
    return [own.average() if own else 0.0 for own in curves]


def ink_of(image: np.ndarray, threshold: float, rule: int) -> np.ndarray:
    """Returns where there is ink and no ruled line, bool (height, width); rule: as of `Components`."""
    ink = image > threshold
    return ink & ~ruled(ink, rule) if rule else ink


def ink_boxes(ink: np.ndarray, own: Components) -> np.ndarray:
    """Returns the boxes of connected ink, float32 (box, 4), tight to the ink, bool (height, width)."""
    size = (own.rise + 1, own.gap + 1)
    shift: Any = [back(side) for side in size]
    closed = ndimage.minimum_filter(ndimage.maximum_filter(ink, size), size, origin=shift)
    labels: Any = ndimage.label(closed, np.ones((3, 3)))
    tight = [place for place in ndimage.find_objects(np.where(ink, labels[0], 0)) if place is not None]
    boxes = np.array([(x.start, y.start, x.stop, y.stop) for y, x in tight], np.float32).reshape(-1, 4)
    large = (boxes[:, 2] - boxes[:, 0] >= own.least_width) & (boxes[:, 3] - boxes[:, 1] >= own.least_height)
    return boxes[large]


def tunings(words: Tensor) -> Iterator[Components]:
    """Returns settings to be tried, in units of the training words (word, 4)."""
    sides = centres_and_sides(words.double())[1]
    high = float(sides[:, 1].median())
    width, height = zip(*(numbers.tolist() for numbers in spread(sides.log())), strict=True)
    least = (LEAST_SIDES * sides.amin(0)).tolist()
    base = Components(least_width=least[0], least_height=least[1], log_width=width, log_height=height)
    for threshold, rule, gap, rise in product(THRESHOLDS, RULES, GAPS, RISES):
        yield replace(
            base, threshold=threshold, rule=round(rule * high), gap=round(gap * high), rise=round(rise * high)
        )


def spread(values: Tensor) -> tuple[Tensor, Tensor]:
    """Returns mean and standard deviation of each column; a deviation is at least 0.05."""
    return values.mean(0), values.std(0, correction=0).clamp(min=0.05)
