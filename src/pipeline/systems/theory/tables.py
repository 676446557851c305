"""Tables of recipe=theory: draws, failures, and what may be claimed of the samplers' order. Pure functions.

The statistics are those of `pipeline.compare.statistics`: a *count* is a number of frequencies m, a *seed* is a draw.
Holm's adjustment is over all m, and over all dimensions of the Gaussian inputs, as "from which n on" looks at them
together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from models.theory.bounds import theorem_2
from pipeline.compare import claims, statistics
from pipeline.compare.draws import JOB_COLUMNS, groups
from pipeline.compare.mcnemar import mcnemar_p
from pipeline.systems.theory.config import TheorySettings
from pipeline.systems.theory.draws import KernelOnInputs, Measured
from pipeline.systems.theory.inputs import GENERATED

PLACE = ["problem", "inputs", "family", "dimension", "kernel", "stand_in"]
QUANTITIES = {"delta": "Δ smaller", "risk": "risk smaller"}
FAILS_LESS_OFTEN = "fails less often"


def place_of(problem: KernelOnInputs) -> dict[str, Any]:
    """Returns the values of the columns `PLACE` for a problem."""
    inputs = problem.inputs
    where = (problem.name, inputs.name, inputs.family, inputs.points.shape[1], problem.kernel_name, inputs.stand_in)
    return dict(zip(PLACE, where, strict=True))


def draws_table(problems: Sequence[KernelOnInputs], measured: Sequence[Measured]) -> pd.DataFrame:
    """Returns a row per draw: `PLACE`, sampler, and the columns of `Row`."""
    parts = [one.draws.assign(**place_of(problem)) for problem, one in zip(problems, measured, strict=True)]
    table: Any = pd.concat(parts, ignore_index=True)
    return table[[*PLACE, "sampler", *(c for c in table.columns if c not in PLACE and c != "sampler")]]


def problems_table(problems: Sequence[KernelOnInputs], measured: Sequence[Measured], ridge: float) -> pd.DataFrame:
    """Returns a row per problem: bandwidth, s_λ(K), risk with K itself and its bound R̄. ridge: λ."""
    rows = []
    for problem, one in zip(problems, measured, strict=True):
        exact = {"statistical_dimension": one.exact.dimension, "risk": one.exact.total, "risk_bound": one.exact.bound}
        size = {"rows": len(problem.inputs.points), "bandwidth": problem.scale, "ridge": ridge}
        rows.append(place_of(problem) | size | exact)
    return pd.DataFrame(rows)


def failure_table(draws: pd.DataFrame, theory: TheorySettings, rows: int) -> pd.DataFrame:
    """Returns a row per problem, sampler, m and threshold a: the share of draws with Δ > a, its 95 % Wilson interval,
    and theorem 2's bound for independent frequencies. rows: N."""
    from scipy import stats

    entries = []
    for key, group in groups(draws, *PLACE, "sampler", "count", sort=False):
        for threshold in theory.thresholds:
            test = stats.binomtest(int((group["delta"] > threshold).sum()), len(group))
            interval = test.proportion_ci(method="wilson")
            bound = theorem_2(threshold, count=int(key[-1]), rows=rows, ridge=theory.ridge)
            entries.append([*key, threshold, len(group), test.k, test.k / test.n, interval.low, interval.high, bound])
    names = [*PLACE, "sampler", "count", "threshold", "draws", "failures", "share", "low", "high", "theorem_2"]
    return pd.DataFrame(entries, columns=pd.Index(names))


def comparisons(theory: TheorySettings) -> list[tuple[str, str]]:
    """Returns the pairs (baseline, challenger): every sampler against the baselines that stand before it in
    theory.samplers."""
    order = {name: place for place, name in enumerate(theory.samplers)}
    return [(b, c) for b in theory.baselines for c in theory.samplers if order[c] > order[b]]


def jobs_of(draws: Any, quantity: str) -> pd.DataFrame:
    """Returns the draws as rows that `statistics` reads. quantity: the column that is the error."""
    names = {"problem": "data", "sampler": "arm", "draw": "seed", quantity: "error"}
    return draws.rename(columns=names).assign(stable=True)[JOB_COLUMNS]


def with_place(table: pd.DataFrame, draws: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of a table of `statistics` with `PLACE` beside them, in the order of the draws."""
    places = draws[PLACE].drop_duplicates()
    return places.merge(table.drop(columns="stand_in").rename(columns={"data": "problem"}), on="problem")


def adjusted(table: pd.DataFrame) -> pd.DataFrame:
    """Returns the table with p_holm, which is adjusted over all rows of one kernel and family: every m, and every
    dimension of the Gaussian inputs."""
    p_holm = table.groupby(["kernel", "family"])["p"].transform(lambda p: statistics.holm(p.to_numpy()))
    return table.assign(p_holm=p_holm)


def paired_table(draws: pd.DataFrame, quantity: str, baseline: str, challenger: str) -> pd.DataFrame:
    """Returns `statistics.paired` for Δ or the risk, a row per problem and m."""
    table = statistics.paired(jobs_of(draws, quantity), baseline=baseline, challenger=challenger)
    words = {"quantity": quantity, "baseline": baseline, "challenger": challenger}
    return adjusted(with_place(table, draws)).assign(**words)


def paired_failures(draws: pd.DataFrame, baseline: str, challenger: str, thresholds: Sequence[float]) -> pd.DataFrame:
    """Returns the difference of the shares of failures, challenger − baseline, a row per problem, m and threshold.

    only_baseline, only_challenger: draws in which that one alone fails. p: `mcnemar_p` of these.
    """
    rows = []
    for key, group in groups(draws, *PLACE, "count", sort=False):
        delta = group.pivot(index="draw", columns="sampler", values="delta")
        for threshold in thresholds:
            failed = delta > threshold
            lost, won = (
                int((failed[a] & ~failed[b]).sum()) for a, b in ((challenger, baseline), (baseline, challenger))
            )
            rows.append([*key, threshold, (lost - won) / len(delta), won, lost, mcnemar_p(won, lost)])
    names = [*PLACE, "count", "threshold", "difference", "only_baseline", "only_challenger", "p"]
    return adjusted(pd.DataFrame(rows, columns=pd.Index(names))).assign(baseline=baseline, challenger=challenger)


def failure_verdict(rows: Any) -> str:
    """Returns the verdict on a claim that a challenger fails less often. *holds*: it does so significantly at some m
    and threshold, and nowhere more often. *does not hold*: the reverse. *undecided*: no difference is seen, or both
    are. Stand-in data give no claim."""
    sure = rows.loc[rows["p_holm"] < claims.ALPHA, "difference"]
    return claims.verdict(supported=(sure < 0).any(), contradicted=(sure > 0).any(), stand_in=rows["stand_in"].any())


def claim_rows(table: pd.DataFrame, claim: str, pair: tuple[str, str]) -> pd.DataFrame:
    """Returns a verdict per problem: `statistics.verdict` where there are ratios, `failure_verdict` for failures. pair:
    baseline and challenger."""
    judge = statistics.verdict if "ratio" in table else failure_verdict
    rows = []
    for key, group in groups(table, *PLACE, sort=False):
        mean = math.exp(float(np.log(group["ratio"]).mean())) if "ratio" in table else math.nan
        rows.append([claim, *pair, *key, mean, judge(group)])
    return pd.DataFrame(rows, columns=pd.Index(["claim", "baseline", "challenger", *PLACE, "mean_ratio", "verdict"]))


def from_which_dimension(rows: pd.DataFrame) -> str:
    """Returns, as words "n = 8", the least measured n at which, and at every larger measured n, the verdict is *holds*;
    "nowhere" where there is none."""
    ordered = rows.sort_values("dimension", ascending=False)
    least = None
    for dimension, verdict in zip(ordered["dimension"], ordered["verdict"], strict=True):
        if verdict != claims.HOLDS:
            break
        least = dimension
    return "nowhere" if least is None else f"n = {least}"


def ordering_table(judged: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per claim, pair and kernel: from which n on the claim holds for Gaussian inputs, and for which
    inputs it does."""
    rows = []
    for (claim, baseline, challenger, kernel), group in groups(
        judged, "claim", "baseline", "challenger", "kernel", sort=False
    ):
        normal = group.loc[group["family"] == GENERATED]
        rows.append(
            {
                "claim": f"{challenger}: {claim} than {baseline}"
                if claim != FAILS_LESS_OFTEN
                else f"{challenger} {claim} than {baseline}",
                "kernel": kernel,
                "holds from": from_which_dimension(normal) if len(normal) else "",
            }
            | claims.places_of(group["verdict"], group["inputs"])
        )
    return pd.DataFrame(rows)


def theorem_1_table(draws: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per problem: how often Δ < 1, so that theorem 1 says something, how often the theorem was violated,
    and how tight it is."""
    rows = []
    for key, group in groups(draws, *PLACE, sort=False):
        said = group.loc[group["delta"] < 1]
        ratio = said["theorem_1"] / said["risk"]
        numbers = [len(group), len(said), int((ratio < 1).sum()), float(ratio.median()) if len(said) else math.nan]
        rows.append([*key, *numbers])
    names = [*PLACE, "draws", "delta_below_1", "violated", "median_bound_over_risk"]
    return pd.DataFrame(rows, columns=pd.Index(names))
