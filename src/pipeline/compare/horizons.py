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
    parts = []
    for horizon, name in columns.items():
        rows = plain.assign(count=horizon, error=jobs[name], said=jobs.get(f"{STABLE}{horizon}"))
        rows = rows.dropna(subset="error")
        parts.append(rows.assign(stable=of_use(rows)).drop(columns="said"))
    return pd.concat(parts, ignore_index=True)


def of_use(rows: Any) -> Any:
    """Returns for each of the rows of one horizon whether the job is stable, and its forecasts do not diverge.

    Where those of all stable jobs of its arm do, they are shown as they are. said: whether they do not diverge, missing
    in tables of older versions, which counts as not diverging.
    """
    apart = rows["stable"] & rows["said"].astype("boolean").fillna(True).astype(bool)
    return rows["stable"] & (apart | ~apart.groupby([rows["data"], rows["arm"]]).transform("any"))


def drawn(means: Any) -> pd.DataFrame:
    """Returns the means with the horizon in the name of the panel, where it is more than one step."""
    ahead = means["horizon"].map(lambda horizon: "" if horizon == 1 else f", {horizon} steps ahead")
    return means.assign(data=means["data"] + ahead)
