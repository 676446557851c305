"""What a person calls: the image of a form in, its boxes with their words in reading order out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from models.forms.detect.boxes import CLASSES, WORD, Detections
from models.forms.detect.detector import Detector
from models.forms.reading_order import reading_order
from models.runtime.threads import threads_for

MOST_PIXELS = 25_000_000
NO_ORDER = -1


class WordReader(Protocol):
    """Reads words."""

    def read_words(self, images: Sequence[Tensor]) -> Sequence[tuple[str, float]]:
        """Returns the text and its probability of each image, ink (height, width) of any size."""
        ...


class Found(NamedTuple):
    """Holds a box of a form.

    order: its place among the words in reading order, from 0, and -1 for what is no word. box: x0, y0, x1, y1 in
    pixels. kind: of `CLASSES`. score: of the detector. text: what a word says, "" of what is not read. probability: of
    the text, None of what is not read.
    """

    order: int
    box: tuple[float, float, float, float]
    kind: str
    score: float
    text: str = ""
    probability: float | None = None


class FormReader:
    """Reads forms in two phases: a detector finds boxes, a recogniser reads those that are words.

    recogniser: None to find boxes alone.
    """

    def __init__(self, detector: Detector, recogniser: WordReader | None = None) -> None:
        self.detector, self.recogniser = detector.eval(), recogniser

    def read(self, image: Any, least_score: float = 0.05) -> list[Found]:
        """Returns the boxes of a form with at least that score: words in reading order, then the others, best first.

        image: uint8 (height, width), 0 = black ink, 255 = paper. A form without a box has no row. Raises TypeError and
        ValueError, in one line, for what is no such image.
        """
        ink = ink_of(image)
        with torch.inference_mode(), threads_for(self.detector):
            (found,) = self.detector.detect(ink[None, None], least_score)
        found = found.to("cpu")
        words, others = found.at(found.classes == WORD), found.at(found.classes != WORD)
        words = words.at(torch.from_numpy(reading_order(words.boxes.numpy())))
        return [*self._words(ink, words), *(row(others, place) for place in range(len(others.boxes)))]

    def _words(self, ink: Tensor, words: Detections) -> list[Found]:
        rows = [row(words, place)._replace(order=place) for place in range(len(words.boxes))]
        if self.recogniser is None or not rows:
            return rows
        read = self.recogniser.read_words([crop(ink, found.box) for found in rows])
        return [found._replace(text=text, probability=float(probability))
                for found, (text, probability) in zip(rows, read, strict=True)]  # fmt: skip


def text_of(rows: Sequence[Found]) -> str:
    """Returns the words of a form joined by blanks, in the order of its rows."""
    return " ".join(found.text for found in rows if found.order != NO_ORDER)


def row(found: Detections, place: int) -> Found:
    """Returns a detection as a row without an order."""
    x0, y0, x1, y1 = found.boxes[place].tolist()
    return Found(NO_ORDER, (x0, y0, x1, y1), CLASSES[int(found.classes[place])], float(found.scores[place]))


def crop(ink: Tensor, box: Sequence[float]) -> Tensor:
    """Returns the pixels that a box touches, (height, width), at least one."""
    x0, y0 = (int(np.floor(edge)) for edge in box[:2])
    x1, y1 = (int(np.ceil(edge)) for edge in box[2:])
    x0, y0 = min(x0, ink.shape[1] - 1), min(y0, ink.shape[0] - 1)
    return ink[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]


def ink_of(image: Any) -> Tensor:
    """Returns the ink of a grey image, float32 (height, width) in [0, 1], 1 = ink.

    Raises TypeError for what is not of type uint8, and ValueError for another shape, for no pixel and for more than
    `MOST_PIXELS`.
    """
    grey = np.asarray(image)
    if grey.dtype != np.uint8:
        raise TypeError(f"an image must be of type uint8, 0 = black and 255 = paper, got {grey.dtype}")
    if grey.ndim != 2 or not grey.size:
        raise ValueError(f"an image must have shape (height, width), with a pixel at least, got {grey.shape}")
    if grey.size > MOST_PIXELS:
        raise ValueError(f"an image of {grey.size} pixels is too large; {MOST_PIXELS} are the most, so scale it down")
    return 1 - torch.from_numpy(np.ascontiguousarray(grey)).float() / 255
