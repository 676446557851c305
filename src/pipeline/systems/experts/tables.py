"""The tables of a multirun of `recipe=experts`: means over seeds, and beside them what the thesis prints. Pure
functions. A row of jobs is a finished job, as `labels.labelled` names it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare.arms import base
from pipeline.compare.statistics import mean_interval
from pipeline.systems.experts.bars import BARS
from pipeline.systems.experts.labels import PAIRS
from pipeline.systems.experts.thesis import TABLES, Table

SCORES = ("nll", "bleu", "chrf")
FEW = 4  # tasks of table 3.4; those of 3.3 are of a translator of eighteen
SIZES = ("parameters", "parameters_active")
OVER_ALL = (
    "test_error", "bleu_xe", "bleu_ex", "chrf_xe", "chrf_ex", "adapter_information", "largest_share", "starved",
    "ms_per_step", "updates", "seconds",
)  # fmt: skip


def means_of(jobs: Any) -> pd.DataFrame:
    """Returns a row per data set and arm: jobs, sizes, and the means over seeds of all scores; of the headline its
    standard deviation and t-interval too, NaN below three seeds."""
    rows = []
    for (data, arm), own in jobs.groupby(["data", "arm"], sort=False):
        errors = own["test_error"].to_numpy(np.float64)
        low, high = mean_interval(errors)
        row: dict[str, Any] = {"data": data, "arm": arm, "jobs": len(own), "stand_in": bool(own["stand_in"].any())}
        row |= {name: int(own[name].max()) for name in SIZES}
        row |= {name: own[name].mean() for name in OVER_ALL if name in own}
        row |= {"test_error_sd": own["test_error"].std(), "test_error_low": low, "test_error_high": high}
        rows.append(row | {"entropy": entropy_of(own)})
    return pd.DataFrame(rows)


def entropy_of(jobs: Any) -> float:
    """Returns the mean entropy of the experts' shares over jobs and layers; NaN of arms without experts."""
    columns = [name for name in jobs if str(name).startswith("balance_entropy_")]
    values = jobs[columns].to_numpy(np.float64) if columns else np.full((1, 1), np.nan)
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def by_task(jobs: Any) -> pd.DataFrame:
    """Returns a row per data set, arm and task: means over seeds of nats a token, BLEU and chrF, their standard
    deviations, t-intervals over seeds, and how far the bootstrap intervals of single jobs reach on the average.

    Behind the arms of a data set stand the simple translations of `BARS`, once for each training and test part.
    """
    rows = []
    for data, own in jobs.groupby("data", sort=False):
        for arm, some in own.groupby("arm", sort=False):
            rows += [{"data": data, "arm": arm, **row} for row in rows_of(some)]
        for shots, some in own.groupby("shots", sort=False):
            pairs = f" pairs={shots}" if own["shots"].nunique() > 1 else ""
            rows += [{"data": data, "arm": f"{bar}{pairs}", **row} for bar in BARS for row in rows_of(some, bar)]
    return pd.DataFrame(rows)


def rows_of(jobs: Any, bar: str = "") -> list[dict[str, Any]]:
    """Returns a row per task that was scored: the scores of jobs, or where it is named those of a bar, equal ones
    once."""
    rows = []
    for task in str(jobs["tasks"].iloc[0]).split():
        name = f"{bar}_{task}" if bar else task
        scored = [f"{score}_{name}" for score in ("bleu", "chrf") if f"{score}_{name}" in jobs]
        if scored:
            own = jobs.drop_duplicates(scored) if bar else jobs
            row: dict[str, Any] = {"task": task, "jobs": len(own)}
            for score in SCORES:
                row |= of_score(own, score, name)
            rows.append(row)
    return rows


def of_score(jobs: Any, score: str, task: str) -> dict[str, float]:
    values = jobs.get(f"{score}_{task}", pd.Series(dtype=float)).dropna()
    low, high = mean_interval(values.to_numpy(np.float64))
    own = {score: values.mean(), f"{score}_sd": values.std(), f"{score}_low": low, f"{score}_high": high}
    if score != "nll":
        ends = [jobs.get(f"{score}_{end}_{task}", pd.Series(dtype=float)).mean() for end in ("low", "high")]
        own |= {f"{score}_sentences_low": ends[0], f"{score}_sentences_high": ends[1]}
    return own


def thesis_of(tasks: Any) -> pd.DataFrame:
    """Returns a row per printed row of the table that is of so many tasks: BLEU that the thesis prints, and what was
    found, by task; NaN of what did not run. tasks: as `by_task` gives them."""
    rows = []
    for data, own in tasks.groupby("data", sort=False):
        found = {(row["arm"], row["task"]): (row["bleu"], row["bleu_sd"]) for row in own.to_dict("records")}
        number = "3.4" if own["task"].nunique() <= FEW else "3.3"
        for table in TABLES:
            common = [task for task in table.tasks if task in set(own["task"]) and table.number == number]
            if base(str(data)) == "mt_small" and common and any((row.arm, common[0]) in found for row in table.rows):
                rows += printed_rows(table, str(data), common, found)
    return pd.DataFrame(rows)


def printed_rows(table: Table, data: str, common: Sequence[str], found: dict[Any, Any]) -> list[dict[str, Any]]:
    """Returns the rows of one printed table. Means are over the tasks that were found of those printed, on both
    sides; bleu_sd: over seeds. found: both, by arm and task."""
    rows, nothing = [], (np.nan, np.nan)
    for printed in table.rows:
        front = {"data": data, "table": table.number, "title": table.title, "model": printed.model, "arm": printed.arm}
        own = {f"printed_{task}": printed.scores[table.tasks.index(task)] for task in common}
        here = {f"bleu_{task}": found.get((printed.arm, task), nothing)[0] for task in common}
        spread = {f"bleu_sd_{task}": found.get((printed.arm, task), nothing)[1] for task in common}
        means = {"printed_mean": np.mean(list(own.values())), "bleu_mean": np.mean(list(here.values()))}
        rows.append(front | own | here | spread | means)
    return rows


def fewshot_of(jobs: Any) -> pd.DataFrame:
    """Returns a row per data set, arm and number of pairs that was asked for: means over seeds of chrF of the new tasks
    before and after they were learned, what was gained, which share that is of what learning with all numbers gains,
    and what was forgotten of the old tasks; empty where no task was learned later."""
    if "new_chrf" not in jobs or not (jobs["shots"] > 0).any():
        return pd.DataFrame()
    later = jobs[jobs["shots"] > 0]
    later = later.assign(gain=later["new_chrf"] - later["zero_shot_chrf"], network=later["arm"].map(base),
                         swept=later["arm"].map(swept_in))  # fmt: skip
    groups = later.groupby(["data", "arm", "shots", "asked"], sort=False)
    return pd.DataFrame([gained(own) | share_of_all(own, later) for _, own in groups])


def swept_in(arm: str) -> str:
    """Returns the settings behind an arm's name, but for the number of pairs."""
    return " ".join(own for own in PAIRS.sub("", arm).split() if "=" in own)


def gained(own: Any) -> dict[str, Any]:
    """Returns what one arm gains with one number of pairs."""
    first, gain = own.iloc[0], own["gain"].to_numpy(np.float64)
    low, high = mean_interval(gain)
    arm = PAIRS.sub("", str(first["arm"]))
    row = {"data": first["data"], "arm": arm, "network": first["network"], "adapt": first["adapt"]}
    row |= {"pairs": int(first["shots"]), "asked": int(first["asked"])}
    row |= {"jobs": len(own), "stand_in": bool(own["stand_in"].any())}
    row |= {name: own[name].mean() for name in ("zero_shot_chrf", "new_chrf", "forgotten")}
    ends = mean_interval(own["new_chrf"].to_numpy(np.float64))
    row |= {"new_chrf_low": ends.low, "new_chrf_high": ends.high}
    row |= {"gain": gain.mean(), "gain_low": low, "gain_high": high}
    return row | {"old_equal": bool((own["old_equal"] == 1).all())}


def share_of_all(own: Any, jobs: Any) -> dict[str, float]:
    """Returns which share the gain of an arm is of that of the same network with all numbers and the same settings,
    over the seeds that both have, with its interval, and the lower end of the interval of the latter gain.

    The share is a ratio of means r = a/b. Its interval is that of the mean of r + (a_s − r b_s)/b over seeds s, linear
    in both gains. Where b is not above 0 by its whole interval, the share says nothing.
    """
    names = ["data", "network", "shots", "asked", "swept"]
    alike = (jobs[names] == own[names].iloc[0]).all(axis=1) & (jobs["adapt"] == "all")
    both = own.set_index("seed")[["gain"]].join(jobs[alike].set_index("seed")["gain"], rsuffix="_all", how="inner")
    mine, whole = both["gain"].to_numpy(np.float64), both["gain_all"].to_numpy(np.float64)
    if not len(both) or not whole.mean():
        return dict.fromkeys(("share_of_all", "share_low", "share_high", "gain_of_all_low"), float("nan"))
    share = mine.mean() / whole.mean()
    low, high = mean_interval(share + (mine - share * whole) / whole.mean())
    return {"share_of_all": share, "share_low": low, "share_high": high, "gain_of_all_low": mean_interval(whole).low}
