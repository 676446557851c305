"""What may be claimed of detectors, recognisers and readers of forms, of the thesis (section 2.2) and of this project.

A claim is that one arm of a multirun has a lower error than another. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.compare.bootstrap import difference_of, paired_rows
from pipeline.compare.claims import verdict

THESIS, HERE = "thesis", "here"
UNCHANGED = ", none"  # behind an arm whose training images are not changed
INK, WHOLE = "components", "convolve_attend_spell"
WITHIN = 5.0  # points of word error rate that reading in boxes that are found may cost, a goal of this project
WORDS_OF = {
    "helps": "changed training images lower the error",
    "ink": "a trained detector is ahead of connected ink",
    "phases": "finding words and reading them is ahead of reading the form at once",
}


class Claim(NamedTuple):
    """Holds a claim in words, that the arm `challenger` has a lower error than `against`. whose: of the thesis, or of
    this project."""

    words: str
    whose: str
    challenger: str
    against: str


class Swap(NamedTuple):
    """Holds a claim about arms that differ in one model alone: with the first they have a lower error than with the
    second."""

    words: str
    whose: str
    first: str
    second: str


SWAPS = (
    Swap("R-FCN is ahead of Faster R-CNN", THESIS, "r_fcn", "faster_rcnn"),
    Swap("R-FCN is ahead of PixelLink", THESIS, "r_fcn", "pixel_link"),
    Swap("CTC-Seq2Seq is ahead of a word model", THESIS, "ctc_seq2seq", "word"),
    Swap("CTC-Seq2Seq is ahead of MORAN", THESIS, "ctc_seq2seq", "moran"),
    Swap("CTC-Seq2Seq is ahead of a character model", THESIS, "ctc_seq2seq", "character"),
    Swap("CTC-Seq2Seq is ahead of CRNN", HERE, "ctc_seq2seq", "crnn"),
)


def swapped(arm: str, swap: Swap) -> str | None:
    """Returns the name of the same arm with the second model in place of the first; None where it has not the first."""
    name, count = re.subn(rf"(?<![\w]){swap.first}(?![\w])", swap.second, arm)
    return name if count else None


def claims_on(arms: Sequence[str]) -> Iterator[Claim]:
    """Yields every claim of which both arms are there."""
    for arm in arms:
        if f"{arm}{UNCHANGED}" in arms:
            yield Claim(WORDS_OF["helps"], THESIS, arm, f"{arm}{UNCHANGED}")
        for swap in SWAPS:
            other = swapped(arm, swap)
            if other in arms:
                yield Claim(swap.words, swap.whose, arm, str(other))
        if INK in arms and INK not in arm:
            yield Claim(WORDS_OF["ink"], HERE, arm, INK)
        if WHOLE in arms and " + " in arm:
            yield Claim(WORDS_OF["phases"], THESIS, arm, WHOLE)


def claimed(whole: Mapping[str, float], drawn: Mapping[str, np.ndarray], *, stand_in: bool) -> pd.DataFrame:
    """Returns a row a claim, with p adjusted by Holm over the claims; empty where none can be made. whole, drawn: as of
    `bootstrap.paired_arms`."""
    claims = list(claims_on(list(whole)))
    pairs: Any = paired_rows([(own.against, own.challenger) for own in claims], whole, drawn, stand_in=stand_in)
    for place, name in enumerate(("words", "whose")):
        pairs.insert(place, "claim" if name == "words" else name, [getattr(own, name) for own in claims])
    return pairs


def cost_of_boxes(found: np.ndarray, given: np.ndarray, *, stand_in: bool) -> dict[str, Any]:
    """Returns by how many points the word error rate in boxes that are found is above that in true ones, with its
    interval, and whether that is within `WITHIN` points.

    found, given: the rates of one arm, first over all forms and then over drawn ones, (1 + draw,).
    """
    drawn = difference_of(found[1:] - given[1:])
    known = verdict(supported=drawn["high"] < WITHIN, contradicted=drawn["low"] > WITHIN, stand_in=stand_in)
    return {"found": float(found[0]), "true boxes": float(given[0]), "difference": float(found[0] - given[0]),
            "low": drawn["low"], "high": drawn["high"], "verdict": known}  # fmt: skip
