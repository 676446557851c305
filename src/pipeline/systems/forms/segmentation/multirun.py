"""Detectors of a multirun as its parent shows them: errors, and differences paired by form or writer."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from models.forms.detect.average_precision import weighted_average
from models.forms.detect.boxes import CLASSES
from pipeline.compare.arm_figure import errors_by_arm
from pipeline.compare.bootstrap import DRAWS, over_draws
from pipeline.compare.claims import HERE
from pipeline.compare.panels import panels_in_words, tables_of_sets
from pipeline.compare.words import Summary
from pipeline.systems.forms.arms import OF_STARTS, compared_arms
from pipeline.systems.forms.segmentation.narrow import NARROW
from pipeline.systems.forms.segmentation.report import BOXES, HITS
from pipeline.systems.forms.writers import FORM, over_forms, said_of_forms, unit_of

SETS: tuple[str, ...] = ("data", "scored", "part")
FILES = {HITS: ["part", FORM, "class", "score", "hit", NARROW], BOXES: None}  # of each job, and the columns of them
CASES = BOXES  # a job has a row a form there; one that finds nothing has none in HITS
TRUTH = ("part", FORM, "word")  # columns of it
NARROW_WORDS = "narrow words"
X = "1 − average precision (IoU at least 0.5)\nmean over seeds; bars: 95 % interval over {} and starts of training"
CAPTION = (
    "Errors of the test parts, the mean over seeds: 1 − average precision of words (*scored* words), or 1 − its mean "
    "over the classes that are there (classes), or 1 − that of the words that are no wider than the median (narrow "
    "words), at an overlap (IoU) of at least 0.5. The intervals and p are of a bootstrap over forms and starts of "
    f"training, {OF_STARTS} *verdict*: whether *arm* has a lower error than *against*. The part test_style has a style "
    "of page that no training form has."
)


def summary_of(jobs: Any, files: Mapping[str, Any], title: str) -> Summary:
    """Returns tables, figure and words. files: HITS, every box that a job found, by run_id; BOXES, how many true ones
    each form has."""
    found, boxes = files[HITS], files[BOXES]
    sets = list[dict[str, Any]]()
    for (data, scored), own in jobs.groupby(["data", "scored"], sort=False):
        for part, narrow in product(boxes["part"].unique() if len(boxes) else (), (False, True)):
            if narrow and not has_narrow(boxes[boxes["part"] == part]):
                continue
            names = dict(zip(SETS, (data, NARROW_WORDS if narrow else scored, part), strict=True))
            one = compared(own, found, boxes, names)
            sets.append(one | {"claims": one["claims"].assign(whose=HERE)} if narrow and len(one["claims"]) else one)
    if not sets:
        return Summary({}, {}, "No job has boxes by form.")
    tables = tables_of_sets(sets)
    text = "\n\n".join([CAPTION, *said_of_all(jobs, boxes), *panels_in_words(tables, SETS)])
    figure = errors_by_arm(tables["means.csv"], title=f"{title}: arms side by side", x=X.format(over_forms(boxes)))
    return Summary({**tables, HITS: found, BOXES: boxes}, {"figures/arms": figure}, text)


def compared(jobs: Any, found: Any, boxes: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Returns the tables of `compared_arms`."""
    rows = boxes[boxes["run_id"].isin(jobs["run_id"]) & (boxes["part"] == names["part"])]
    unit = unit_of(rows, FORM)
    return compared_arms(jobs, names, lambda run, draws: errors_of(
        found[found["run_id"] == run], rows[rows["run_id"] == run], names, unit, draws), rows)  # fmt: skip


def said_of_all(jobs: Any, boxes: Any) -> list[str]:
    """Returns a sentence of each data set whose writers are known."""
    said = [said_of_forms(str(data), boxes[boxes["run_id"].isin(own["run_id"])]) for data, own in jobs.groupby("data")]
    return [words for words in said if words]


def has_narrow(boxes: Any) -> bool:
    """Returns whether forms have words that are no wider than the median; tables of older versions do not say it."""
    return NARROW in boxes and bool(boxes[NARROW].sum())


def errors_of(
    found: Any, boxes: Any, names: Mapping[str, str], unit: str = FORM, draws: int = DRAWS
) -> tuple[float, np.ndarray]:
    """Returns the error of a job on a part over all forms, and over drawn units, (draw,). unit: as of `unit_of`; one is
    drawn with all its forms."""
    found, boxes = found[found["part"] == names["part"]], boxes[boxes["part"] == names["part"]].sort_values(FORM)
    kinds = {"words": ["word"], NARROW_WORDS: [NARROW]}.get(names["scored"]) or [
        kind for kind in CLASSES[1:] if boxes[kind].sum()
    ]
    own = {kind: found[found[NARROW] == 1] if kind == NARROW else found[found["class"] == kind] for kind in kinds}

    units, every = pd.factorize(boxes[unit])

    def error(drawn: np.ndarray) -> np.ndarray:
        weights = drawn[:, units]
        averages = [average_of(own[kind], weights, weights @ boxes[kind].to_numpy(float)) for kind in kinds]
        return 1 - mean_known(np.array(averages))

    return over_draws(error, len(every), draws)


def average_of(found: Any, weights: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Returns the average precision of the boxes that were found of a class, (draw,). weights: of forms, (draw, form).
    truths: how many true boxes count, (draw,)."""
    scores, hits, forms = (found[name].to_numpy(float) for name in ("score", "hit", "form"))
    return weighted_average(scores, hits, weights[:, forms.astype(int)], truths)


def mean_known(averages: np.ndarray) -> np.ndarray:
    """Returns the mean of the classes that are there in each draw, (draw,); NaN where none is. averages: (class,
    draw)."""
    there = np.isfinite(averages)
    counts = there.sum(0)
    return np.divide(np.where(there, averages, 0.0).sum(0), counts, out=np.full(len(counts), np.nan), where=counts > 0)
