"""Two methods compared in pairs by whether each fails: the pairs in which one alone fails say which fails less often
(McNemar 1947)."""

from __future__ import annotations

import math

from pipeline.compare.statistics import CONFIDENCE, Interval


def mcnemar_p(only_baseline: int, only_challenger: int) -> float:
    """Returns the two-sided p of McNemar's exact test: how rarely a fair coin divides the pairs in which one alone
    fails as unevenly as this; 1 where there is no such pair."""
    from scipy import stats

    unlike = only_baseline + only_challenger
    return float(stats.binomtest(only_baseline, unlike).pvalue) if unlike else 1.0


def difference_interval(only_baseline: int, only_challenger: int, pairs: int) -> Interval:
    """Returns the 95 % interval of the challenger's share of failures less the baseline's.

    Wald's with one pair more of either kind (Bonett and Price 2012), so that it has a width where none was seen.
    """
    from scipy import stats

    less, more = (only_baseline + 1) / (pairs + 2), (only_challenger + 1) / (pairs + 2)
    half = float(stats.norm.ppf((1 + CONFIDENCE) / 2)) * math.sqrt((less + more - (more - less) ** 2) / (pairs + 2))
    return Interval(max(more - less - half, -1.0), min(more - less + half, 1.0))
