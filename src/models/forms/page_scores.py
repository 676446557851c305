"""How well whole forms are read: which true word each box means, and the faults of a form's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from models.forms.detect.average_precision import matches
from models.forms.detect.boxes import WORD, Detections, Truth
from models.forms.reader import NO_ORDER, ReadBox, text_of
from models.forms.reading_order import pairs_in_order
from models.forms.recognise.error_rates import distance

LEAST_OVERLAP = 0.5


class TrueWord(NamedTuple):
    """Holds a true word of a form: its box, x0, y0, x1, y1 in pixels, and its text."""

    box: tuple[float, float, float, float]
    text: str


class PageScore(NamedTuple):
    """Counts how a form was read.

    characters, faults: of the true text, and D of what was read from it (see `models.forms.recognise.error_rates`).
    words, word_faults: the same by words between blanks. boxes, right: true boxes, and those found and read without a
    fault. pairs, out_of_order: neighbours in the true order, and those of them that do not follow each other as read.
    """

    characters: int
    faults: int
    words: int
    word_faults: int
    boxes: int
    right: int
    pairs: int
    out_of_order: int


def text_score(true: Sequence[TrueWord], read: Sequence[ReadBox]) -> PageScore:
    """Returns the counts of a form by its text alone, with no boxes and no pairs. true and read: as of `page_score`."""
    asked, said = " ".join(own.text for own in true), text_of(read)
    faults, word_faults = distance(said, asked), distance(said.split(), asked.split())
    return PageScore(len(asked), faults, len(asked.split()), word_faults, 0, 0, 0, 0)


def page_score(true: Sequence[TrueWord], read: Sequence[ReadBox]) -> PageScore:
    """Returns the counts of a form. true: its words in reading order. read: what a reader returned."""
    words = [own for own in read if own.order != NO_ORDER]
    means = meant(true, words)
    right = sum(place is not None and true[place].text == own.text for place, own in zip(means, words, strict=True))
    pairs = max(len(true) - 1, 0)
    names = [("no word", number) if place is None else place for number, place in enumerate(means)]
    out_of_order = pairs - round(pairs * pairs_in_order(range(len(true)), names))
    return text_score(true, read)._replace(boxes=len(true), right=right, pairs=pairs, out_of_order=out_of_order)


def meant(true: Sequence[TrueWord], words: Sequence[ReadBox]) -> list[int | None]:
    """Returns the number of the true word that each box means: the one that it overlaps most, if by `LEAST_OVERLAP` or
    more; None for that, and for a box that means what one of a higher score means, the first of equal ones."""
    found = Detections(boxes_of(words), torch.full((len(words),), WORD), torch.tensor([own.score for own in words]))
    places = matches(found, Truth(boxes_of(true), torch.full((len(true),), WORD)), LEAST_OVERLAP).tolist()
    best = dict[int, int]()
    for number in sorted(range(len(words)), key=lambda number: -words[number].score):
        best.setdefault(places[number], number)
    return [place if place >= 0 and best[place] == number else None for number, place in enumerate(places)]


def boxes_of(words: Sequence[ReadBox] | Sequence[TrueWord]) -> torch.Tensor:
    """Returns boxes, float32 (word, 4)."""
    return torch.tensor([own.box for own in words], dtype=torch.float32).reshape(-1, 4)
