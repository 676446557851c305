"""What the parent of a multirun of `recipe=mctn` says: its tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from pipeline.compare.arms import base
from pipeline.compare.markdown import markdown_table, missing
from pipeline.compare.statistics import FEWEST_FOR_WILCOXON
from pipeline.compare.words import RATIOS
from pipeline.systems.mctn.claims import SHOWN
from pipeline.systems.mctn.labels import named, plan, translation_columns
from pipeline.systems.mctn.thesis import SCORES, SPLITS, TABLES, Table

NAMED = {"accuracy": "accuracy", "f1": "weighted F1", "mae": "MAE", "correlation": "correlation"}
CAPTION = (
    "Test part: mean ± standard deviation over jobs, that is over seeds, and over folds where there are several. "
    "*95 %*: interval over groups of test samples, as videos, which are drawn whole (cluster bootstrap), for the "
    "networks at hand. *read*: modalities that are read at test, t text, v video, a audio. R²: of translations of the "
    "test part; what is 0 cannot have helped. Seconds are of training."
)
DRAWN_ANEW = (
    "Seeds have test samples of their own, so that groups of one name cannot be pooled: there is no interval over "
    "groups. The deviation over seeds has that of the samples in it."
)
GOALS = (
    "The interval from *low* to *high* gives the verdict. It is over seeds, or over folds where that is said, fewer "
    f"than {FEWEST_FOR_WILCOXON} of which give none: what other seeds would give, on these test samples unless each "
    "seed draws its own. The interval *by group* is "
    "over groups of test samples, as videos, which are drawn whole: what these networks would give on other samples."
)
JOINT = (
    "How far positive and negative test samples, or classes, are apart in E averaged over steps: accuracy of the five "
    "nearest neighbours of other groups beside the share of the most frequent kind, and silhouette (0: not at all). A "
    "picture by t-SNE does not prove it."
)
BY_PLACE = (
    "Arms that join modalities step by step (none-tva, concat, and the two encodings of double) pair the first steps "
    "that were recorded of each, then the second ones. In ICT-MMMO each modality lacks other steps, so that more than "
    "half of the steps of video and audio, and one in fifty of text and audio, are not paired with those of the same "
    "word."
)
KNOWN = {table.number: table for table in TABLES}


def page(
    means: pd.DataFrame, thesis: pd.DataFrame, paired: pd.DataFrame, goals: pd.DataFrame, separations: pd.DataFrame
) -> str:
    """Returns the whole text: tables of each data set, then how far kinds are apart, claims and goals."""
    parts = [CAPTION]
    for data in means["data"].unique():
        parts += of_data(str(data), means[means["data"] == data], thesis)
    if len(separations):
        parts += ["## Encodings", JOINT]
        parts += [f"{data}\n\n{markdown_table(own)}" for data, own in by_data(separations)]
    if len(paired):
        divided = f"Errors of the first arm divided by those of the second, in pairs: {RATIOS}"
        parts += ["## Claims", f"{divided}. Adjusted over the pairs of a data set with the same control."]
        parts += [claims_of_data(data, own) for data, own in by_data(paired)]
    if len(goals):
        parts += ["## Goals", GOALS, markdown_table(goals.rename(columns=lambda name: name.replace("_", " ")))]
    return "\n\n".join(parts)


def claims_of_data(data: str, pairs: Any) -> str:
    """Returns the claims of one data set, and what its pairs are made by."""
    return f"{data}, paired by {pairs['paired_by'].iloc[0]}\n\n{markdown_table(pairs[SHOWN])}"


def by_data(table: Any) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yields the rows of each data set without its name, in the order in which these come."""
    for data, rows in table.groupby("data", sort=False):
        yield str(data), rows.drop(columns="data")


def of_data(data: str, means: Any, thesis: Any) -> Iterator[str]:
    """Yields heading and tables of one data set: those of the thesis, then all arms that stand in none of them. The bar
    stands below each."""
    yield f"## {data}"
    bar, shown = means[means["bar"]], set[str]()
    own = thesis[thesis["data"] == data] if len(thesis) else thesis
    for (number, title), rows in own.groupby(["table", "title"], sort=False) if len(own) else ():
        table = pd.concat([rows, bar[~bar["arm"].isin(rows["arm"])]], ignore_index=True)
        yield f"Table {number} of the thesis: {title}\n\n{markdown_table(cells(table, printed=True))}"
        yield tested_on(KNOWN[str(number)], means)
        if KNOWN[str(number)].note:
            yield KNOWN[str(number)].note
        shown |= set(rows["arm"])
    rest = means[~means["arm"].isin(shown) | means["bar"]].sort_values("bar", kind="stable")
    if len(rest) > int(rest["bar"].sum()) or not shown:
        heading = "Controls and baselines\n\n" if shown else ""
        yield f"{heading}{markdown_table(cells(rest, printed=False))}"
    if base(data) == "mmmo" and means["arm"].map(joins).any():
        yield BY_PLACE
    if means["drawn_anew"].eq(True).any():
        yield DRAWN_ANEW


def joins(arm: str) -> bool:
    """Returns whether an arm joins modalities, or encodings, step by step."""
    own = plan(arm)
    return own is not None and (own.back == "double" or any(len(stream) > 1 for stream in own.streams))


def tested_on(table: Table, means: Any) -> str:
    """Returns which test part the numbers found are of, and which those that the thesis prints."""
    count, stand_in = means["samples"].max(), bool(means["stand_in"].any())
    splits = [str(split) for split in means["split"].dropna().unique() if split]
    own = "generated utterances in place of missing files" if stand_in else ", ".join(SPLITS[one] for one in splits)
    here = f"Here: {own}" if missing(count) else f"Here: {own}, {count:.0f} test utterances"
    if not table.split:
        return f"{here}. The thesis does not say which samples it tested on."
    theirs = f"{SPLITS[table.split]}, {table.samples}"
    if splits == [table.split] and count == table.samples and not stand_in:
        return f"Here as in the thesis: {theirs} test utterances."
    other = "" if missing(count) else " These are not the same samples."
    return f"{here}; the thesis: {theirs}.{other}"


def cells(table: Any, *, printed: bool) -> pd.DataFrame:
    """Returns the rows as words. printed: with what the thesis prints of each beside it."""
    rows = table.to_dict("records")
    columns = {"figure": [word(row.get("figure")) for row in rows]} if printed else {}
    columns |= {"model": [word(row.get("model")) for row in rows]} if printed else {}
    columns |= {"arm": [arm_of(row) for row in rows], "read": [word(row.get("read")) for row in rows]}
    for name, title in NAMED.items():
        columns[title] = [spread(row, name) for row in rows]
        if name in ("accuracy", "mae"):
            columns[f"{title}, 95 %"] = [interval(row, name) for row in rows]
    if printed:
        columns["thesis: " + ", ".join(NAMED.values())] = [printed_of(row) for row in rows]
    columns["error without others"] = [without(row) for row in rows]
    columns["R²"] = [explained(row, translation_columns(table)) for row in rows]
    for name, title in {"parameters": "parameters", "parameters_at_test": "at test", "jobs": "jobs"}.items():
        columns[title] = [whole(row.get(name)) for row in rows]
    columns["seconds"] = [number(row.get("seconds"), ".3g") for row in rows]
    kept = {name: texts for name, texts in columns.items() if any(texts) or name == "arm"}
    return pd.DataFrame(kept)


def word(value: Any) -> str:
    """Returns a value as a word, "" where it is missing."""
    return "" if missing(value) else str(value)


def whole(value: Any) -> str:
    """Returns a value as a whole number, "" where it is missing."""
    return "" if missing(value) else str(int(value))


def number(value: Any, form: str) -> str:
    """Returns a value in a format, as ".3f", "" where it is missing."""
    return "" if missing(value) else f"{value:{form}}"


def arm_of(row: dict[str, Any]) -> str:
    """Returns the arm, and what is to be known of it: whether it is the bar, did not run, or has features trained on
    labels."""
    own = {"the bar": row.get("bar"), "not run": missing(row.get("jobs")), "trained on labels": row.get("contaminated")}
    marks = [mark for mark, said in own.items() if said is True]
    name = named(str(row["arm"]), str(row["data"]), stand_in=row.get("stand_in") is True)
    return f"{name} ({', '.join(marks)})" if marks else name


def spread(row: dict[str, Any], name: str) -> str:
    """Returns the mean of a score as a word, with its deviation where there is one."""
    deviation = row.get(f"{name}_sd")
    return number(row.get(name), ".3f") + (f" ± {deviation:.3f}" if deviation and not missing(deviation) else "")


def interval(row: dict[str, Any], name: str) -> str:
    """Returns the interval of a score in words; "" where it is not known."""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    return "" if missing(low) or missing(high) else f"{low:.3f} to {high:.3f}"


def without(row: dict[str, Any]) -> str:
    """Returns the error of the test part without some modalities, and which these are; "" where it was not measured."""
    return "" if missing(row.get("missing_error")) else f"{row['missing_error']:.3f} (without {row['missing']})"


def printed_of(row: dict[str, Any]) -> str:
    """Returns the scores that the thesis prints, with "–" for one that it does not; "" where it prints none."""
    own = [row.get(f"printed_{name}") for name in SCORES]
    return "" if all(map(missing, own)) else ", ".join(number(value, ".3f") or "–" for value in own)


def explained(row: dict[str, Any], columns: list[str]) -> str:
    """Returns R² of each stream that an arm translates into, and of the way back."""
    named = {name.removeprefix("translation_r2_"): row.get(name) for name in columns} | {"back": row.get("cycle_r2")}
    return ", ".join(f"{stream} {value:.2f}" for stream, value in named.items() if not missing(value))
