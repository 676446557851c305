"""Two ways compared in pairs by whether each fails: of n pairs, those in which one alone fails say which is better."""

from __future__ import annotations

import math

from pipeline.compare.statistics import LEVEL, Interval


def sign_test_p(one: int, other: int) -> float:
    """Two-sided p of `one` heads and `other` tails of a fair coin (McNemar's test, exact); 1 for none of either."""
    from scipy import stats

    return float(stats.binomtest(one, one + other).pvalue) if one + other else 1.0


def difference_interval(only_baseline: int, only_challenger: int, pairs: int) -> Interval:
    """95 % interval of the challenger's share of failures less the baseline's.

    Wald's with one pair more of either kind (Bonett and Price 2012), so that it has a width where none was seen.
    """
    from scipy import stats

    less, more = (only_baseline + 1) / (pairs + 2), (only_challenger + 1) / (pairs + 2)
    half = float(stats.norm.ppf((1 + LEVEL) / 2)) * math.sqrt((less + more - (more - less) ** 2) / (pairs + 2))
    return Interval(max(more - less - half, -1.0), min(more - less + half, 1.0))
