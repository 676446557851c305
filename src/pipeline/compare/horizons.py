"""Jobs that were scored at several horizons: a row for each of them, and their names in figures."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.compare.comparison import STABLE, Comparison


def by_horizon(jobs: Any, comparison: Comparison) -> pd.DataFrame:
    """Returns a row for each job and horizon that it was scored at, with the columns that `statistics` reads; `count`
    is the horizon. A job is stable at a further horizon where it is stable and its forecasts do not diverge there;
    tables of older versions do not say the latter."""
    prefix = comparison.horizon
    further = {int(name.removeprefix(prefix)): name for name in jobs if prefix and name.startswith(prefix)}
    columns = {1: comparison.column} | dict(sorted(further.items()))
    plain = jobs.drop(columns=[name for name in jobs if name in columns.values() or name.startswith(STABLE)])
    parts = [
        plain.assign(count=horizon, error=jobs[name], stable=jobs["stable"] & stable_at(jobs, horizon))
        for horizon, name in columns.items()
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="error")


def stable_at(jobs: Any, horizon: int) -> Any:
    """Returns for each job whether its forecasts so far ahead are known not to diverge, or nothing is said of them."""
    said = jobs.get(f"{STABLE}{horizon}", pd.Series(True, index=jobs.index))
    return said.astype("boolean").fillna(True).astype(bool)


def drawn(means: Any) -> pd.DataFrame:
    """Returns the means with the horizon in the name of the panel, where it is more than one step."""
    ahead = means["horizon"].map(lambda horizon: "" if horizon == 1 else f", {horizon} steps ahead")
    return means.assign(data=means["data"] + ahead)
