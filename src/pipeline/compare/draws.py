"""The table of jobs that two arms are compared by: what is checked of it, and which draws of it count.

A job is a row: data, arm, count (number of features), seed, error (mean squared error), stable, stand_in. A draw is
*usable* when stable, its error finite and positive; the others are counted and enter no ratio, difference or mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pandas as pd

JOB_COLUMNS = ["data", "arm", "count", "seed", "error", "stable", "stand_in"]


def groups(table: pd.DataFrame, *keys: str, sort: bool = True) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yields the values of the keys, as a tuple, and the rows that have them; sorted, or in the table's order."""
    for key, rows in table.groupby(list(keys), sort=sort):
        yield cast("tuple[Any, ...]", key), rows


def jobs_of_arm(jobs: pd.DataFrame, name: str) -> pd.DataFrame:
    return cast("pd.DataFrame", jobs[jobs["arm"] == name])


def is_usable(jobs: pd.DataFrame) -> np.ndarray:
    error = jobs["error"].to_numpy(dtype=np.float64)
    return jobs["stable"].to_numpy(dtype=bool) & np.isfinite(error) & (error > 0)


def share_of(flags: np.ndarray) -> float:
    return float(flags.mean()) if len(flags) else math.nan


def jobs_of_two_arms(jobs: pd.DataFrame, baseline: str, challenger: str) -> pd.DataFrame:
    """Returns the jobs of the two arms. Raises ValueError where a column or an arm lacks, the arms are the same, or a
    seed occurs twice."""
    lacking = [name for name in JOB_COLUMNS if name not in jobs.columns]
    if lacking:
        raise ValueError(f"compare: the table of jobs has no column {', '.join(lacking)}; add it")
    if baseline == challenger:
        raise ValueError(f"compare: baseline and challenger are both {baseline!r}; name two arms")
    known = set(jobs["arm"])
    for name in (baseline, challenger):
        if name not in known:
            raise ValueError(f"compare: there is no job of arm {name!r}; there are {', '.join(sorted(known))}")
    rows = jobs.loc[jobs["arm"].isin((baseline, challenger))]
    twice = rows.loc[rows.duplicated(JOB_COLUMNS[:4])]
    if len(twice):
        data, arm, count, seed = (twice[name].iloc[0] for name in JOB_COLUMNS[:4])
        where = f"arm {arm!r}, data {data}, count {count}, seed {seed}"
        raise ValueError(f"compare: two jobs have {where}; compare jobs that differ in nothing else")
    return rows
