"""Arms of a multirun beside one another: errors with intervals over drawn cases, differences paired by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.compare.bootstrap import CLAIMED, claimed_rows, interval, paired_arms
from pipeline.compare.markdown import markdown_table
from pipeline.systems.forms.claims import arms_of, claims_on

KEPT = ("seconds", "parameters")

ErrorsOfRun = Callable[[str], tuple[float, np.ndarray]]  # of a run, over all cases and over drawn ones, (draw,)


def joined(tables: list[Any]) -> Any:
    """Returns tables one below the other."""
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


class Compared(NamedTuple):
    """Holds tables of arms by their file: a row an arm, a row a pair of arms, and a row a claim."""

    means: Any
    paired: Any
    claims: Any


def tables_of(sets: Sequence[Compared]) -> dict[str, Any]:
    """Returns the tables of all sets by the names of their files; one without a row is left out."""
    tables = {f"{name}.csv": joined([getattr(own, name) for own in sets]) for name in Compared._fields}
    return {name: table for name, table in tables.items() if len(table)}


def stand_ins(jobs: Any) -> bool:
    """Returns whether jobs are on data that are generated in place of real ones."""
    return "stand_in" in jobs and bool(jobs["stand_in"].any())


def compared_arms(jobs: Any, names: Mapping[str, str], errors_of: ErrorsOfRun, *, finds: bool = True) -> Compared:
    """Returns what is said of a set of jobs, which `labels.labelled` gives. names: what tells the set from others; the
    last is the part. finds: as of `claims.claims_on`."""
    whole, drawn = dict[str, float](), dict[str, Any]()
    for arm, own in jobs.groupby("arm", sort=False):
        pairs = [errors_of(str(run)) for run in own["run_id"]]
        whole[str(arm)] = float(np.mean([one for one, _ in pairs]))
        drawn[str(arm)] = np.mean([many for _, many in pairs], axis=0)
    stand_in, claims = stand_ins(jobs), claims_on(arms_of(jobs), finds=finds)
    tables = (
        means_of(jobs, whole, drawn), paired_arms(whole, drawn, stand_in=stand_in),
        claimed_rows(claims, whole, drawn, stand_in=stand_in),
    )  # fmt: skip
    return Compared(*(with_names(table, names) for table in tables))


def means_of(jobs: Any, whole: Mapping[str, float], drawn: Mapping[str, Any]) -> pd.DataFrame:
    """Returns a row an arm: its error with an interval over cases, and what its jobs had in common."""
    rows = []
    for arm, error in whole.items():
        own = jobs[jobs["arm"] == arm]
        low, high = interval(drawn[arm])
        row = {"arm": arm, "jobs": len(own), "error": error, "low": low, "high": high}
        rows.append(row | {name: float(own[name].mean()) for name in KEPT})
    return pd.DataFrame(rows)


def with_names(table: Any, names: Mapping[str, str]) -> Any:
    """Returns a table with the names of its set in front."""
    data, *others = names.values()
    panel = f"{data}: {', '.join(others)}".replace("_", " ")
    for place, (name, value) in enumerate({**names, "panel": panel}.items() if len(table) else ()):
        table.insert(place, name, value)
    return table


def in_words(tables: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Returns the rows of each set of each table as Markdown, claims beneath a sentence about them."""
    return [part for file, table in tables.items()
            for part in ([CLAIMED] if file == "claims.csv" else []) + table_in_words(table, names)]  # fmt: skip


def table_in_words(table: Any, names: Sequence[str]) -> list[str]:
    """Returns the rows of each set of a table as Markdown."""
    return [f"{panel}\n\n{markdown_table(own.drop(columns=['panel', *names]), digits=4)}"
            for panel, own in table.groupby("panel", sort=False)]  # fmt: skip
