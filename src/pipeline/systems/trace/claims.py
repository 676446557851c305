"""Which method fails less often, paired by trial: the methods of a trial are asked the same queries."""

from __future__ import annotations

import pandas as pd
from torch import Tensor

from pipeline.compare import statistics
from pipeline.compare.sign_test import difference_interval, sign_test_p
from pipeline.settings.schema import TraceConfig
from pipeline.systems.trace.problems import Problem

CLAIMS = (  # baseline and challenger: the challenger fails less often
    ("hutchinson", "hutch_pp"),
    ("hutchinson", "na_hutch_pp"),
    ("na_hutch_pp", "hutch_pp"),
    ("hutch_pp", "xtrace"),
)
VERDICTS = ("holds", "does not hold", "undecided")
COLUMNS = [
    "baseline",
    "challenger",
    "queries",
    "trials",
    "difference",
    "low",
    "high",
    "only_baseline",
    "only_challenger",
]


def compared(failed: dict[str, Tensor], baseline: str, challenger: str, budgets: list[int]) -> pd.DataFrame:
    """A row for each number of queries. failed (run, budget, trial)."""
    rows = []
    for place, queries in enumerate(budgets):
        old, new = (failed[name][:, place] for name in (baseline, challenger))
        won, lost, trials = int((old & ~new).sum()), int((new & ~old).sum()), old.numel()
        interval = [100 * end for end in difference_interval(won, lost, trials)]
        difference = 100 * (lost - won) / trials
        rows.append([baseline, challenger, queries, trials, difference, *interval, won, lost, sign_test_p(won, lost)])
    table = pd.DataFrame(rows, columns=pd.Index([*COLUMNS, "p"]))
    return table.assign(p_holm=statistics.holm(table["p"].to_numpy()))


def verdict(difference: float, p_holm: float) -> str:
    """*holds*: significantly fewer failures; *does not hold*: significantly more; else *undecided*."""
    if p_holm >= statistics.ALPHA:
        return "undecided"
    return "holds" if difference < 0 else "does not hold"


def paired(found: dict[str, Tensor], problem: Problem, settings: TraceConfig) -> pd.DataFrame:
    """For each claim and number of queries: how much less often the challenger fails, and the verdict.

    found: estimates (run, budget, trial). difference: of the shares of failed trials of all runs, challenger less
    baseline, in percent; low, high: its 95 % interval. only_baseline, only_challenger: trials in which that one alone
    fails. p: of the sign test on these; p_holm: adjusted by Holm over the numbers of queries. Stand-in data gives no
    claim.
    """
    limit = settings.estimate.epsilon * abs(problem.trace)
    failed = {name: (estimates - problem.trace).abs() > limit for name, estimates in found.items()}
    chosen = [pair for pair in CLAIMS if set(pair) <= set(failed)]
    parts = [compared(failed, *pair, settings.estimate.queries) for pair in chosen]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=pd.Index([*COLUMNS, "p", "p_holm"]))
    judged = [verdict(d, p) for d, p in zip(table["difference"], table["p_holm"], strict=True)]
    return table.assign(verdict=statistics.NO_CLAIM if problem.data.stand_in else judged)


def claims(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each claim: the numbers of queries of each verdict in `paired`'s table."""
    rows = []
    for baseline, challenger in table[["baseline", "challenger"]].drop_duplicates().itertuples(index=False):
        group = table[(table["baseline"] == baseline) & (table["challenger"] == challenger)]
        at = {name: group.loc[group["verdict"] == name, "queries"] for name in (*VERDICTS, statistics.NO_CLAIM)}
        words = {name: ", ".join(map(str, queries)) or "–" for name, queries in at.items()}
        rows.append({"claim": f"{challenger} fails less often than {baseline}", **words})
    return pd.DataFrame(rows, columns=pd.Index(["claim", *VERDICTS, statistics.NO_CLAIM]))
