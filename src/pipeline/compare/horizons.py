"""Jobs that were scored at several horizons: a row for each of them, and their names in figures."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.compare.comparison import Comparison


def by_horizon(jobs: Any, comparison: Comparison) -> pd.DataFrame:
    """Returns a row for each job and horizon that it was scored at, with the columns that `statistics` reads; `count`
    is the horizon."""
    prefix = comparison.horizon
    further = {int(name.removeprefix(prefix)): name for name in jobs if prefix and name.startswith(prefix)}
    columns = {1: comparison.column} | dict(sorted(further.items()))
    plain = jobs.drop(columns=list(columns.values()))
    parts = [plain.assign(count=horizon, error=jobs[name]) for horizon, name in columns.items()]
    return pd.concat(parts, ignore_index=True).dropna(subset="error")


def drawn(means: Any) -> pd.DataFrame:
    """Returns the means with the horizon in the name of the panel, where it is more than one step."""
    ahead = means["horizon"].map(lambda horizon: "" if horizon == 1 else f", {horizon} steps ahead")
    return means.assign(data=means["data"] + ahead)
