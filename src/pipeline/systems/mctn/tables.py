"""The tables of a multirun of `recipe=mctn`: means over seeds, and beside them what the thesis prints. Pure functions.

A row of jobs is a finished job, as `labels.labelled` names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from models.mctn.baselines import NAMES
from pipeline.compare.arms import base
from pipeline.systems.mctn.labels import translation_columns
from pipeline.systems.mctn.roles import roles_of
from pipeline.systems.mctn.thesis import SCORES, TABLES, Printed, Table

KEYS = ["data", "arm"]
BY_GROUP = {  # columns of accuracy.csv, and what they are called among means
    "low": "accuracy_low", "high": "accuracy_high", "mae_low": "mae_low", "mae_high": "mae_high",
    "samples": "samples", "drawn_anew": "drawn_anew",
}  # fmt: skip


def means_of(jobs: pd.DataFrame, accuracy: pd.DataFrame | None = None) -> pd.DataFrame:
    """Returns a row per data set and arm: means over jobs, and `_sd`, their standard deviation (NaN of one job).

    The bar that jobs carry is an arm of its own, `bar` true. accuracy: the rows of `by_video`, for the
    intervals.
    """
    rows = [row_of(own) | dict(zip(KEYS, names, strict=True)) for names, own in grouped(jobs)]
    table = pd.DataFrame([*rows, *bars_of(jobs, rows)])
    table = table[[*KEYS, *table.columns.drop(KEYS)]]
    if accuracy is None or accuracy.empty:
        return table.assign(**dict.fromkeys(BY_GROUP.values(), np.nan))
    intervals = accuracy.rename(columns=BY_GROUP).reindex(columns=[*KEYS, *BY_GROUP.values()])
    return table.merge(intervals, on=KEYS, how="left")


def grouped(jobs: Any) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yields the jobs of each data set and arm, in the order in which these come."""
    yield from jobs.groupby(KEYS, sort=False)


def row_of(own: Any) -> dict[str, Any]:
    """Returns what `means_of` says of the jobs of one arm."""
    first = own.iloc[0]
    row: dict[str, Any] = {
        "read": first["read"], "jobs": len(own), "contaminated": bool(own["contaminated"].any()),
        "stand_in": bool(own["stand_in"].any()), "bar": first["arm"] in set(own["bar"]),
        "default": bool(own["default"].all()),
    }  # fmt: skip
    row |= {"missing": first["missing"], "split": first["split"]}
    if "missing_error" in own:
        row["missing_error"] = own["missing_error"].mean()
    for name in ("error", *SCORES):
        values = own.get(f"test_{name}", pd.Series(dtype=float))
        row |= {name: values.mean(), f"{name}_sd": values.std()}
    row |= {name: own[name].mean() for name in (*translation_columns(own), "cycle_r2") if name in own}
    row |= {name: int(own[name].max()) for name in ("parameters", "parameters_at_test")}
    return row | {"seconds": own["seconds"].mean()}


def bars_of(jobs: Any, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the row of the bar of each data set, as its jobs measured it, where the bar is no arm of its own. The bar
    counts once where all jobs found the same; else the row has mean and deviation of what differs from seed to seed or
    fold to fold."""
    if "bar_error" not in jobs:
        return []
    there = {(row["data"], row["arm"]) for row in known}
    rows = []
    for (data, bar), own in jobs.dropna(subset="bar_error").groupby(["data", "bar"], sort=False):
        if (data, bar) in there:
            continue
        measured = [name for name in ("error", *SCORES) if f"bar_{name}" in own]
        different = own.groupby("seed")[[f"bar_{name}" for name in measured]].first().drop_duplicates()
        scores = {name: different[f"bar_{name}"].mean() for name in measured}
        scores |= {f"{name}_sd": different[f"bar_{name}"].std() for name in measured}
        read = roles_of(bar).letters if bar in NAMES else ""
        front = {"data": data, "arm": bar, "read": read, "jobs": len(different), "contaminated": False}
        rows.append(front | {"stand_in": bool(own["stand_in"].any()), "bar": True, "default": True} | scores)
    return rows


def thesis_of(means: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per printed row of the thesis's tables: what is printed, and beside it what was found, NaN of an
    arm that did not run. A table is there where one of its arms ran, or where it has a note."""
    rows = []
    for data in means["data"].unique():
        here = means[means["data"] == data]
        for table in TABLES:
            if table.data == base(str(data)):
                rows += printed_rows(table, str(data), here)
    return pd.DataFrame(rows)


def printed_rows(table: Table, data: str, here: Any) -> list[dict[str, Any]]:
    """Returns the rows of one printed table; none where no arm of it ran, and no note says why."""
    found = {base(row["arm"]): row for row in here.to_dict("records") if row["default"]}
    if not table.note and not any(printed.arm in found for printed in table.rows):
        return []
    return [
        {"data": data, "table": table.number, "title": table.title, **in_print(printed), **found.get(printed.arm, {})}
        for printed in table.rows
    ]


def in_print(printed: Printed) -> dict[str, Any]:
    """Returns a printed row, its scores by names that begin with `printed_`."""
    own = printed._asdict()
    scores = {f"printed_{name}": np.nan if own[name] is None else own[name] for name in SCORES}
    return {name: own[name] for name in ("figure", "model", "arm")} | scores
