"""Bandwidth rules."""

import math
import statistics

import pytest
import torch
from torch import Tensor

from models.features import bandwidth as module
from models.features.bandwidth import RULES, BandwidthRule, bandwidth


def generator_of(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def points(rows: int, columns: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(rows, columns, dtype=torch.float64, generator=generator_of(0)).to(dtype)


def all_distances(x: Tensor) -> list[float]:
    rows = x.tolist()
    return [math.dist(a, b) for i, a in enumerate(rows) for b in rows[:i]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_median_pairs_approaches_the_median_of_all_pairs(dtype: torch.dtype) -> None:
    x = points(60, 3, dtype)
    result = bandwidth(x, BandwidthRule("median_pairs"), generator=generator_of(1))
    assert isinstance(result, float)
    assert result == pytest.approx(statistics.median(all_distances(x)), rel=0.02)


@pytest.mark.parametrize("percentile", [10.0, 90.0])
def test_percentile_approaches_the_percentile_of_all_pairs(percentile: float) -> None:
    x = points(60, 3)
    result = bandwidth(x, BandwidthRule("percentile", percentile=percentile), generator=generator_of(1))
    distances = sorted(all_distances(x))
    assert result == pytest.approx(distances[round(percentile / 100 * (len(distances) - 1))], rel=0.02)


def test_percentile_ends_at_the_smallest_and_largest_distance() -> None:
    x = torch.tensor([[0.0], [1.0], [10.0]], dtype=torch.float64)
    rules = [BandwidthRule("percentile", percentile=end, pairs=200) for end in (0.0, 100.0)]
    ends = [bandwidth(x, rule, generator=generator_of(0)) for rule in rules]
    assert ends == [1.0, 10.0]


def test_median_neighbours_compares_consecutive_rows_that_follow_each_other() -> None:
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0], [100.0, 3.0], [100.0, 5.0]], dtype=torch.float64)
    assert bandwidth(x, BandwidthRule("median_neighbours"), generator=generator_of(0)) == 2.5
    adjacent = torch.tensor([True, True, False, True])
    assert bandwidth(x, BandwidthRule("median_neighbours"), generator=generator_of(0), adjacent=adjacent) == 2.0


def test_fixed_is_the_value_and_scale_multiplies_every_rule() -> None:
    x = torch.tensor([[0.0], [2.0]], dtype=torch.float64)
    options = {"median_pairs": {}, "median_neighbours": {}, "percentile": {"percentile": 30.0}, "fixed": {"value": 2.0}}
    assert set(options) == set(RULES)
    for rule, extra in options.items():
        assert bandwidth(x, BandwidthRule(rule, **extra), generator=generator_of(0)) == 2.0
        assert bandwidth(x, BandwidthRule(rule, scale=0.5, **extra), generator=generator_of(0)) == 1.0


def test_equal_seeds_agree_and_different_seeds_do_not() -> None:
    x = points(200, 2)
    results = [bandwidth(x, BandwidthRule(pairs=50), generator=generator_of(s)) for s in (3, 3, 4)]
    assert results[0] == results[1] != results[2]


def test_constant_columns_and_repeated_rows_do_not_count() -> None:
    x = torch.cat([torch.zeros(50, 2), torch.full((50, 2), 3.0)]).double()
    for rule in ("median_pairs", "median_neighbours"):
        assert bandwidth(x, BandwidthRule(rule), generator=generator_of(0)) == pytest.approx(18**0.5)


def test_rows_with_gaps_do_not_count() -> None:
    x = torch.tensor([[0.0], [math.nan], [4.0], [5.0], [math.inf]], dtype=torch.float64)
    assert bandwidth(x, BandwidthRule("median_neighbours"), generator=generator_of(0)) == 1.0
    assert bandwidth(x, BandwidthRule("percentile", percentile=100.0), generator=generator_of(0)) == 5.0


def test_pairs_are_of_different_rows_all_equally_often() -> None:
    first, second = module._pairs(torch.zeros(4, 1), 24_000, generator_of(0))
    counts = torch.bincount(4 * first + second, minlength=16).reshape(4, 4)
    assert bool((counts.diagonal() == 0).all())
    off_diagonal = counts[~torch.eye(4, dtype=torch.bool)]
    assert bool(((off_diagonal - 2000).abs() < 200).all())


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "fixed"])
@pytest.mark.parametrize(
    "x", [torch.ones(5, 2), torch.zeros(1, 2), torch.zeros(0, 2), torch.full((4, 2), math.nan)], ids=str
)
def test_nothing_varies(rule: str, x: Tensor) -> None:
    with pytest.raises(ValueError, match=rf"nothing varies by bandwidth rule {rule}: .* of {len(x)} differ"):
        bandwidth(x, BandwidthRule(rule), generator=generator_of(0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "mean"}, "must be one of median_pairs, median_neighbours, percentile, fixed, got 'mean'"),
        ({"rule": "fixed"}, r"needs a positive, finite value, got None"),
        ({"rule": "fixed", "value": 0.0}, r"needs a positive, finite value, got 0\.0"),
        ({"rule": "fixed", "value": math.nan}, r"needs a positive, finite value, got nan"),
        (
            {"rule": "median_pairs", "value": 2.0},
            r"value is used with rule fixed only, got rule median_pairs",
        ),
        ({"rule": "percentile", "percentile": 101.0}, "must lie between 0 and 100, got 101"),
        ({"rule": "median_neighbours", "percentile": 10.0}, r"used with rule percentile only"),
        ({"rule": "median_pairs", "scale": 0.0}, "scale must be positive and finite, got 0"),
        ({"rule": "median_pairs", "pairs": 0}, "pairs must be at least 1, got 0"),
        ({"rule": "median_neighbours", "pairs": 50}, "pairs is used with rules median_pairs and percentile only, got"),
        ({"rule": "fixed", "value": 2.0, "pairs": 50}, "pairs is used with rules .* only, got rule fixed"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BandwidthRule(**options)


def test_neighbours_have_one_entry_a_pair_of_rows() -> None:
    with pytest.raises(ValueError, match=r"shape \(4,\), got \(5,\)"):
        bandwidth(
            points(5, 2),
            BandwidthRule("median_neighbours"),
            generator=generator_of(0),
            adjacent=torch.ones(5, dtype=torch.bool),
        )
