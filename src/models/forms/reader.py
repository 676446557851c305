"""What a person calls: the image of a form in, its boxes with their words in reading order out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from models.forms.detect.boxes import CLASSES, WORD, Detections
from models.forms.detect.detector import Detector
from models.forms.images import as_ink
from models.forms.placing import AS_FOUND, Placing
from models.forms.reading_order import reading_order
from models.forms.recognise.correction import Correction
from models.forms.recognise.recogniser import CutReading
from models.forms.scale import Scale, warn_of_scale
from models.runtime.threads import threads_for

MOST_PIXELS = 25_000_000
NO_ORDER = -1
LEAST_SCORE = 0.05
NAME, WHOLE = CLASSES[WORD], "form"
THE_FORM = "the form"  # where it has no name


class CutWarning(UserWarning):
    """Says that the text of a form was cut where it came to no end."""


class WordReader(Protocol):
    """Reads words."""

    def read_words(self, images: Sequence[Tensor]) -> Sequence[tuple[str, float]]:
        """Returns the text and its probability of each image, ink (height, width) of any size."""
        ...


class ReadBox(NamedTuple):
    """Holds a box of a form.

    order: its place among the words in reading order, from 0, and -1 for what is no word. box: x0, y0, x1, y1 in
    pixels. kind: of `CLASSES`, or `WHOLE` for a whole form. score: of the detector. text: what a word says, as it was
    corrected where that was asked for, "" of what is not read. probability: p(read | image), None of what is not read:
    by CTC of all paths that say the text, by a decoder the product over its symbols and its end, of a text that was
    cut that over its symbols alone, by a word model its share among the words. A language model has no part in it.
    read: the text as the recogniser has it, before it is corrected.
    """

    order: int
    box: tuple[float, float, float, float]
    kind: str
    score: float
    text: str = ""
    probability: float | None = None
    read: str = ""


class FormReader:
    """Reads forms in two phases: a detector finds boxes, a recogniser reads those that are words.

    Both see the same pixels, so both should have learned from forms of one scale. This is not checked: a recogniser
    keeps no scale, and `scale` warns of forms alone.

    recogniser: None to find boxes alone. correction: of what is read, where `read` is asked for it. least_score: that
    boxes have, where `read` is not told another one. placing: of found words before they are read. scale: of the
    forms that the detector has learned from; None where that is not known. Raises ValueError for a score outside
    [0, 1].
    """

    finds = True  # boxes

    def __init__(
        self, detector: Detector, recogniser: WordReader | None = None, *, correction: Correction | None = None,
        least_score: float = LEAST_SCORE, placing: Placing = AS_FOUND, scale: Scale | None = None,
    ) -> None:  # fmt: skip
        refuse_score(least_score)
        self.detector, self.recogniser = detector.eval(), recogniser
        self.correction, self.least_score, self.placing, self.scale = correction, least_score, placing, scale

    def read(
        self, image: Any, least_score: float | None = None, *, vocabulary: bool = False, where: str = THE_FORM
    ) -> list[ReadBox]:
        """Returns the boxes of a form with at least that score: words in reading order, then the others, best first.

        image: uint8 (height, width), 0 = black ink, 255 = paper. vocabulary: texts are corrected by the words that the
        reader knows; probabilities stay those of what was read. where: what the form is called in warnings. A form
        without a box has no row. Warns, with `ScaleWarning`, of a form that is far larger or smaller than training
        forms and whose ink is too (`Scale.advice`). Raises TypeError and ValueError, in one line, for what is
        no such image, for a score outside [0, 1], and for a vocabulary where there is none.
        """
        if vocabulary and self.correction is None:
            raise ValueError("this reader knows no vocabulary; leave vocabulary out")
        least = self.least_score if least_score is None else least_score
        refuse_score(least)
        ink = ink_of(image)
        warn_of_scale(None if self.scale is None else self.scale.advice(ink), where)
        with torch.inference_mode(), threads_for(self.detector):
            found = self.detector.detect_on(ink, least)
        rows = self.read_found(ink, found)
        return corrected(rows, self.correction) if vocabulary and self.correction is not None else rows

    def read_found(self, ink: Tensor, found: Detections) -> list[ReadBox]:
        """Returns the rows of boxes that a detector found on a form's ink (height, width), words where `placing` has
        them, in the order of `read`."""
        return self.read_boxes(ink, self.placing.placed(ink, found))

    def read_boxes(self, ink: Tensor, found: Detections) -> list[ReadBox]:
        """Returns the rows of boxes that are known, of a form's ink (height, width), in the order of `read`."""
        rows = in_order([row(found, place) for place in range(len(found.boxes))])
        words = [own for own in rows if own.order != NO_ORDER]
        if self.recogniser is None or not words:
            return rows
        read = self.recogniser.read_words([crop(ink, own.box) for own in words])
        return [*(own._replace(text=text, probability=float(probability), read=text)
                  for own, (text, probability) in zip(words, read, strict=True)), *rows[len(words) :]]  # fmt: skip


class WholeReader:
    """Reads forms in one phase: the text of a whole form at once, without boxes.

    recogniser: reads a whole form as if it were a word, such as `models.forms.recognise.page_reader` makes.
    """

    finds = False  # boxes
    correction, least_score = None, 0.0

    def __init__(self, recogniser: WordReader) -> None:
        self.recogniser = recogniser

    def read(
        self, image: Any, least_score: float | None = None, *, vocabulary: bool = False, where: str = THE_FORM  # noqa: ARG002
    ) -> list[ReadBox]:  # fmt: skip
        """Returns one row, of class `WHOLE` and of score 1, whose box is the form and whose text is all that was read;
        none where nothing was. least_score is of no account. where: what the form is called in warnings.

        image: as of `FormReader.read`. Warns, with `CutWarning`, of a text that came to no end. Raises TypeError and
        ValueError as it does, and ValueError for a vocabulary.
        """
        if vocabulary:
            raise ValueError("this reader knows no vocabulary; leave vocabulary out")
        rows, cut = self.read_ink(ink_of(image))
        if cut:
            warnings.warn(
                f"{where}: {len(rows[0].text)} characters were read without an end, and no more are written; the rest "
                "may be missing: cut the form, or train with a larger number of characters",
                CutWarning,
                stacklevel=2,
            )
        return rows

    def read_ink(self, ink: Tensor) -> tuple[list[ReadBox], bool]:
        """Returns the rows of a form's ink (height, width), as `read` does, and whether the text came to no end."""
        (read,) = self.recogniser.read_words([ink])
        text, probability = read
        height, width = map(float, ink.shape)
        box = (0.0, 0.0, width, height)
        rows = [ReadBox(0, box, WHOLE, 1.0, text, float(probability), text)] if text else []
        return rows, isinstance(read, CutReading)


def refuse_score(least_score: float) -> None:
    """Raises ValueError for a least score that no box can have, or that leaves none out that should be."""
    if not 0 <= least_score <= 1:
        raise ValueError(f"least_score={least_score} must be from 0 to 1")


def in_order(rows: Sequence[ReadBox]) -> list[ReadBox]:
    """Returns boxes with words first, in reading order and numbered by it, and the others as they stand."""
    words, others = [own for own in rows if own.kind == NAME], [own for own in rows if own.kind != NAME]
    places = reading_order([own.box for own in words]).tolist()
    return [*(words[place]._replace(order=order) for order, place in enumerate(places)), *others]


def corrected(rows: Sequence[ReadBox], correction: Correction) -> list[ReadBox]:
    """Returns boxes with the texts of words as a correction has them; what was read and its probability stay."""
    texts = correction.corrected([own.text for own in rows])
    return [own._replace(text=text) if own.order != NO_ORDER else own for own, text in zip(rows, texts, strict=True)]


def text_of(rows: Sequence[ReadBox]) -> str:
    """Returns the words of a form joined by blanks, in the order of its rows: the text whose faults `page_score`
    counts, where a word that is read as nothing leaves two blanks."""
    return " ".join(found.text for found in rows if found.order != NO_ORDER)


def row(found: Detections, place: int) -> ReadBox:
    """Returns a detection as a row without an order."""
    x0, y0, x1, y1 = found.boxes[place].tolist()
    return ReadBox(NO_ORDER, (x0, y0, x1, y1), CLASSES[int(found.classes[place])], float(found.scores[place]))


def crop(ink: Tensor, box: Sequence[float]) -> Tensor:
    """Returns the pixels of a form's ink (height, width) that a box x0, y0, x1, y1 touches, (rows, columns), at least
    one. What lies outside the form is left out. Raises ValueError for a box that lies wholly outside, and for corners
    that are swapped or no numbers."""
    height, width = ink.shape
    x0, y0, x1, y1 = map(float, box)
    if not (x0 <= x1 and y0 <= y1 and x1 >= 0 and y1 >= 0 and x0 <= width and y0 <= height):
        raise ValueError(f"the box {[x0, y0, x1, y1]} lies outside the form of {width} × {height}, or is none")
    left, top = (min(max(int(np.floor(edge)), 0), most - 1) for edge, most in ((x0, width), (y0, height)))
    right, bottom = (int(np.ceil(min(edge, most))) for edge, most in ((x1, width), (y1, height)))
    return ink[top : max(bottom, top + 1), left : max(right, left + 1)]


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
    return as_ink(grey)
