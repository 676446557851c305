"""Which method fails less often, paired by trial: the methods of a trial are asked the same queries."""

from __future__ import annotations

import pandas as pd
from torch import Tensor

from pipeline.compare import statistics
from pipeline.compare.claims import ALPHA, VERDICTS, places_of, verdict
from pipeline.compare.mcnemar import difference_interval, mcnemar_p
from pipeline.systems.trace.config import TraceConfig
from pipeline.systems.trace.problems import TraceProblem

CLAIMS = (  # baseline and challenger: the challenger fails less often
    ("hutchinson", "hutch_pp"),
    ("hutchinson", "na_hutch_pp"),
    ("na_hutch_pp", "hutch_pp"),
    ("hutch_pp", "xtrace"),
)
PAIRED_COLUMNS = [
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
    """Compares the failures of two methods and returns a row for each number of queries. failed: by method, (run,
    budget, trial)."""
    rows = []
    for place, queries in enumerate(budgets):
        old, new = (failed[name][:, place] for name in (baseline, challenger))
        won, lost, trials = int((old & ~new).sum()), int((new & ~old).sum()), old.numel()
        interval = [100 * end for end in difference_interval(won, lost, trials)]
        difference = 100 * (lost - won) / trials
        rows.append([baseline, challenger, queries, trials, difference, *interval, won, lost, mcnemar_p(won, lost)])
    table = pd.DataFrame(rows, columns=pd.Index([*PAIRED_COLUMNS, "p"]))
    return table.assign(p_holm=statistics.holm(table["p"].to_numpy()))


def judged(difference: float, p_holm: float, *, stand_in: bool) -> str:
    """Returns the verdict on a difference of failures, challenger less baseline. *holds*: significantly fewer failures;
    *does not hold*: significantly more; else *undecided*. Stand-in data give no claim."""
    sure = p_holm < ALPHA
    return verdict(supported=sure and difference < 0, contradicted=sure and difference > 0, stand_in=stand_in)


def paired(trials: dict[str, Tensor], problem: TraceProblem, settings: TraceConfig) -> pd.DataFrame:
    """Returns for each claim and number of queries how much less often the challenger fails, and the verdict.

    trials: estimates (run, budget, trial). difference: of the shares of failed trials of all runs, challenger less
    baseline, in percent; low, high: its 95 % interval. only_baseline, only_challenger: trials in which that one alone
    fails. p: `mcnemar_p` of these; p_holm: adjusted by Holm over the numbers of queries. Stand-in data give no claim.
    """
    limit = settings.estimate.epsilon * abs(problem.trace)
    failed = {name: (estimates - problem.trace).abs() > limit for name, estimates in trials.items()}
    chosen = [pair for pair in CLAIMS if set(pair) <= set(failed)]
    parts = [compared(failed, *pair, settings.estimate.queries) for pair in chosen]
    table = (
        pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=pd.Index([*PAIRED_COLUMNS, "p", "p_holm"]))
    )
    rows = zip(table["difference"], table["p_holm"], strict=True)
    return table.assign(verdict=[judged(difference, p, stand_in=problem.data.stand_in) for difference, p in rows])


def claims(table: pd.DataFrame) -> pd.DataFrame:
    """Returns a row for each claim: the numbers of queries of each verdict in `paired`'s table."""
    rows = []
    for baseline, challenger in table[["baseline", "challenger"]].drop_duplicates().itertuples(index=False):
        group = table[(table["baseline"] == baseline) & (table["challenger"] == challenger)]
        words = places_of(group["verdict"], group["queries"])
        rows.append({"claim": f"{challenger} fails less often than {baseline}", **words})
    return pd.DataFrame(rows, columns=pd.Index(["claim", *VERDICTS]))
