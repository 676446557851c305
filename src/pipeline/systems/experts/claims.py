"""Which arms of a multirun of `recipe=experts` are compared, and what may be claimed of them. Pure functions.

A row of jobs is a finished job, as `labels.labelled` names it, with a column nll_<task> a task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pipeline.compare import statistics
from pipeline.compare.arms import base
from pipeline.compare.claims import HERE, Claim

KINDS = ("static", "dynamic", "shared")  # of adapters
ALL, LOW = "all", "low-resource"
NLL = "nll_"


OF_ALL_TASKS = (
    *(Claim("task information helps experts", f"token+{kind}", "token") for kind in KINDS),
    *(Claim("experts with task adapters beat a dense network", f"token+{kind}", "dense") for kind in KINDS),
    *(Claim("adapters without experts are behind experts", "token", f"dense+{kind}") for kind in ("static", "dynamic")),
    *(Claim("adapters gain more with experts", f"token+{kind}", f"dense+{kind}") for kind in ("static", "dynamic")),
    Claim("adapters of tasks beat routing by sentence", "token+static", "sentence"),
    Claim("adapters of tasks beat routing by sentence", "token+dynamic", "sentence"),
    Claim("without task information experts are behind a dense network", "dense", "token"),
    Claim("dynamic adapters beat static ones", "token+dynamic", "token+static"),
)  # fmt: skip
OF_FEW_PAIRS = (
    Claim("shared-dynamic adapters help where pairs are few", "token+shared", "token"),
    Claim("dynamic adapters help where pairs are few", "token+dynamic", "token"),
    Claim("even sampling helps where pairs are few", "token+dynamic temperature-5", "token+dynamic"),
)
CONTROLS = (  # for size and chance
    *(Claim("adapters help a dense network", f"dense+{kind}", "dense", HERE) for kind in ("static", "dynamic")),
    Claim("experts beat a dense network of equal work", "token", "dense_wide", HERE),
    Claim("experts beat a dense network of equal size", "token", "dense_total", HERE),
    Claim("more than a dense network of equal work", "token+shared", "dense_wide", HERE),
    Claim("more than a dense network of equal size", "token+shared", "dense_total", HERE),
    Claim("learned routing beats chance", "token", "random", HERE),
    Claim("learned routing beats a fixed one", "token", "hash", HERE),
    Claim("routing by token beats routing by sentence", "token", "sentence", HERE),
    Claim("adapters do more than a tag of the task", "token+shared", "token+tag", HERE),
    Claim("a tag of the task helps experts", "token+tag", "token", HERE),
    Claim("a tag of the task helps a dense network", "dense+tag", "dense", HERE),
    Claim("a static adapter beats an expert of each task", "token+static", "task", HERE),
)  # fmt: skip


def paired_of(jobs: Any) -> pd.DataFrame:
    """Returns a row per data set and claim of which both arms ran: how the nats a token of the first compare with those
    of the second, over seeds; p_holm is adjusted over the claims of a data set.

    Of each seed the ratio is the geometric mean over tasks of the ratios of that task: pairs are of task and seed, and
    the interval is over seeds, as tasks of one seed are of one network. p: `statistics.student_p` at every number of
    seeds, since the least p of Wilcoxon's test, 2/2ⁿ, is not below 0.05 after Holm's adjustment over many claims of few
    seeds. Of variants of an arm, each is seen beside the arm itself.
    """
    tables = [pd.DataFrame(rows_of(own, str(data))) for data, own in jobs.groupby("data", sort=False)]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    if table.empty:
        return table
    table["p_holm"] = table.groupby("data")["p"].transform(lambda p: statistics.holm(p.to_numpy()))
    return table.assign(verdict=[statistics.verdict(table.iloc[[place]]) for place in range(len(table))])


def rows_of(jobs: Any, data: str) -> Iterator[dict[str, Any]]:
    """Yields the claims of one data set, before p is adjusted."""
    arms = list(dict.fromkeys(jobs["arm"]))
    for claim, which in every_claim(arms):
        tasks = tasks_of(jobs, which)
        if {claim.challenger, claim.against} <= set(arms) and tasks:
            sides = [errors_of(jobs[jobs["arm"] == arm], tasks) for arm in (claim.against, claim.challenger)]
            front = {"data": data, **claim._asdict(), "tasks": which, "stand_in": bool(jobs["stand_in"].any())}
            yield front | statistics.compare_pairs(*sides, shared=0.0, normal=True)


def every_claim(arms: Sequence[str]) -> Iterator[tuple[Claim, str]]:
    """Yields each claim, that an arm has fewer nats a token than another, with the tasks that it is of, `ALL` or
    `LOW`."""
    yield from ((claim, ALL) for claim in OF_ALL_TASKS)
    yield from ((claim, LOW) for claim in OF_FEW_PAIRS)
    yield from ((claim, ALL) for claim in (*CONTROLS, *of_variants(arms)))


def of_variants(arms: Sequence[str]) -> Iterator[Claim]:
    """Yields for each arm with other settings that it is better than the arm itself, where no claim says so already."""
    known = {(claim.challenger, claim.against) for claim in (*OF_ALL_TASKS, *CONTROLS)}
    for arm in arms:
        if base(arm) != arm and base(arm) in arms and (arm, base(arm)) not in known:
            yield Claim("other settings are better", arm, base(arm), HERE)


def tasks_of(jobs: Any, which: str) -> list[str]:
    """Returns the tasks that all jobs have scored, or those of them that have few pairs."""
    first = str(jobs["tasks"].iloc[0]).split()
    if which == ALL:
        return first
    low = str(jobs["low"].iloc[0]).split()
    return [task for task in first if task in low and len(low) < len(first)]


def errors_of(jobs: Any, tasks: Sequence[str]) -> pd.DataFrame:
    """Returns the geometric mean over tasks of nats a token, indexed by seed, as `compare_pairs` reads it."""
    logs = np.log(jobs[[f"{NLL}{task}" for task in tasks]].to_numpy(np.float64))
    return pd.DataFrame({"error": np.exp(logs.mean(1)), "stable": True}, index=pd.Index(jobs["seed"], name="seed"))
