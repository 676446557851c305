"""Paired comparison of two arms over seeds: by how much, how sure, and what may be claimed. Pure functions.

The jobs are those of `pipeline.compare.draws`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.compare import claims
from pipeline.compare.draws import groups, is_usable, jobs_of_arm, jobs_of_two_arms, share_of

CONFIDENCE = 0.95
FEWEST_FOR_INTERVAL = 3
FEWEST_FOR_WILCOXON = 6
ROUNDING = 1e-9  # of the largest error: what errors without chance are apart at most


class Interval(NamedTuple):
    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)


def mean_interval(values: np.ndarray, shared: float = 0.0) -> Interval:
    """Returns the 95 % interval of the mean of n values, mean ± t·s·√(1/n + shared) with Student's t of n − 1 degrees
    of freedom (Student 1908).

    shared: 0 for independent values. For folds of the same samples, of one partition or several, it is the number of
    samples tested on by the number trained on (Nadeau and Bengio 2003, Machine Learning 52; Bouckaert and Frank 2004),
    since what such folds have in common does not average out. s: the standard deviation with n − 1. Of independent
    normal values it covers 95 % whatever their number; the percentile bootstrap covers 76 % at three and 90 % at ten.
    NaN for fewer than three values: they say little about their spread.
    """
    from scipy import stats

    n = len(values)
    if n < FEWEST_FOR_INTERVAL:
        return UNKNOWN
    if np.ptp(values) == 0:
        return Interval(float(values[0]), float(values[0]))
    mean, half = (
        float(values.mean()),
        float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * standard_error(values, shared)),
    )
    return Interval(mean - half, mean + half)


def standard_error(values: np.ndarray, shared: float) -> float:
    """Returns s·√(1/n + shared), the standard error of a mean as `mean_interval` has it."""
    return float(values.std(ddof=1) / math.sqrt(len(values)) * math.sqrt(1 + len(values) * shared))


def p_of(differences: np.ndarray, shared: float = 0.0) -> float:
    """Returns the two-sided p that the mean of differences is 0: by `wilcoxon_p` of independent ones, else by Student's
    t with the standard error of `mean_interval`, from six differences on as well."""
    if not shared or len(differences) < FEWEST_FOR_WILCOXON or not np.ptp(differences):
        return wilcoxon_p(differences)
    return student_p(differences, shared)


def student_p(differences: np.ndarray, shared: float = 0.0) -> float:
    """Returns the two-sided p of Student's t that the mean of n differences is 0, with n − 1 degrees of freedom and the
    standard error of `mean_interval`, whose interval leaves 0 out where p is below 0.05.

    NaN below three differences, and where all are the same.
    """
    from scipy import stats

    if len(differences) < FEWEST_FOR_INTERVAL or not np.ptp(differences):
        return math.nan
    t = abs(float(differences.mean())) / standard_error(differences, shared)
    return float(2 * stats.t.sf(t, len(differences) - 1))


def wilcoxon_p(differences: np.ndarray) -> float:
    """Returns the two-sided p of the signed-rank test (Wilcoxon 1945): how rarely chance alone, each sign by a fair
    coin, makes the smaller of the rank sums of positive and negative differences as small as it is.

    Zero differences are left out, ties share their mean rank; scipy counts exactly where that is feasible. NaN below
    six pairs, where p cannot reach 0.05 (the smallest is 2/2ⁿ); 1 when every difference is zero.
    """
    from scipy import stats

    if len(differences) < FEWEST_FOR_WILCOXON:
        return math.nan
    if not np.any(differences):
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)  # pyright: ignore[reportAttributeAccessIssue]


def holm(p_values: np.ndarray) -> np.ndarray:
    """Returns p adjusted for their number (Holm 1979): the i-th smallest of n becomes max over j ≤ i of (n − j + 1)
    p_j, at most 1. NaN stay NaN and do not count."""
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


def drawn(errors: np.ndarray) -> bool:
    """Returns whether errors (seed,) differ by more than rounding from seed to seed."""
    return bool(len(errors)) and float(np.ptp(errors)) > ROUNDING * float(np.abs(errors).max())


def compare_pairs(
    baseline: pd.DataFrame, challenger: pd.DataFrame, *, shared: float, normal: bool = False
) -> dict[str, Any]:
    """Returns one row of `paired`, from two tables indexed by seed with the columns error and stable. shared: as
    `mean_interval` has it. normal: p assumes normal log ratios, as the interval does, and is `student_p` at every
    number of pairs. Where the seed changes neither error, all pairs are one."""
    seeds = baseline.index.intersection(challenger.index)
    a, b = baseline.loc[seeds], challenger.loc[seeds]
    keep = is_usable(a) & is_usable(b)
    old, new = (side["error"].to_numpy(dtype=np.float64)[keep] for side in (a, b))
    if not (drawn(old) or drawn(new)):
        old, new = old[:1], new[:1]
    logs, differences = np.log(new) - np.log(old), new - old
    interval, difference = (mean_interval(values, shared) for values in (logs, differences))
    return {
        "pairs": len(logs),
        "missing": len(baseline.index.union(challenger.index)) - len(seeds),
        "unstable_pairs": int((~keep).sum()),
        "unstable_share_baseline": share_of(~is_usable(baseline)),
        "unstable_share_challenger": share_of(~is_usable(challenger)),
        "ratio": float(np.exp(logs.mean())) if len(logs) else math.nan,
        "ratio_low": float(np.exp(interval.low)),
        "ratio_high": float(np.exp(interval.high)),
        "median_difference": float(np.median(differences)) if len(logs) else math.nan,
        "mean_difference": float(differences.mean()) if len(logs) else math.nan,
        "mean_difference_low": difference.low,
        "mean_difference_high": difference.high,
        "p": student_p(logs, shared) if normal else p_of(logs, shared),
    }


def paired(jobs: pd.DataFrame, *, baseline: str, challenger: str, shared: float = 0.0) -> pd.DataFrame:
    """Returns per data set and count, over the seeds that both arms have, how the challenger's errors b compare with
    a.

    ratio: exp(mean of log(b/a)), the geometric mean; ratio_low, ratio_high: exp of `mean_interval` of the log ratios.
    median_difference, mean_difference (with interval): of b − a, in the units of the error. p: `p_of` the log
    ratios; shared: of both, as `mean_interval` has it; p_holm: adjusted by Holm over the counts of the data set.
    pairs: those with two usable draws, 1 where neither error is `drawn`; unstable_pairs: the others. missing: seeds
    that one arm lacks. unstable_share_baseline, unstable_share_challenger: shares of the arm's draws that are not
    usable, paired or not.
    A count that one arm lacks altogether is a row without pairs.
    Raises ValueError when a column is missing, an arm has no job, the arms are the same or a seed occurs twice.
    """
    rows = []
    for (data, count), group in groups(jobs_of_two_arms(jobs, baseline, challenger), "data", "count"):
        sides = [jobs_of_arm(group, name).set_index("seed") for name in (baseline, challenger)]
        row = {"data": data, "count": count, "stand_in": bool(np.any(group["stand_in"]))}
        rows.append(row | compare_pairs(*sides, shared=shared))
    table = pd.DataFrame(rows)
    table["p_holm"] = table.groupby("data")["p"].transform(lambda p: holm(p.to_numpy()))
    return table


def better(rows: pd.DataFrame) -> np.ndarray:
    """Returns true for each row of `paired` where p < 0.05 after Holm's adjustment and the interval of the ratio
    lies below 1."""
    return (rows["p_holm"].to_numpy(dtype=np.float64) < claims.ALPHA) & (
        rows["ratio_high"].to_numpy(dtype=np.float64) < 1
    )


def worse(rows: pd.DataFrame) -> np.ndarray:
    """Returns `better` the other way round: the same p, and the interval above 1."""
    return (rows["p_holm"].to_numpy(dtype=np.float64) < claims.ALPHA) & (
        rows["ratio_low"].to_numpy(dtype=np.float64) > 1
    )


def no_less_stable(rows: pd.DataFrame) -> np.ndarray:
    """Returns true for each row of `paired` where the share of draws that are not usable is no larger of the challenger
    than of the baseline. Pairs with such a draw are left out of the ratio, so that a challenger could be `better` by
    the draws that it did not lose."""
    return (rows["unstable_share_challenger"] <= rows["unstable_share_baseline"]).to_numpy()


def ahead(rows: pd.DataFrame) -> np.ndarray:
    """Returns true for each row of `paired` where the challenger is `better` and `no_less_stable`."""
    return better(rows) & no_less_stable(rows)


def verdict(rows: pd.DataFrame) -> str:
    """Returns *holds* where the challenger is `ahead` at more than half of the counts, *does not hold* where it is
    `worse` at more than half, else *undecided*. Stand-in data yields no claim."""
    mostly_ahead, mostly_worse = (bool(2 * side(rows).sum() > len(rows)) for side in (ahead, worse))
    return claims.verdict(supported=mostly_ahead, contradicted=mostly_worse, stand_in=bool(np.any(rows["stand_in"])))


def verdicts(table: pd.DataFrame, claim: str) -> pd.DataFrame:
    """Returns a row per data set of `paired`'s table: at how many counts the challenger is `ahead` (better) or `worse`,
    and the verdict.

    A count with fewer than six pairs, or none, is neither: p is NaN there.
    """
    rows = []
    for (data,), group in groups(table, "data"):
        tally = {"counts": len(group), "better": ahead(group).sum(), "worse": worse(group).sum()}
        rows.append({"data": data, "claim": claim, **tally, "verdict": verdict(group)})
    return pd.DataFrame(rows)


def geometric_means(jobs: pd.DataFrame) -> pd.DataFrame:
    """Returns per data, arm and count the geometric mean of the errors of usable draws, exp of `mean_interval` of
    their logs, and what share of the draws is not usable."""
    rows = []
    for (data, arm, count), group in groups(jobs, "data", "arm", "count"):
        usable = is_usable(group)
        logs = np.log(group["error"].to_numpy(dtype=np.float64)[usable])
        low, high = mean_interval(logs)
        mean = float(np.exp(logs.mean())) if len(logs) else math.nan
        row = {"data": data, "arm": arm, "count": count, "jobs": len(group), "unstable_share": share_of(~usable)}
        rows.append(row | {"error": mean, "error_low": float(np.exp(low)), "error_high": float(np.exp(high))})
    return pd.DataFrame(rows)
