"""Jobs that were scored at several horizons: a row for each of them, and their names in figures."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.compare.comparison import STABLE, Comparison


def by_horizon(jobs: Any, comparison: Comparison) -> pd.DataFrame:
    """Returns a row for each job and horizon that it was scored at, with the columns that `statistics` reads; `count`
    is the horizon. At a further horizon a stable job is unstable where its forecasts diverge, see `of_use`."""
    prefix = comparison.horizon
    further = {int(name.removeprefix(prefix)): name for name in jobs if prefix and name.startswith(prefix)}
    columns = {1: comparison.column} | dict(sorted(further.items()))
    plain = jobs.drop(columns=[name for name in jobs if name in columns.values() or name.startswith(STABLE)])
    parts = [
        plain.assign(count=horizon, error=jobs[name], stable=jobs["stable"] & of_use(jobs, horizon))
        for horizon, name in columns.items()
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="error")


def of_use(jobs: Any, horizon: int) -> Any:
    """Returns for each job whether its forecasts so far ahead are of use: they do not diverge, or those of all jobs of
    its arm do, which are then shown as they are. Tables of older versions do not say it; all are of use then."""
    said = jobs.get(f"{STABLE}{horizon}", pd.Series(True, index=jobs.index)).astype("boolean").fillna(True).astype(bool)
    return said | ~said.groupby([jobs["data"], jobs["arm"]]).transform("any")


def drawn(means: Any) -> pd.DataFrame:
    """Returns the means with the horizon in the name of the panel, where it is more than one step."""
    ahead = means["horizon"].map(lambda horizon: "" if horizon == 1 else f", {horizon} steps ahead")
    return means.assign(data=means["data"] + ahead)
