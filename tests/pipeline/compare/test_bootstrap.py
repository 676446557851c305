"""Rates and differences over cases that are drawn again and again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.compare.bootstrap import (
    AT_ONCE,
    DRAWS,
    difference_of,
    drawn_counts,
    drawn_weights,
    draws_for,
    over_draws,
    paired_arms,
    rates,
    with_verdicts,
)


def test_a_rate_is_that_of_all_cases_and_of_drawn_ones() -> None:
    faults, of = np.array([1, 0, 2]), np.array([4, 5, 3])
    whole, drawn = rates(faults, of)
    assert whole == pytest.approx(25.0)
    for row, share in zip(next(drawn_weights(3))[:50].astype(int), drawn[:50], strict=True):
        cases = np.repeat(np.arange(3), row)
        assert share == pytest.approx(100 * faults[cases].sum() / of[cases].sum())


@pytest.mark.parametrize("arms", [2, 14, 15, 40])
def test_a_difference_that_every_draw_shows_is_told_however_many_arms_there_are(arms: int) -> None:
    """From 15 arms on no p of 4000 draws was small enough for Holm's adjustment."""
    draws = draws_for(arms)
    errors = {str(arm): float(arm) for arm in range(arms)}
    drawn = {arm: np.broadcast_to(error, draws) for arm, error in errors.items()}
    assert set(paired_arms(errors, drawn, stand_in=False)["verdict"]) == {"does not hold"}
    assert (draws == DRAWS) == (arms < 15)


def test_fewer_draws_are_the_first_of_more_and_come_in_blocks() -> None:
    blocks = list(drawn_weights(3, DRAWS + 5))
    assert [len(own) for own in blocks] == [DRAWS, 5]
    assert np.array_equal(blocks[0], next(drawn_weights(3)))
    faults, of = np.array([1, 0, 2]), np.array([4, 5, 3])
    (whole, few), (same, many) = rates(faults, of), rates(faults, of, DRAWS + 5)
    assert whole == same
    assert np.array_equal(many[:DRAWS], few)
    assert len(many) == DRAWS + 5


def test_an_error_is_found_of_few_draws_at_a_time_and_is_that_of_all_at_once() -> None:
    """An array of all draws × the boxes of a detector took gigabytes."""
    faults, seen = np.array([1.0, 0.0, 2.0, 5.0]), list[int]()

    def error(weights: np.ndarray) -> np.ndarray:
        seen.append(len(weights))
        return weights @ faults / 7

    whole, drawn = over_draws(error, 4, DRAWS + 5)
    assert max(seen) <= AT_ONCE + 1
    at_once = np.random.default_rng(0).multinomial(4, np.full(4, 1 / 4), size=DRAWS + 5)
    assert whole == 8 / 7
    assert np.array_equal(drawn, at_once @ faults / 7)


@pytest.mark.parametrize("count", [1, 255, 300])
def test_weights_are_those_of_one_draw_by_the_seed(count: int) -> None:
    at_once = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=600)
    assert np.array_equal(np.concatenate(list(drawn_weights(count, 600, at_once=7))), at_once)


def test_jobs_over_the_same_cases_draw_once() -> None:
    drawn_counts.cache_clear()
    for _ in range(3):
        rates(np.array([1, 0, 2]), np.array([4, 5, 3]))
    assert drawn_counts.cache_info().misses == 1


def test_differences_without_a_value_decide_nothing() -> None:
    table = paired_arms({"a": 1.0, "b": 2.0}, {"a": np.full(DRAWS, np.nan), "b": np.ones(DRAWS)}, stand_in=False)
    assert table[["p", "verdict"]].to_numpy().tolist() == [[1.0, "undecided"]]


def test_p_at_the_level_itself_is_not_significant() -> None:
    """As of pairs over seeds: p has to be below 0.05."""
    table = pd.DataFrame({"p_holm": [0.0495, 0.05], "low": [0.1, 0.1], "high": [0.2, 0.2]})
    assert with_verdicts(table, stand_in=False)["verdict"].tolist() == ["does not hold", "undecided"]


def test_draws_without_a_case_to_count_have_no_rate_and_decide_nothing() -> None:
    """A draw in three has the one form with words never."""
    (whole, first), (_, second) = (
        rates(np.array([1, 0, 0]), np.array([4, 0, 0])),
        rates(np.array([2, 0, 0]), np.array([4, 0, 0])),
    )
    assert whole == 25.0
    assert 0.2 < np.isnan(first).mean() < 0.4
    found = difference_of(second - first)
    assert (found["low"], found["high"]) == (25.0, 25.0)
    same = difference_of(np.where(np.arange(DRAWS) % 2, 1.0, np.where(np.isnan(first), np.nan, -1.0)))
    half = np.mean(np.where(np.arange(DRAWS) % 2, True, np.isfinite(first)))
    assert same["p"] == pytest.approx(2 * (1 - 0.5 / half))
    whole, drawn = {"a": 25.0, "b": 50.0}, {"a": first, "b": second}
    known = int(np.isfinite(first).sum())
    assert paired_arms(whole, drawn, stand_in=False)["p"][0] == pytest.approx(2 / known)
    assert paired_arms(whole, drawn, stand_in=True)["verdict"][0] == "no claim (stand-in data)"


def test_few_draws_with_a_value_say_little_however_alike_they_are() -> None:
    """p was 2 / 4000 of any 40 of 4000 draws, all of one sign."""
    differences = np.full(DRAWS, np.nan)
    differences[::100] = -1.0
    assert difference_of(differences) == {"low": -1.0, "high": -1.0, "p": pytest.approx(2 / 40)}
