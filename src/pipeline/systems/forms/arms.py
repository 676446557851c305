"""Arms of a multirun beside one another: errors with intervals over drawn cases, differences paired by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.bootstrap import claimed_rows, interval, paired_arms
from pipeline.compare.panels import with_names
from pipeline.systems.forms.claims import arms_of, claims_on

KEPT = ("seconds", "parameters")

ErrorsOfRun = Callable[[str], tuple[float, np.ndarray]]  # of a run, over all cases and over drawn ones, (draw,)


def stand_ins(jobs: Any) -> bool:
    """Returns whether jobs are on data that are generated in place of real ones."""
    return "stand_in" in jobs and bool(jobs["stand_in"].any())


def compared_arms(jobs: Any, names: Mapping[str, str], errors_of: ErrorsOfRun, *, finds: bool = True) -> dict[str, Any]:
    """Returns the tables of a set of jobs, which `labels.labelled` gives, by name: a row an arm, a pair of arms, and a
    claim. names: what tells the set from others, the data first. finds: as of `claims.claims_on`."""
    whole, drawn = dict[str, float](), dict[str, Any]()
    for arm, own in jobs.groupby("arm", sort=False):
        pairs = [errors_of(str(run)) for run in own["run_id"]]
        whole[str(arm)] = float(np.mean([one for one, _ in pairs]))
        drawn[str(arm)] = np.mean([many for _, many in pairs], axis=0)
    stand_in, claims = stand_ins(jobs), claims_on(arms_of(jobs), finds=finds)
    tables = {
        "means": means_of(jobs, whole, drawn), "paired": paired_arms(whole, drawn, stand_in=stand_in),
        "claims": claimed_rows(claims, whole, drawn, stand_in=stand_in),
    }  # fmt: skip
    data, *others = names.values()
    panel = f"{data}: {', '.join(others)}".replace("_", " ")
    return {name: with_names(table, names, panel) for name, table in tables.items()}


def means_of(jobs: Any, whole: Mapping[str, float], drawn: Mapping[str, Any]) -> pd.DataFrame:
    """Returns a row an arm: its error with an interval over cases, and what its jobs had in common."""
    rows = []
    for arm, error in whole.items():
        own = jobs[jobs["arm"] == arm]
        low, high = interval(drawn[arm])
        row = {"arm": arm, "jobs": len(own), "error": error, "low": low, "high": high}
        rows.append(row | {name: float(own[name].mean()) for name in KEPT})
    return pd.DataFrame(rows)
