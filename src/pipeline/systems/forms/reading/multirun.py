"""Readers of a multirun as its parent shows them: error rates, and differences paired by form or writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.arm_figure import errors_by_arm
from pipeline.compare.bootstrap import DRAWS, rates
from pipeline.compare.claims import of_seeds, undecided_for
from pipeline.compare.markdown import markdown_table
from pipeline.compare.panels import panels_in_words, tables_of_sets
from pipeline.compare.words import Summary
from pipeline.systems.forms.arms import OF_STARTS, compared_arms, over_starts, stand_ins
from pipeline.systems.forms.claims import WITHIN, cost_of_boxes
from pipeline.systems.forms.reading.report import READ
from pipeline.systems.forms.reading.scores import FOUND, GIVEN, NAMES
from pipeline.systems.forms.writers import (
    FORM,
    WRITER,
    few_in,
    over_forms,
    said_of_forms,
    unit_of,
)

SETS: tuple[str, ...] = ("data", "part", "rate", "reading")
RATES = {
    "CER": ("faults", "characters"), "WER": ("word_faults", "words"), "out of order": ("out_of_order", "pairs"),
}  # fmt: skip
FILES = {  # and its columns
    READ: ["part", FORM, WRITER, "reading", *(name for rate in RATES.values() for name in rate)]
}
CASES = READ  # a job has a row a form and reading there
TRUTH = ("part", FORM, "characters", "words")  # columns of it that no reader changes
COSTS = "costs.csv"
COST = (
    "What it costs to find the words: the word error rate in boxes that are found, above that in true ones, in points. "
    f"*verdict*: whether that is less than {WITHIN:g}, with the whole interval."
)
X = "error rate (%)\nmean over seeds; bars: 95 % interval over {} and starts of training"
CAPTION = (
    "Error rates of the texts of whole forms in %, the mean over seeds: edits over characters (CER), or over words "
    "between blanks (WER), or neighbouring words that do not follow each other (out of order). *true boxes*: the same "
    "recogniser in true boxes; *corrected*: with texts taken for training texts that are near. The intervals and p are "
    f"of a bootstrap over forms and starts of training, {OF_STARTS} *verdict*: whether *arm* has a lower error than "
    "*against*. The part test_style has a style of page that no training form has."
)


def summary_of(jobs: Any, files: Mapping[str, Any], title: str) -> Summary:
    """Returns tables, figure and words. files: READ, the counts of every reading of a job, by run_id."""
    read = files[READ]
    sets, costs, known = list[dict[str, Any]](), list[Any](), list[str]()
    for data, own in jobs.groupby("data", sort=False) if len(read) else ():
        rows = read[read["run_id"].isin(own["run_id"])]
        sets += [compared(own, counts, names) for names, counts in sets_of(str(data), rows)]
        known.append(said_of_forms(str(data), rows))
        costs += costs_of(own, read, str(data))
    if not sets:
        return Summary({}, {}, "No job has readings by form.")
    tables, text = tables_of_sets(sets), [CAPTION, *filter(None, known)]
    text += panels_in_words(tables, SETS)
    if costs:
        tables[COSTS] = pd.DataFrame(costs)
        text += [COST, markdown_table(tables[COSTS], digits=4)]
    shown = tables["means.csv"][tables["means.csv"]["reading"].isin(list(NAMES.values())[::2])]
    figure = errors_by_arm(shown, title=f"{title}: arms side by side", x=X.format(over_forms(read)))
    return Summary({**tables, READ: read}, {"figures/arms": figure}, "\n\n".join(text))


def compared(jobs: Any, counts: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Returns the tables of `compared_arms`."""
    unit = unit_of(counts, FORM)
    return compared_arms(
        jobs,
        names,
        lambda run, draws: errors_of(counts[counts["run_id"] == run], names["rate"], unit, draws),
        counts,
        finds=NAMES[GIVEN] not in names["reading"],
    )


def costs_of(jobs: Any, read: Any, data: str) -> list[dict[str, Any]]:
    """Returns a row a part and arm that reads both in boxes that it finds and in true ones: what the first cost it."""
    rows = []
    for (part, arm), own in read.merge(jobs[["run_id", "arm"]], on="run_id").groupby(["part", "arm"], sort=False):
        both = [own[own["reading"] == NAMES[suffix]] for suffix in (FOUND, GIVEN)]
        if all(each["words"].sum() for each in both):
            found, given = (mean_rates(each, unit_of(own, FORM)) for each in both)
            cost = cost_of_boxes(found, given, stand_in=stand_ins(jobs))
            known = undecided_for(of_seeds(cost["verdict"], own["run_id"].nunique()), few_in(own))
            rows.append({"data": data, "part": part, "arm": arm, **cost, "verdict": known})
    return rows


def mean_rates(read: Any, unit: str) -> np.ndarray:
    """Returns the mean word error rate of an arm's jobs, over all forms, and over drawn units and starts of training,
    (1 + draw,). unit: as of `errors_of`."""
    wholes, drawn = zip(*[errors_of(own, "WER", unit) for _, own in read.groupby("run_id")], strict=True)
    return np.append(np.mean(wholes), over_starts(drawn, range(len(drawn))))


def sets_of(data: str, read: Any) -> list[tuple[dict[str, str], Any]]:
    """Returns the names of each set of comparable readings, with its rows: those that every job has."""
    jobs, sets = read["run_id"].nunique(), []
    for rate in RATES:
        for (part, reading), own in read.groupby(["part", "reading"], sort=False):
            counted = own.groupby("run_id")[RATES[rate][1]].sum()
            if len(counted) == jobs and counted.all() and not order_twice(rate, reading):
                sets.append((dict(zip(SETS, (data, part, rate, reading), strict=True)), own))
    return sets


def order_twice(rate: str, reading: str) -> bool:
    """Returns whether a rate says what another reading has said: texts that are corrected stand where they stood."""
    return rate == "out of order" and "corrected" in reading


def errors_of(read: Any, rate: str, unit: str = FORM, draws: int = DRAWS) -> tuple[float, np.ndarray]:
    """Returns an error rate of a job over all forms, and over drawn units, (draw,). unit: as of `unit_of`; one is drawn
    with all its forms."""
    faults, of = RATES[rate]
    own = read.groupby(unit)[[faults, of]].sum()
    return rates(own[faults].to_numpy(), own[of].to_numpy(), draws)
