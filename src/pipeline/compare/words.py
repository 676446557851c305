"""What a page of a comparison is made of: tables, figures and words, and the words that all comparisons share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from pipeline.compare import statistics
from pipeline.compare.comparison import Comparison
from pipeline.compare.markdown import markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEHIND = "not ahead of"  # column of the claims
FROM = f"with its 95 % interval from {statistics.FEWEST_FOR_INTERVAL} seeds on (jobs that are unstable left out)"
RATIOS = (
    f"geometric mean of the ratios, with its 95 % interval from {statistics.FEWEST_FOR_INTERVAL} pairs on and "
    f"Wilcoxon's p after Holm's adjustment from {statistics.FEWEST_FOR_WILCOXON} on"
)
PAIRED_SHOWN = [
    "data", "horizon", "arm", "against", "count", "pairs", "unstable_pairs", "ratio", "ratio_low", "ratio_high",
    "p_holm",
]  # fmt: skip


class Summary(NamedTuple):
    """Holds tables by path, figures by path without ending, Markdown, and further texts by path, which are artifacts of
    the run alone and no part of a page."""

    tables: dict[str, pd.DataFrame]
    figures: dict[str, Figure]
    text: str
    texts: Mapping[str, str] = MappingProxyType({})


def in_words(table: Any, comparison: Comparison) -> str:
    """Returns a Markdown table, its arms by the names that people use."""
    named = {name: table[name].map(comparison.named) for name in ("arm", "against") if name in table}
    if "arm" in named and comparison.noted in table:
        named["arm"] = named["arm"].where(table[comparison.noted] <= 1 / 2, named["arm"] + f" ({comparison.noted})")
    if BEHIND in table:
        named[BEHIND] = table[BEHIND].map(lambda names: ", ".join(map(comparison.named, names.split(", "))))
    return markdown_table(table.assign(**named))


def with_error(jobs: pd.DataFrame, comparison: Comparison) -> pd.DataFrame:
    """Returns the columns that `statistics` reads."""
    return jobs.rename(columns={comparison.column: "error"})


def means_in_words(means: pd.DataFrame, comparison: Comparison) -> str:
    """Returns the table of `statistics.geometric_means` under a caption that says what its columns are, both in the
    word for the metric."""
    word, values = comparison.word, "errors" if comparison.word == "error" else comparison.word
    caption = f"{word[0].upper()}{word[1:]}: geometric mean of the test {values} over seeds, {FROM}"
    named = {name: name.replace("error", word) for name in ("error", "error_low", "error_high")}
    return f"{caption}\n\n{in_words(means.rename(columns=named), comparison)}"


def heading(kind: str, jobs: Any) -> str:
    """Returns the title of a figure: what it shows, of how many seeds, and whether of stand-in data."""
    seeds = jobs.groupby("data")["seed"].nunique()
    counted = ", ".join(f"{data}: {number} seeds" for data, number in seeds.items())
    mark = "STAND-IN DATA (not real) · " if jobs["stand_in"].any() else ""
    return f"{mark}{kind} ({counted})"


def first_columns(table: Any) -> pd.DataFrame:
    """Returns the columns of `statistics.paired` that are read first; all of them are in paired.csv."""
    return table[[name for name in PAIRED_SHOWN if name in table]]
