"""What the parent of a multirun shows: tables, figures and words, chosen by `compare.figure`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pandas as pd

from pipeline.compare import contenders, figures, seconds, statistics, windows
from pipeline.compare.comparison import Comparison, check_ratios
from pipeline.compare.jobs import compared_jobs, seed_table
from pipeline.compare.markdown import markdown_table
from pipeline.compare.matching import matching_counts
from pipeline.compare.words import RATIOS, Summary, first_columns, heading, in_words, means_in_words, with_error

OF_TRACKING = re.compile(r"(?:^| )\+{0,2}tracking(?:\.\w+)?=(?:'(?:\\.|[^'\\])*'|\S+)")
TRIALS_SHOWN = 20  # of each arm, in words

Curves = Callable[[pd.DataFrame], pd.DataFrame]  # from jobs to their errors by epoch


def claim_tables(
    errors: pd.DataFrame, compare: Any, comparison: Comparison, claim: str
) -> tuple[dict[str, pd.DataFrame], str]:
    """Returns paired statistics and verdicts, when the two arms of `compare` are named."""
    if compare.baseline is None or compare.challenger is None:
        return {}, ""
    absent = sorted({compare.baseline, compare.challenger} - set(errors["arm"]))
    if absent:
        return {}, f"\n\nNot compared: there is no job of {', '.join(absent)}."
    table = statistics.paired(errors, baseline=compare.baseline, challenger=compare.challenger)
    claims = statistics.verdicts(table, claim)
    divided = f"error of {compare.challenger} divided by that of {compare.baseline}"
    words = f"\n\n{claim}: {divided}, paired by seed: {RATIOS}\n\n"
    shown = in_words(first_columns(table), comparison)
    text = f"{words}{shown}\n\n{in_words(claims, comparison)}"
    return {"paired.csv": table, "claims.csv": claims}, text


def by_count(jobs: pd.DataFrame, compare: Any, curves_of: Curves, comparison: Comparison) -> Summary:  # noqa: ARG001
    """Shows the error against what is counted, with statistics."""
    errors = with_error(jobs, comparison)
    means = statistics.geometric_means(errors)
    tables, text = claim_tables(errors, compare, comparison, f"{compare.challenger} better than {compare.baseline}")
    if tables:
        matching = matching_counts(errors, baseline=compare.baseline, challenger=compare.challenger)
        tables["matching_counts.csv"] = matching
        counted = (comparison.counted_as or "count").capitalize()
        text += f"\n\n{counted} that {compare.baseline} needs for the error of {compare.challenger} at m\n\n"
        text += in_words(matching, comparison)
    by = f" by number of {comparison.counted_as}" if comparison.counted_as else ""
    title = heading(f"test {comparison.word}{by}", jobs)
    return Summary(
        {"means.csv": means, **tables},
        {"figures/error_by_count": figures.error_by_count(means, comparison, title=title)},
        means_in_words(means, comparison) + text,
    )


def kept_up(curves: Any) -> pd.DataFrame:
    """Returns every job's curve to the last epoch of its data set: a training that ended early stays where it ended.

    Rows stand job by job. So of jobs alike in data, arm, count and seed the next one begins where the epoch falls.
    """
    parts, job = [], (curves["epoch"].diff() <= 0).cumsum()
    for (data, *_), rows in curves.groupby(["data", "arm", "count", "seed", job.rename("job")], sort=False):
        last = curves.loc[curves["data"] == data, "epoch"].max()
        parts.append(rows.set_index("epoch").reindex(range(last + 1), method="ffill").reset_index())
    return pd.concat(parts, ignore_index=True)


def by_epoch(jobs: pd.DataFrame, compare: Any, curves_of: Curves, comparison: Comparison) -> Summary:
    """Shows the error against the epoch of training; the statistics are of the models that are kept."""
    curves = curves_of(jobs)
    errors, full = with_error(jobs, comparison), with_error(kept_up(curves), comparison)
    means = statistics.geometric_means(full.drop(columns="count").rename(columns={"epoch": "count"}))
    means = means.rename(columns={"count": "epoch"})
    claim = f"{compare.challenger} better than {compare.baseline} after {comparison.trained_by}"
    tables, text = claim_tables(errors, compare, comparison, claim)
    kept = statistics.geometric_means(errors)
    title = heading(f"test {comparison.word} by epoch of {comparison.trained_by}", jobs)
    return Summary(
        {"curves.csv": curves, "means_by_epoch.csv": means, "means.csv": kept, **tables},
        {"figures/error_by_epoch": figures.error_by_epoch(means, comparison, title=title)},
        f"Models that are kept (best epoch on validation). {means_in_words(kept, comparison)}{text}",
    )


def by_contender(jobs: Any, compare: Any, curves_of: Curves, comparison: Comparison) -> Summary:  # noqa: ARG001
    """Shows model against model, see `contenders.model_against_model`."""
    return contenders.model_against_model(jobs, compare.challenger, comparison)


def by_seconds(jobs: Any, compare: Any, curves_of: Curves, comparison: Comparison) -> Summary:  # noqa: ARG001
    """Shows errors against seconds of training, see `seconds.by_seconds`."""
    return seconds.by_seconds(jobs, comparison)


def without_tracking(overrides: str) -> str:
    """Returns the overrides of a job but those of `tracking`, which its multirun adds and which tell no job apart."""
    return OF_TRACKING.sub("", overrides).strip()


def trials(jobs: Any, compare: Any, curves_of: Curves, comparison: Comparison) -> Summary:  # noqa: ARG001
    """Lists trials of hyper-parameters by validation error, the best first; test errors are not looked at."""
    keys, chosen_by = ["data", "arm"], comparison.chosen_by
    ranked = jobs.assign(rank=jobs[chosen_by].map(comparison.rank)).sort_values([*keys, "rank"], ignore_index=True)
    ranked = ranked.assign(overrides=ranked["overrides"].map(without_tracking))
    ranked = ranked[[*keys, "overrides", *comparison.sizes, "stable", chosen_by]]
    first: Any = ranked.groupby(keys, sort=False).head(TRIALS_SHOWN)
    words = f"Trials by validation {comparison.word} ({len(first)} of {len(ranked)}; all of them in trials.csv)"
    return Summary({"trials.csv": ranked}, {}, f"{words}\n\n{in_words(first, comparison)}")


KINDS = {
    "count": by_count, "epoch": by_epoch, "contenders": by_contender, "seconds": by_seconds,
    "windows": windows.by_window, "trials": trials,
}  # fmt: skip
NOT_POOLED = {"seconds": [seconds.EPOCHS], "windows": ["window"]}  # what else tells the jobs of a figure apart


def listed(jobs: pd.DataFrame) -> str:
    """Lists the jobs in words: what is known of each."""
    return markdown_table(jobs.drop(columns="run_id").dropna(axis="columns", how="all"))


def summarise(jobs: Any, compare: Any, curves_of: Curves, comparison: Comparison | None) -> Summary:
    """Returns the tables of all jobs, and what `compare.figure` asks for; studies are listed, and are in no figure.

    Jobs that differ in what else was varied (column `varied` of the jobs) are compared apart, as if on other data.
    Raises PipelineError as `check_ratios` does.
    """
    compared: Any = compared_jobs(jobs, comparison)
    if comparison is None or compared.empty:
        return Summary({"jobs.csv": jobs}, {}, listed(jobs))
    if compare.figure == "trials":
        found = trials(compared, compare, curves_of, comparison)
        return found._replace(text=disagreement(compared, comparison) + found.text)
    check_ratios(compare, comparison)
    labels, parts = with_varied(compared)
    found = compared.assign(data=labels)
    apart_too = NOT_POOLED.get(compare.figure, [])
    warned = disagreement(found, comparison) + pooled_warning(found, [*comparison.keys[:-1], *apart_too, "seed"])
    summary = KINDS[compare.figure](found, compare, curves_of, comparison)
    pooled = {} if apart_too else {"by_arm_and_count.csv": seed_table(found, comparison)}
    tables = pooled | summary.tables
    apart = {path: taken_apart(table, parts) for path, table in tables.items()}
    return Summary({"jobs.csv": jobs, **apart}, summary.figures, warned + summary.text)


def with_varied(jobs: Any) -> tuple[pd.Series, dict[str, tuple[str, str]]]:
    """Returns data and what else was varied as one text for each job, and the two parts of each text."""
    others = jobs["varied"].fillna("") if "varied" in jobs else pd.Series("", index=jobs.index)
    pairs = list(zip(jobs["data"], others, strict=True))
    texts = [f"{data}, {other}" if other else str(data) for data, other in pairs]
    return pd.Series(texts, index=jobs.index), dict(zip(texts, pairs, strict=True))


def taken_apart(table: Any, parts: dict[str, tuple[str, str]]) -> pd.DataFrame:
    """Returns the table with data and what else was varied in columns of their own; unchanged where nothing else
    was."""
    if "data" not in table or not any(other for _, other in parts.values()):
        return table
    data, others = (table["data"].map({text: pair[i] for text, pair in parts.items()}) for i in (0, 1))
    apart = table.assign(data=data)
    apart.insert(list(apart.columns).index("data") + 1, "varied", others)
    return apart


def aligned(text: str) -> str:
    """Returns Markdown with the columns of its tables as wide as their cells, for a terminal."""
    shown: list[str] = []
    for table, found in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        lines = list(found)
        shown += in_columns([line for line in lines if not line.startswith("|---")]) if table else lines
    return "\n".join(shown)


def in_columns(lines: list[str]) -> list[str]:
    rows = [[cell.strip() for cell in line.removeprefix("|").removesuffix("|").split(" | ")] for line in lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def disagreement(jobs: Any, comparison: Comparison) -> str:
    """Returns words where jobs on the same data do not agree as the comparison asks: their errors do not compare."""
    asked = comparison.agreement
    if asked is None or asked.column not in jobs:  # a file of an older version need not have the column
        return ""
    values = jobs.groupby("data")[asked.column]
    found = [(data, sorted(rows.unique())) for data, rows in values if rows.nunique() > 1]
    if not found:
        return ""
    named = "; ".join(f"{data}: {asked.value} {', '.join(map(str, numbers))}" for data, numbers in found)
    words = f"{asked.broken} ({named}), so their errors do not compare; {asked.advice}"
    warnings.warn(words, stacklevel=2)
    return f"**{words}**\n\n"


def pooled_warning(jobs: pd.DataFrame, columns: list[str]) -> str:
    """Returns words for a sweep over something that none of the columns, the last of which is the seed, tells apart:
    its jobs stand in one row as if they were seeds."""
    *keys, last = columns
    twice = jobs.duplicated([*keys, last], keep=False)
    if not bool(twice.any()):
        return ""
    words = (
        f"{int(twice.sum())} of {len(jobs)} jobs agree in {', '.join(keys)} and {last} and are pooled as if they "
        "were seeds; jobs.csv tells them apart by their overrides, or set compare.arm"
    )
    warnings.warn(words, stacklevel=2)
    return f"**{words}**\n\n"
