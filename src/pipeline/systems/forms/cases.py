"""Whether jobs of one name of data were scored on the same images or forms."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

TOLD = "Jobs that were scored on unlike test images or forms are compared apart, by their number.\n\n"


def by_cases(jobs: Any, rows: Any, truth: Collection[str]) -> pd.DataFrame:
    """Returns labelled jobs with the number of their test cases behind the name of the data, where jobs on data of one
    name were scored on unlike ones: a case of one is then no case of the other.

    rows: what was found of each case by each job, by run_id. truth: the columns that a case has whoever reads it.
    """
    columns = [name for name in truth if name in rows]
    cases = {run: tuple(own[columns].drop_duplicates().itertuples(index=False, name=None))
             for run, own in (rows.groupby("run_id", sort=False) if len(rows) else ())}  # fmt: skip
    known = [(data, cases.get(run, ())) for data, run in zip(jobs["data"], jobs["run_id"], strict=True)]
    seen: dict[str, list[tuple[Any, ...]]] = {}
    for data, own in known:
        seen.setdefault(data, []).extend([own] if own not in seen.get(data, []) else [])
    names = [data if len(seen[data]) == 1 else called(data, own, seen[data]) for data, own in known]
    return jobs.assign(data=pd.Series(names, index=jobs.index, dtype=jobs["data"].dtype))


def called(data: str, cases: tuple[Any, ...], others: list[tuple[Any, ...]]) -> str:
    """Returns the name of data with the number of its cases, and which of those of as many it is."""
    alike = [own for own in others if len(own) == len(cases)]
    number = f", {alike.index(cases) + 1} of {len(alike)}" if alike[1:] else ""
    return f"{data}, {len(cases)} cases{number}"
