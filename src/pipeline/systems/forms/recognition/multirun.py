"""Recognisers of a multirun as its parent shows them: character error rates, and differences paired by writer or
image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.arm_figure import errors_by_arm
from pipeline.compare.bootstrap import DRAWS, rates
from pipeline.compare.markdown import markdown_table
from pipeline.compare.panels import joined, panels_in_words, tables_of_sets
from pipeline.compare.words import Summary
from pipeline.systems.forms.arms import OF_STARTS, compared_arms
from pipeline.systems.forms.labels import NEAREST
from pipeline.systems.forms.recognition.attention import ATTENTION, by_arm, in_groups
from pipeline.systems.forms.recognition.attention_figures import positions_figure
from pipeline.systems.forms.recognition.beside import BESIDE, RATES, RATES_CAPTION, rates_by_reading, with_nearest
from pipeline.systems.forms.recognition.report import READ
from pipeline.systems.forms.recognition.scores import FAULTS_NEAREST
from pipeline.systems.forms.writers import FEW_WRITERS, WRITER, unit_of

SETS: tuple[str, ...] = ("data", "part")
IMAGE = "image"
FILES = {  # of each job, and the columns of it
    READ: ["part", IMAGE, WRITER, "characters", "faults", FAULTS_NEAREST],
    ATTENTION: ["position", "texts", "near", "equal"],
}
CASES = READ  # a job has a row an image there
TRUTH = ("part", IMAGE, "characters")  # columns of it that no reader changes
LACKED = (ATTENTION,)  # by recognisers without it
X = "character error rate (%)\nmean over seeds; bars: 95 % interval over writers (else images) and starts of training"
CAPTION = (
    "Character error rates of the test part in %, the mean over seeds. The intervals and p are of a bootstrap over "
    "whole writers with all their images, where they are known, else over images, and over starts of training, "
    f"{OF_STARTS} {FEW_WRITERS} *verdict*: whether *arm* has a lower error than *against*."
)
ATTENDED = (
    "Share of the decoder's attention within one patch of those at which CTC says the character, by its position in "
    "the text, the mean over seeds, with the *lowest* and the *highest* of them; *equal*: what equal weights for all "
    "patches would put there:"
)
WORDS = (
    "Images that are read with a fault, in % of all, the mean over seeds: differences, intervals and p as above. "
    "*arm_ahead*, *against_ahead*: images that this arm reads without a fault with more of its seeds than the other:"
)


def summary_of(jobs: Any, files: Mapping[str, Any], title: str) -> Summary:
    """Returns tables, figure and words. files: READ, every reading of a job, by run_id."""
    read, sets, words, drawn = files[READ], list[dict[str, Any]](), [], []
    for data, own in jobs.groupby("data", sort=False) if len(read) else ():
        names = dict(zip(SETS, (data, "test"), strict=True))
        own, rows = with_nearest(own, read[read["run_id"].isin(own["run_id"])])
        sets.append(compared(own, rows, names))
        words.append(words_read(own, rows, names))
        drawn.append(f"Drawn of {data}: {drawn_of(rows)}.")
    if not sets:
        return Summary({}, {}, "No job has readings by image.")
    tables = tables_of_sets(sets)
    beside = [BESIDE] if NEAREST in set(tables["means.csv"]["arm"]) else []
    parts = [" ".join([*drawn, *beside]), *panels_in_words(tables, SETS)]
    if sum(map(len, words)):
        tables["words.csv"] = joined(words)
        parts += [WORDS, *panels_in_words({"words.csv": tables["words.csv"]}, SETS)]
    if len(rates_of_all := rates_by_reading(jobs)):
        tables[RATES] = rates_of_all
        parts += [RATES_CAPTION, markdown_table(rates_of_all, digits=4)]
    figure = errors_by_arm(tables["means.csv"], title=f"{title}: arms side by side", x=X)
    own = Summary(tables | {READ: read}, {"figures/arms": figure}, "\n\n".join([CAPTION, *parts]))
    attention = files.get(ATTENTION, ())
    return with_attention(own, jobs, attention, title) if len(attention) else own


def with_attention(summary: Summary, jobs: Any, rows: Any, title: str) -> Summary:
    """Returns a summary with a table, a figure and words of where decoders look."""
    table = by_arm(jobs, rows)
    figure = positions_figure(table, title=f"{title}: where the decoder looks")
    text = f"{summary.text}\n\n{ATTENDED}\n\n{markdown_table(in_groups(jobs, rows).round(4), digits=4)}"
    tables = {**summary.tables, "positions.csv": table, ATTENTION: rows}
    return Summary(tables, {**summary.figures, "figures/positions": figure}, text)


def compared(jobs: Any, read: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Returns the tables of `compared_arms`."""
    unit = unit_of(read, IMAGE)
    return compared_arms(jobs, names, lambda run, draws: errors_of(read[read["run_id"] == run], unit, draws), read)


def drawn_of(read: Any) -> str:
    """Returns how many writers or images are drawn, in words."""
    unit = unit_of(read, IMAGE)
    return f"{read[unit].nunique()} {unit}s"


def errors_of(read: Any, unit: str, draws: int = DRAWS) -> tuple[float, np.ndarray]:
    """Returns the character error rate of a job over all images, and over drawn units, (draw,). unit: as of
    `unit_of`; one is drawn with all its images."""
    own = read.groupby(unit)[["faults", "characters"]].sum()
    return rates(own["faults"].to_numpy(), own["characters"].to_numpy(), draws)


def words_read(jobs: Any, read: Any, names: Mapping[str, str]) -> Any:
    """Returns a row a pair of arms: by how much the share of images that are read with a fault differs, in points, as
    `compared` does it, and how many images each arm reads without a fault with more of its seeds."""
    wrong = {arm: wrong_of(own, read) for arm, own in jobs.groupby("arm", sort=False)}
    table = compared(jobs, read.assign(faults=read["faults"] > 0, characters=1), names)["paired"]
    less = [(wrong[row.arm] - wrong[row.against]).dropna() for row in table.itertuples()]
    counts = {"images": map(len, less), "arm_ahead": [(own < 0).sum() for own in less],
              "against_ahead": [(own > 0).sum() for own in less]}  # fmt: skip
    return table.assign(**{name: [int(one) for one in own] for name, own in counts.items()})


def wrong_of(jobs: Any, read: Any) -> pd.Series:
    """Returns the share of the jobs of an arm that read an image with a fault, by image."""
    own = read[read["run_id"].isin(jobs["run_id"])]
    return own["faults"].gt(0).groupby(own["image"]).mean()
