"""What may be claimed of detectors, recognisers and readers of forms, of the thesis (section 2.2) and of this project.

A claim is that one arm of a multirun has a lower error than another. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pipeline.compare.bootstrap import difference_of
from pipeline.compare.claims import HERE, THESIS, Claim, verdict
from pipeline.systems.forms.labels import GIVEN

CHANGED, UNCHANGED = "thesis", "none"  # how training images are changed
INK, WHOLE, PLUS = "components", "convolve_attend_spell", " + "
WITHIN = 5.0  # points of word error rate that reading in boxes that are found may cost, a goal of this project
HELPS = "changed training images lower the error"
AHEAD_OF_INK = "a trained detector is ahead of connected ink"
PHASES = "finding words and reading them is ahead of reading the form at once"
SECTIONS = {"detector": ("detector.", "fit."), "recogniser": ("recogniser.", "recognition.")}


class Arm(NamedTuple):
    """Holds what an arm is: its model, how training images are changed, and the settings behind its name."""

    model: str
    augment: str
    settings: tuple[str, ...] = ()

    def parts(self) -> list[str]:
        """Returns the models of its model, "r_fcn" and "crnn" of "r_fcn + crnn"."""
        return self.model.split(PLUS)

    def beside(self, *sections: str) -> tuple[str, ...]:
        """Returns its settings but for those of some models."""
        fronts = tuple(front for section in sections for front in SECTIONS[section])
        return tuple(own for own in self.settings if not own.startswith(fronts))


class Swap(NamedTuple):
    """Holds a claim about arms that differ in one model alone, a detector or a recogniser: with the first they have a
    lower error than with the second."""

    words: str
    whose: str
    section: str
    first: str
    second: str


SWAPS = (
    Swap("R-FCN is ahead of Faster R-CNN", THESIS, "detector", "r_fcn", "faster_rcnn"),
    Swap("R-FCN is ahead of PixelLink", THESIS, "detector", "r_fcn", "pixel_link"),
    Swap("CTC-Seq2Seq is ahead of a word model", THESIS, "recogniser", "ctc_seq2seq", "word"),
    Swap("CTC-Seq2Seq is ahead of MORAN", THESIS, "recogniser", "ctc_seq2seq", "moran"),
    Swap("CTC-Seq2Seq is ahead of a character model", THESIS, "recogniser", "ctc_seq2seq", "character"),
    Swap("CTC-Seq2Seq is ahead of CRNN", HERE, "recogniser", "ctc_seq2seq", "crnn"),
)


def are_swapped(own: Arm, other: Arm, swap: Swap) -> bool:
    """Returns whether two arms differ in the models of a swap, and in settings of these, alone."""
    exchanged = [swap.second if part == swap.first else part for part in own.parts()]
    alike = own.augment == other.augment and own.beside(swap.section) == other.beside(swap.section)
    return swap.first in own.parts() and exchanged == other.parts() and alike


def claims_of(own: Arm, other: Arm, *, finds: bool) -> Iterator[tuple[str, str]]:
    """Yields the claims that an arm has a lower error than another, and whose they are. finds: whether words are read
    in boxes that are found; in true ones nothing is claimed of detectors."""
    if own.model == other.model and own.settings == other.settings and own.augment != other.augment:
        if (own.augment, other.augment) == (CHANGED, UNCHANGED):
            yield HELPS, THESIS
        return
    for swap in SWAPS:
        if (finds or swap.section != "detector") and are_swapped(own, other, swap):
            yield swap.words, swap.whose
    if finds and other.model == INK != own.model and own.beside("detector") == other.beside("detector"):
        yield AHEAD_OF_INK, HERE
    both = own.beside(*SECTIONS) == other.beside(*SECTIONS) and own.augment == other.augment
    if finds and other.model == WHOLE and PLUS in own.model and GIVEN not in own.parts() and both:
        yield PHASES, THESIS


def claims_on(arms: Mapping[str, Arm], *, finds: bool = True) -> list[Claim]:
    """Returns every claim of which both arms are there. arms: by their names."""
    return [
        Claim(words, challenger=first, against=second, whose=whose)
        for first, own in arms.items() for second, other in arms.items() if first != second
        for words, whose in claims_of(own, other, finds=finds)
    ]  # fmt: skip


def arms_of(jobs: Any) -> dict[str, Arm]:
    """Returns the arms of jobs by their names, as `labels.labelled` names them."""
    rows = jobs.drop_duplicates("arm").to_dict("records")
    return {str(row["arm"]): Arm(str(row["model"]), str(row["augment"]), tuple(row["settings"])) for row in rows}


def cost_of_boxes(found: np.ndarray, given: np.ndarray, *, stand_in: bool) -> dict[str, Any]:
    """Returns by how many points the word error rate in boxes that are found is above that in true ones, with its
    interval, and whether that is within `WITHIN` points.

    found, given: the rates of one arm, first over all forms and then over drawn ones, (1 + draw,).
    """
    drawn = difference_of(found[1:] - given[1:])
    known = verdict(supported=drawn["high"] < WITHIN, contradicted=drawn["low"] > WITHIN, stand_in=stand_in)
    return {"found": float(found[0]), "true boxes": float(given[0]), "difference": float(found[0] - given[0]),
            "low": drawn["low"], "high": drawn["high"], "verdict": known}  # fmt: skip
