"""Paired statistics: hand-computed examples, exact enumeration, simulated coverage, and every verdict."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.compare import statistics
from pipeline.compare.claims import NO_CLAIM
from pipeline.compare.markdown import markdown_table, missing
from pipeline.compare.matching import count_that_reaches, matching_counts
from pipeline.compare.statistics import holm, paired, verdicts, wilcoxon_p


def arm_jobs(arm: str, errors: list[float], **columns: str | int | bool) -> pd.DataFrame:
    """A job per error, seeds from 0."""
    table = pd.DataFrame({"data": "walk", "arm": arm, "count": 10, "seed": range(len(errors)), "error": errors})
    return table.assign(**({"stable": True, "stand_in": False} | columns))


def two_arms(iid: list[float], orthogonal: list[float], **columns: str | int | bool) -> pd.DataFrame:
    arms = [arm_jobs("iid", iid, **columns), arm_jobs("orthogonal", orthogonal, **columns)]
    return pd.concat(arms, ignore_index=True)


def compare(jobs: pd.DataFrame) -> pd.DataFrame:
    return paired(jobs, baseline="iid", challenger="orthogonal")


def match(jobs: pd.DataFrame) -> pd.DataFrame:
    return matching_counts(jobs, baseline="iid", challenger="orthogonal")


def noisy(level: float, *, seed: int, size: int = 12) -> list[float]:
    return list(level * np.exp(0.05 * np.random.default_rng(seed).normal(size=size)))


def curves(iid: dict[int, list[float]], orthogonal: dict[int, list[float]]) -> pd.DataFrame:
    parts = [arm_jobs("iid", errors, count=count) for count, errors in iid.items()]
    parts += [arm_jobs("orthogonal", errors, count=count) for count, errors in orthogonal.items()]
    return pd.concat(parts, ignore_index=True)


def test_holm_by_hand() -> None:
    """0.005·4, 0.01·3, 0.03·2, 0.04·1; the last is raised to the one before it."""
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_leaves_nan_out_and_stops_at_one() -> None:
    assert holm(np.array([np.nan, 0.02, 0.9, np.nan])) == pytest.approx([np.nan, 0.04, 0.9, np.nan], nan_ok=True)
    assert holm(np.array([0.7, 0.6])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).shape == (0,)


@pytest.mark.parametrize("negative", [(), (0,), (1, 2), (0, 3), (0, 1, 4), (5,)])
def test_wilcoxon_is_exact_enumeration(negative: tuple[int, ...]) -> None:
    """All 2⁶ assignments of signs, each equally likely."""
    differences = np.array([0.11, 0.23, 0.35, 0.41, 0.52, 0.68])
    differences[list(negative)] *= -1
    ranks = np.arange(1, 7)
    observed = abs(np.sum(ranks * np.sign(differences)))
    extreme = [abs(np.dot(ranks, signs)) >= observed for signs in product((-1, 1), repeat=6)]
    assert wilcoxon_p(differences) == pytest.approx(np.mean(extreme))


def test_wilcoxon_where_it_says_little() -> None:
    assert np.isnan(wilcoxon_p(np.full(5, 0.3)))
    assert wilcoxon_p(np.zeros(8)) == 1.0
    assert wilcoxon_p(np.array([0.0] * 7 + [0.2])) > 0.3
    assert wilcoxon_p(np.full(6, 0.3)) == pytest.approx(2 / 2**6)


def test_one_row_by_hand() -> None:
    row = compare(two_arms([1.0, 2.0, 4.0], [0.5, 2.0, 1.0])).iloc[0]
    assert (row["data"], row["count"], row["pairs"], row["missing"], row["unstable_pairs"]) == ("walk", 10, 3, 0, 0)
    assert row["ratio"] == pytest.approx(0.5)
    assert row["median_difference"] == pytest.approx(-0.5)
    assert row["mean_difference"] == pytest.approx(-3.5 / 3)
    half = 4.302653 * np.std(np.log([0.5, 1, 0.25]), ddof=1) / np.sqrt(3)
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((0.5 * np.exp(-half), 0.5 * np.exp(half)))
    half = 4.302653 * np.std([-0.5, 0, -3], ddof=1) / np.sqrt(3)
    ends = (row["mean_difference_low"], row["mean_difference_high"])
    assert ends == pytest.approx((-3.5 / 3 - half, -3.5 / 3 + half))
    assert np.isnan(row["p"])
    assert np.isnan(row["p_holm"])


@pytest.mark.parametrize("pairs", [1, 2])
def test_few_pairs_have_no_interval(pairs: int) -> None:
    row = compare(two_arms([2.0] * pairs, [1.0] * pairs)).iloc[0]
    assert row[["ratio_low", "ratio_high", "mean_difference_low", "mean_difference_high"]].isna().all()


def test_equal_arms() -> None:
    row = compare(two_arms(noisy(1.0, seed=0), noisy(1.0, seed=0))).iloc[0]
    assert row[["ratio", "ratio_low", "ratio_high", "p", "mean_difference"]].tolist() == [1, 1, 1, 1, 0]


def test_pairs_go_by_seed_not_by_row() -> None:
    jobs = two_arms([1.0, 10.0, 100.0, 1000.0], [0.5, 5.0, 50.0, 500.0])
    row = compare(jobs.sample(frac=1, random_state=np.random.default_rng(3))).iloc[0]
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((0.5, 0.5))


def test_missing_seeds_are_counted() -> None:
    jobs = two_arms([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0])
    gone = ((jobs["arm"] == "iid") & (jobs["seed"] == 4)) | ((jobs["arm"] == "orthogonal") & (jobs["seed"] == 0))
    row = compare(jobs.loc[~gone]).iloc[0]
    assert (row["pairs"], row["missing"], row["unstable_pairs"]) == (3, 2, 0)
    assert row["ratio"] == pytest.approx(2.0)


def test_unstable_draws_are_counted_and_left_out() -> None:
    jobs = two_arms([1.0, np.inf, 1.0, 1.0, 0.0, 1.1], [0.5, 0.5, np.nan, 1e9, 0.5, 0.5])
    jobs.loc[jobs["error"] == 1e9, "stable"] = False
    row = compare(jobs).iloc[0]
    assert (row["pairs"], row["unstable_pairs"], row["missing"]) == (2, 4, 0)
    assert (row["unstable_share_baseline"], row["unstable_share_challenger"]) == pytest.approx((1 / 3, 1 / 3))
    assert row["ratio"] == pytest.approx(0.5 / 1.1**0.5)


def test_nothing_but_unstable_draws() -> None:
    row = compare(two_arms([np.inf] * 8, [1.0] * 8)).iloc[0]
    assert (row["pairs"], row["unstable_pairs"], row["unstable_share_baseline"]) == (0, 8, 1.0)
    assert row[["ratio", "ratio_low", "ratio_high", "median_difference", "mean_difference", "p"]].isna().all()


def test_count_that_one_arm_lacks_is_kept_and_never_better() -> None:
    """One count of three is clearly better: not more than half, although the other two could not be compared."""
    jobs = pd.concat([two_arms(noisy(1.0, seed=1), noisy(0.5, seed=2)), arm_jobs("iid", [1.0] * 8, count=20)])
    table = compare(pd.concat([jobs, arm_jobs("iid", [1.0] * 8, count=40)]))
    assert table["pairs"].tolist() == [12, 0, 0]
    assert table["missing"].tolist() == [0, 8, 8]
    assert table["unstable_share_challenger"].isna().tolist() == [False, True, True]
    assert verdicts(table, "c")["verdict"].tolist() == ["undecided"]


@pytest.mark.parametrize("size", [3, 7, 10])
def test_interval_covers_the_known_ratio(size: int) -> None:
    """Errors of ratio 0.8: 95 % whatever the number of pairs, where a percentile bootstrap has 76 to 90 %."""
    logs = np.random.default_rng(size).normal(np.log(0.8), 0.4, size=(3000, size))
    intervals = np.array([statistics.mean_interval(row) for row in logs])
    covered = (intervals[:, 0] <= np.log(0.8)) & (np.log(0.8) <= intervals[:, 1])
    assert covered.mean() == pytest.approx(0.95, abs=0.012)  # three standard errors


def test_interval_by_hand() -> None:
    """Student's t of two degrees of freedom is 4.3027 at 97.5 %; mean 2, s = 1."""
    half = 4.302653 / np.sqrt(3)
    assert statistics.mean_interval(np.array([1.0, 2.0, 3.0])) == pytest.approx((2 - half, 2 + half))


def test_interval_is_close_to_the_normal_one_for_many_pairs() -> None:
    values = np.random.default_rng(5).normal(1.0, 2.0, size=400)
    expected = stats.norm.interval(0.95, loc=values.mean(), scale=values.std() / 20)
    assert statistics.mean_interval(values) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("pairs", [3, 5, 6, 12])
@pytest.mark.parametrize("level", [0.5, 2.0])
def test_both_verdicts_need_a_test(level: float, pairs: int) -> None:
    """Far apart in every pair, either way round: below six pairs there is no test, and no verdict."""
    table = compare(two_arms(noisy(1.0, seed=1, size=pairs), noisy(level, seed=2, size=pairs)))
    assert (table["ratio_high"].iloc[0] < 1) == (level < 1)
    expected = "undecided" if pairs < 6 else "holds" if level < 1 else "does not hold"
    assert verdicts(table, "c")["verdict"].tolist() == [expected]


def test_an_interval_above_one_without_significance_decides_nothing() -> None:
    """Six pairs of which one is on the other side: the interval excludes 1, p = 2/32 does not."""
    ratios = np.exp([-0.01, 0.30, 0.31, 0.32, 0.33, 0.34])
    for jobs in (two_arms([1.0] * 6, list(ratios)), two_arms(list(ratios), [1.0] * 6)):
        table = compare(jobs)
        assert (table["ratio_low"].iloc[0] > 1) or (table["ratio_high"].iloc[0] < 1)
        assert verdicts(table, "c")["verdict"].tolist() == ["undecided"]


errors = st.floats(1e-6, 1e6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(errors, errors), min_size=1, max_size=12))
def test_swapped_arms_mirror_everything(pairs: list[tuple[float, float]]) -> None:
    jobs = two_arms([a for a, _ in pairs], [b for _, b in pairs])
    there = compare(jobs).iloc[0]
    back = paired(jobs, baseline="orthogonal", challenger="iid").iloc[0]
    assert back["ratio"] == pytest.approx(1 / there["ratio"])
    assert back["ratio_low"] == pytest.approx(1 / there["ratio_high"], nan_ok=True)
    assert back["ratio_high"] == pytest.approx(1 / there["ratio_low"], nan_ok=True)
    assert back["median_difference"] == pytest.approx(-there["median_difference"])
    assert back["mean_difference_low"] == pytest.approx(-there["mean_difference_high"], nan_ok=True)
    assert back["p"] == pytest.approx(there["p"], nan_ok=True)


def three_counts(levels: tuple[float, float, float], **columns: str | bool) -> pd.DataFrame:
    """The challenger's level beside a baseline of 1 at three counts."""
    parts = [
        two_arms(noisy(1.0, seed=i), noisy(level, seed=10 + i), count=10 * 2**i, **columns)
        for i, level in enumerate(levels)
    ]
    return compare(pd.concat(parts, ignore_index=True))


@pytest.mark.parametrize(
    ("levels", "expected", "better", "worse"),
    [
        ((0.5, 0.6, 1.5), "holds", 2, 1),
        ((1.5, 0.5, 1.6), "does not hold", 1, 2),
        ((1.0, 0.5, 1.5), "undecided", 1, 1),
    ],
)
def test_verdicts(levels: tuple[float, float, float], expected: str, better: int, worse: int) -> None:
    found = verdicts(three_counts(levels), "orthogonal better than iid").to_dict("records")
    counted = {"counts": 3, "better": better, "worse": worse, "verdict": expected}
    assert found == [{"data": "walk", "claim": "orthogonal better than iid"} | counted]


@pytest.mark.parametrize(("lost", "verdict", "better"), [(0, "undecided", 0), (1, "undecided", 0), (2, "holds", 1)])
def test_an_arm_is_not_ahead_by_the_draws_that_it_did_not_lose(lost: int, verdict: str, better: int) -> None:
    """Half the error in ten of twelve draws, and two without a usable one, beside a baseline that lost so many."""
    jobs = two_arms(noisy(1.0, seed=1), noisy(0.5, seed=2))
    jobs.loc[(jobs["arm"] == "orthogonal") & (jobs["seed"] < 2), "error"] = np.inf
    jobs.loc[(jobs["arm"] == "iid") & (jobs["seed"] < lost), "stable"] = False
    table = compare(jobs)
    assert (table["pairs"].tolist(), statistics.better(table).tolist()) == ([10], [True])
    assert verdicts(table, "c")[["verdict", "better"]].to_numpy().tolist() == [[verdict, better]]


def test_exactly_half_of_the_counts_is_undecided() -> None:
    assert verdicts(three_counts((0.5, 0.5, 1.5)).iloc[1:], "c")["verdict"].tolist() == ["undecided"]


def test_stand_in_data_yields_no_claim_and_others_do() -> None:
    table = pd.concat([three_counts((0.5, 0.5, 0.5)), three_counts((0.5, 0.5, 0.5), data="fake", stand_in=True)])
    found = verdicts(table, "c").set_index("data")["verdict"]
    assert found.to_dict() == {"walk": "holds", "fake": NO_CLAIM}


def test_p_is_adjusted_within_a_data_set() -> None:
    """p is 1/32 everywhere: below 0.05 alone, and 2/32 not below it when there are two counts."""
    errors = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [0.5] * 6
    jobs = [two_arms(*errors, data="one"), two_arms(*errors, data="two"), two_arms(*errors, data="two", count=20)]
    table = compare(pd.concat(jobs))
    assert table["p_holm"].to_list() == pytest.approx([1 / 32, 2 / 32, 2 / 32])
    assert verdicts(table, "c")["verdict"].tolist() == ["holds", "undecided"]


def test_seeds_that_change_nothing_are_one_pair() -> None:
    """A VAR beside a Kalman filter, say: neither draws anything, and ten seeds say no more than one."""
    row = compare(two_arms([1.0 + seed * 1e-15 for seed in range(10)], [0.9] * 10)).iloc[0]
    assert (row["pairs"], row["ratio"]) == (1, pytest.approx(0.9))
    assert row[["ratio_low", "ratio_high", "p", "p_holm"]].isna().all()
    row = compare(two_arms([1.0 + seed * 1e-3 for seed in range(10)], [0.9] * 10)).iloc[0]
    assert (row["pairs"], row["p"]) == (10, pytest.approx(2 / 2**10))


def test_matching_count_on_power_laws() -> None:
    """Baseline 1/m, challenger 1/(2m): the baseline needs twice as many, and 1/160 lies beyond m = 80."""
    seeds = np.array([0.5, 1.0, 2.0])
    iid = {m: list(seeds / m) for m in (5, 10, 20, 40, 80)}
    found = match(curves(iid, {m: list(seeds / (2 * m)) for m in (7, 10, 40, 80)}))
    assert found["baseline_count"].tolist() == pytest.approx([14, 20, 80, np.nan], nan_ok=True)
    assert found["factor"].tolist() == pytest.approx([2, 2, 2, np.nan], nan_ok=True)
    assert found["text"].tolist() == ["2.0×", "2.0×", "2.0×", "> 1.0× (not reached up to m=80)"]
    assert found["largest_count"].tolist() == [80] * 4
    assert found["factor_low"].tolist() == pytest.approx([2, 2, 2, np.inf])
    assert found["factor_high"].tolist() == pytest.approx([2, 2, 2, np.inf])


def test_matching_count_not_reached_names_the_bound() -> None:
    found = match(curves({20: [1.0], 80: [0.5]}, {20: [0.1]})).iloc[0]
    assert found["text"] == "> 4.0× (not reached up to m=80)"
    assert found[["baseline_count", "factor", "factor_low", "factor_high"]].isna().all()


def test_matching_count_reached_at_the_first_is_a_bound() -> None:
    found = match(curves({20: [1.0], 80: [0.5]}, {80: [2.0]})).iloc[0]
    assert (found["baseline_count"], found["factor"]) == pytest.approx((20, 0.25))
    assert found["text"] == "≤ 0.25× (reached at the smallest, m=20)"


def test_matching_count_takes_the_first_fall_of_a_curve_that_rises_again() -> None:
    found = match(curves({10: [1.0], 20: [0.25], 40: [2.0], 80: [0.1]}, {10: [0.5]})).iloc[0]
    assert found["baseline_count"] == pytest.approx(10 * np.sqrt(2))


def test_matching_count_of_equal_arms_is_one() -> None:
    curve = {m: noisy(1.0 / m, seed=m, size=7) for m in (5, 10, 20)}
    found = match(curves(curve, curve))
    assert found["factor"].tolist() == pytest.approx([1, 1, 1])
    assert found["factor_high"].iloc[-1] == pytest.approx(1)


def test_rounding_is_not_called_unreached() -> None:
    logs = np.log([[1.0, 0.5], [1.0, 0.5]])
    reached = count_that_reaches(np.array([20, 80]), logs, logs[:, 1] - [1e-14, 1e-9])
    assert reached == pytest.approx([80, np.inf])


def test_matching_interval_covers_and_is_reproducible() -> None:
    iid = {m: noisy(1.0 / m, seed=m) for m in (5, 10, 20, 40, 80)}
    jobs = curves(iid, {20: noisy(1.0 / 40, seed=99)})
    found = match(jobs).iloc[0]
    assert found["factor_low"] < 2 < found["factor_high"]
    assert found["factor_low"] < found["factor"] < found["factor_high"]
    pd.testing.assert_series_equal(found, match(jobs).iloc[0])


def test_matching_count_leaves_unstable_draws_out() -> None:
    found = match(curves({10: [1.0, np.inf], 20: [np.nan, np.inf], 40: [0.25, 0.25]}, {10: [0.5, 0.5]})).iloc[0]
    assert found["baseline_count"] == pytest.approx(20)
    blown_up = match(curves({10: [np.inf]}, {10: [0.5]})).iloc[0]
    assert blown_up["text"] == "no stable draw of the baseline"
    assert np.isnan(blown_up["factor"])


def test_geometric_means_by_hand() -> None:
    row = statistics.geometric_means(arm_jobs("iid", [1.0, 4.0, np.inf, 16.0])).iloc[0]
    assert (row["error"], row["unstable_share"], row["jobs"]) == pytest.approx((4.0, 0.25, 4))
    half = 4.302653 * np.log(4) / np.sqrt(3)
    assert (row["error_low"], row["error_high"]) == pytest.approx((4 * np.exp(-half), 4 * np.exp(half)))


def test_errors_say_what_to_do() -> None:
    jobs = two_arms([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"no job of arm 'sobol'; there are iid, orthogonal$"):
        paired(jobs, baseline="iid", challenger="sobol")
    with pytest.raises(ValueError, match=r"both 'iid'; name two arms$"):
        paired(jobs, baseline="iid", challenger="iid")
    with pytest.raises(ValueError, match=r"no column seed, stable; add it$"):
        compare(jobs.drop(columns=["seed", "stable"]))
    with pytest.raises(ValueError, match=r"two jobs have arm 'iid', data walk, count 10, seed 1; compare jobs that"):
        match(pd.concat([jobs, jobs.iloc[[1]]]))


def test_markdown_by_hand() -> None:
    frame = pd.DataFrame({"data": ["a|b", "c"], "ratio": [0.123456, np.nan], "pairs": [20, 3]})
    assert markdown_table(frame) == "| data | ratio | pairs |\n|---|---|---|\n| a\\|b | 0.1235 | 20 |\n| c |  | 3 |"
    assert markdown_table(pd.DataFrame({"x": [1.23456]}), digits=2).endswith("| 1.2 |")


def test_none_and_nan_are_missing_and_nothing_else() -> None:
    assert [missing(value) for value in (None, np.nan, np.float64("nan"))] == [True] * 3
    assert not any(missing(value) for value in (0, 0.0, "", False, np.inf))
