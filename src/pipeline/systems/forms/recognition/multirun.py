"""Recognisers of a multirun as its parent shows them: character error rates, and differences paired by image."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare import statistics
from pipeline.compare.arm_figure import errors_by_arm
from pipeline.compare.bootstrap import rates
from pipeline.compare.markdown import markdown_table
from pipeline.compare.mcnemar import mcnemar_p
from pipeline.compare.panels import joined, panels_in_words, tables_of_sets
from pipeline.compare.words import Summary
from pipeline.systems.forms.arms import compared_arms
from pipeline.systems.forms.recognition.attention import ATTENTION, by_arm, in_groups
from pipeline.systems.forms.recognition.attention_figures import positions_figure
from pipeline.systems.forms.recognition.report import READ

SETS: tuple[str, ...] = ("data", "part")
FILES = {  # of each job, and the columns of it
    READ: ["part", "image", "characters", "faults"],
    ATTENTION: ["position", "texts", "near", "equal"],
}
LACKED = (ATTENTION,)  # by recognisers without it
X = "character error rate (%)\nmean over seeds; bars: 95 % interval over images"
CAPTION = (
    "Character error rates of the test part in %, the mean over seeds. The intervals and p are of a bootstrap over "
    "images, the same for both arms of a pair; p is adjusted by Holm over the pairs of a set. *verdict*: whether *arm* "
    "has a lower error than *against*."
)
ATTENDED = (
    "Share of the decoder's attention within one patch of those at which CTC says the character, by its position in "
    "the text, the mean over seeds; *equal*: what equal weights for all patches would put there:"
)
WORDS = (
    "Images that one of both arms alone reads without a fault, over equal seeds, with McNemar's exact p after Holm's "
    "adjustment:"
)


def summary_of(jobs: Any, files: Mapping[str, Any], title: str) -> Summary:
    """Returns tables, figure and words. files: READ, every reading of a job, by run_id."""
    read, sets, words = files[READ], list[dict[str, Any]](), []
    for data, own in jobs.groupby("data", sort=False) if len(read) else ():
        names = dict(zip(SETS, (data, "test"), strict=True))
        sets.append(compared_arms(own, names, lambda run: errors_of(read[read["run_id"] == run])))
        words.append(right_alone(own, read, str(data)))
    if not sets:
        return Summary({}, {}, "No job has readings by image.")
    tables = tables_of_sets(sets)
    parts = panels_in_words(tables, SETS)
    if sum(map(len, words)):
        tables["words.csv"] = joined(words)
        parts += [WORDS, markdown_table(tables["words.csv"], digits=4)]
    figure = errors_by_arm(tables["means.csv"], title=f"{title}: arms side by side", x=X)
    own = Summary(tables | {READ: read}, {"figures/arms": figure}, "\n\n".join([CAPTION, *parts]))
    attention = files.get(ATTENTION, ())
    return with_attention(own, by_arm(jobs, attention), attention, title) if len(attention) else own


def with_attention(summary: Summary, table: Any, rows: Any, title: str) -> Summary:
    """Returns a summary with a table, a figure and words of where decoders look."""
    figure = positions_figure(table, title=f"{title}: where the decoder looks")
    text = f"{summary.text}\n\n{ATTENDED}\n\n{markdown_table(in_groups(table), digits=4)}"
    tables = {**summary.tables, "positions.csv": table, ATTENTION: rows}
    return Summary(tables, {**summary.figures, "figures/positions": figure}, text)


def errors_of(read: Any) -> tuple[float, np.ndarray]:
    """Returns the character error rate of a job over all images, and over drawn ones, (draw,)."""
    own = read.sort_values("image")
    return rates(own["faults"].to_numpy(), own["characters"].to_numpy())


def right_alone(jobs: Any, read: Any, data: str) -> pd.DataFrame:
    """Returns a row a pair of arms: how many images each alone reads without a fault, over the seeds that both have,
    with McNemar's p."""
    rights = {arm: right_of(own, read) for arm, own in jobs.groupby("arm", sort=False)}
    rows = []
    for (first, one), (second, other) in combinations(rights.items(), 2):
        both = pd.concat({"one": one, "other": other}, axis=1, join="inner")
        only_first = int((both["one"] & ~both["other"]).sum())
        only_second = int((both["other"] & ~both["one"]).sum())
        rows.append({"data": data, "arm": second, "against": first, "images": len(both), "arm_alone": only_second,
                     "against_alone": only_first, "p": mcnemar_p(only_second, only_first)})  # fmt: skip
    table = pd.DataFrame(rows)
    return table.assign(p_holm=statistics.holm(table["p"].to_numpy())) if rows else table


def right_of(jobs: Any, read: Any) -> pd.Series:
    """Returns whether an arm reads an image without a fault, by seed and image."""
    own = read.merge(jobs[["run_id", "seed"]], on="run_id")
    return own.set_index(["seed", "image"])["faults"].eq(0)
