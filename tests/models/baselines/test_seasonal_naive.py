"""The seasonal naive model, and the season that is found in a series."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from models.baselines.seasonal_naive import Seasonal, SeasonalNaive
from models.forecasting import rolling
from models.forecasting.filtering import MaskedSequences, filter_sequences, filter_unequal
from models.forecasting.rolling import forecast_from_everywhere, roll
from models.forecasting.season import autocorrelation, find_season, find_seasons
from oracles import final_state
from small_problems import oscillation, small_problem, with_gap


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def whole(values: Tensor) -> MaskedSequences:
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values, mask, mask)


def with_season(season: int, *, sequences: int = 1, steps: int = 240, noise: float = 0.5) -> Tensor:
    """A trend, a season of no simple shape, and noise that is alike from step to step, standardised."""
    time = torch.arange(steps, dtype=torch.float64)
    shape = torch.exp(-((time % season - 0.6 * season) / (0.15 * season)).square())
    rough = normal(sequences, steps, 2, seed=1)
    for t in range(1, steps):
        rough[:, t] += 0.5 * rough[:, t - 1]
    values = 3 * shape[:, None] + 0.01 * time[:, None] + noise * rough
    return (values - values.mean((0, 1))) / values.std((0, 1))


def without_rows(values: Tensor, rows: slice) -> MaskedSequences:
    mask = torch.ones_like(values, dtype=torch.bool)
    mask[:, rows] = False
    return MaskedSequences(torch.where(mask, values, 0.0), mask, mask)


class Largest(TorchDispatchMode):
    """bytes: of the largest storage that an operation gave back."""

    bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if isinstance(found, Tensor):
            self.bytes = max(self.bytes, found.untyped_storage().nbytes())
        return found


def test_it_says_the_row_a_season_ago_and_the_last_one_before_that() -> None:
    values, model = normal(2, 9, 3), SeasonalNaive(dimension=3, season=4).double()
    found = filter_sequences(model, values, torch.ones_like(values, dtype=torch.bool)).predictions
    assert not bool(found[:, 0].any())
    assert torch.equal(found[:, 1:4], values[:, :3])
    assert torch.equal(found[:, 4:], values[:, :5])


@pytest.mark.parametrize("seen", [1, 3, 4, 7])
def test_a_forecast_beyond_a_season_repeats_it_and_a_short_history_its_last_row(seen: int) -> None:
    values, model = normal(1, seen, 2), SeasonalNaive(dimension=2, season=4).double()
    state = final_state(model, values, torch.ones_like(values, dtype=torch.bool))
    rows = [*values[0]]
    for _ in range(11):
        rows.append(rows[-4] if len(rows) >= 4 else rows[-1])
    assert torch.equal(roll(model, state, 11)[0], torch.stack(rows[seen:]))


@pytest.mark.parametrize("change", [MaskedSequences._make, with_gap], ids=["complete", "gaps"])
def test_filtering_at_once_is_filtering_step_by_step(change) -> None:
    class Slow:
        """The same model without its fast way."""

        def __init__(self) -> None:
            self.fast = SeasonalNaive(dimension=2, season=7).double()
            self.initial_state, self.predict, self.update = (
                self.fast.initial_state, self.fast.predict, self.fast.update,
            )  # fmt: skip

    part = change(oscillation(3))
    slow = Slow()
    fast, expected = (filter_sequences(model, part.values, part.mask) for model in (slow.fast, slow))
    assert torch.equal(fast.predictions, expected.predictions)
    assert torch.equal(fast.filled, expected.filled)
    assert torch.equal(fast.states[2], expected.states[2])
    ahead, slowly = (forecast_from_everywhere(slow.fast, found.states, 9) for found in (fast, expected))
    assert torch.equal(ahead, slowly)


def test_rows_missing_at_the_beginning_are_not_seen() -> None:
    values, model = normal(1, 12, 2), SeasonalNaive(dimension=2, season=4).double()
    late = without_rows(values, slice(0, 3))
    found = filter_sequences(model, late.values, late.mask).predictions[0]
    assert not bool(found[:4].any())
    assert torch.equal(found[4:7], values[0, 3:6])  # the last value, as in a sequence that begins at row 3
    assert torch.equal(found[7:], values[0, 3:8])
    assert int(final_state(model, late.values[:, :5], late.mask[:, :5])[2]) == 2


def test_a_long_season_is_not_written_out_for_every_row() -> None:
    season, steps = 50, 400
    part, model = without_rows(normal(1, steps, 2), slice(90, 95)), SeasonalNaive(dimension=2, season=season).double()
    found = filter_sequences(model, part.values, part.mask)
    assert found.states[0].untyped_storage().nbytes() == (steps + season) * 2 * 8
    state = final_state(model, part.values, part.mask)
    assert model.update(state, model.predict(state))[0] is state[0]
    assert model.update(state, model.predict(state) + 1)[0] is not state[0]


def test_forecasts_from_everywhere_copy_a_block_of_states_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "ROLL_BATCH", 16)
    part, model = whole(normal(2, 400, 2)), SeasonalNaive(dimension=2, season=50).double()
    states = filter_sequences(model, part.values, part.mask).states
    expected = torch.stack([roll(model, tuple(s[:, t] for s in states), 3) for t in range(400)], 1)
    with Largest() as largest:
        found = rolling.forecast_from_everywhere(model, states, 3)
    assert torch.equal(found, expected)
    assert largest.bytes <= max(16 * 2 * 50 * 8, found.untyped_storage().nbytes())


def test_sequences_of_unequal_length_are_forecast_as_each_by_itself() -> None:
    model, lengths = SeasonalNaive(dimension=2, season=5).double(), (3, 12, 6)
    series = [normal(length, 2, seed=length) for length in lengths]
    masks = [torch.ones_like(one, dtype=torch.bool) for one in series]
    _, states = filter_unequal(model, series, masks)
    together = roll(model, states, 6)
    for i, one in enumerate(series):
        alone = roll(model, final_state(model, one[None], masks[i][None]), 6)[0]
        assert torch.equal(together[i], alone)


@pytest.mark.parametrize("season", [5, 12, 24])
def test_a_season_is_found_under_trend_and_noise_also_with_gaps_and_in_short_series(season: int) -> None:
    values = with_season(season)
    found = find_season(whole(values))
    assert found is not None
    assert found[0] == season
    gaps = find_season(without_rows(values, slice(30, 47)))
    assert gaps is not None
    assert gaps[0] == season
    many = with_season(season, sequences=5, steps=4 * season)
    assert (find_season(whole(many)) or (0,))[0] == season
    assert find_season(whole(values), most=season - 1) is None


@pytest.mark.parametrize("steps", [4, 60, 300, 2000])
def test_noise_walks_and_lines_have_no_season(steps: int) -> None:
    noise = normal(1, steps, 2)
    line = torch.arange(steps, dtype=torch.float64).reshape(1, -1, 1)
    for values in (noise, noise.cumsum(1), line, torch.zeros(1, steps, 1, dtype=torch.float64)):
        assert find_season(whole(values)) is None


def test_autocorrelation_is_the_sum_that_its_formula_says() -> None:
    part = without_rows(normal(2, 20, 3).cumsum(1), slice(4, 6))
    rest = []
    for values, mask in zip(part.values, part.mask, strict=True):
        rows = mask[:, 0]
        line = torch.stack([torch.ones(20), torch.arange(20)], 1).double()
        fit = torch.linalg.lstsq(line[rows], values[rows]).solution
        rest.append(torch.where(mask, values - line @ fit, 0.0))
    x = torch.stack(rest)
    products = torch.stack([(x[:, : 20 - lag] * x[:, lag:]).sum() for lag in range(8)])
    torch.testing.assert_close(autocorrelation(part, most=7), products / products[0], rtol=1e-10, atol=1e-12)


def test_a_series_without_an_observation_has_no_say_in_the_season() -> None:
    part = whole(normal(2, 60, 1) + torch.sin(torch.arange(60) * torch.pi / 5).reshape(1, -1, 1) * 5)
    silent = part._replace(mask=part.mask & torch.tensor([True, False]).view(2, 1, 1))
    alone = MaskedSequences(*(tensor[:1] for tensor in part))
    torch.testing.assert_close(autocorrelation(silent, most=20), autocorrelation(alone, most=20))
    assert find_season(silent) == find_season(alone) is not None


def test_the_method_finds_its_season_or_says_that_there_is_none() -> None:
    problem = small_problem()._replace(train=whole(with_season(12)))
    model, chosen = Seasonal().fit(problem)
    assert chosen == {"season": 12}
    assert isinstance(model, SeasonalNaive)
    assert Seasonal(season=7).fit(problem).chosen == {"season": 7}
    with pytest.raises(ValueError, match=r"no clear season; give its steps \(season\), or take another model$"):
        Seasonal().fit(problem._replace(train=whole(normal(1, 300, 2))))
    with pytest.raises(ValueError, match="a season has at least 1 step, got 0"):
        Seasonal(season=0).fit(problem)


def test_a_pure_wave_has_its_own_period_and_not_a_multiple() -> None:
    wave = torch.sin(2 * math.pi * torch.arange(600, dtype=torch.float64) / 25).reshape(1, -1, 1)
    assert (find_season(whole(wave)) or (0,))[0] == 25


def beside_noise(wave: Tensor, *, seed: int) -> MaskedSequences:
    """A wave (time,) with some noise in one column and noise alone in another."""
    found = torch.stack([wave, torch.zeros_like(wave)], 1) + normal(1, len(wave), 2, seed=seed) * torch.tensor(
        [0.3, 1.0]
    )
    return whole((found - found.mean(1, keepdim=True)) / found.std(1, keepdim=True))


@pytest.mark.parametrize("seed", range(8))
def test_noise_beside_it_makes_no_multiple_of_a_season_the_season(seed: int) -> None:
    week = torch.tensor([-1.0, -0.5, 0.25, 0.0, 1.25], dtype=torch.float64).repeat(100)
    part = beside_noise(week, seed=seed)
    for found in ((find_season(part) or (0,))[0], find_seasons(part).shortest):
        assert found == 5


@pytest.mark.parametrize("seed", range(8))
def test_half_a_season_with_a_much_lower_peak_is_not_the_season(seed: int) -> None:
    time = torch.arange(500, dtype=torch.float64)
    wave = torch.sin(2 * math.pi * time / 6) + 0.45 * torch.sin(2 * math.pi * time / 12)
    part = beside_noise(wave, seed=seed)
    for found in ((find_season(part) or (0,))[0], find_seasons(part).shortest):
        assert found == 12


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("steps", [48, 60])
def test_a_short_series_has_its_longer_season(steps: int, seed: int) -> None:
    """r falls by a quarter from a lag of 0 to one of 12 among 48 rows, and half the season falls by an eighth."""
    time = torch.arange(steps, dtype=torch.float64)
    wave = torch.sin(2 * math.pi * time / 6) + 0.35 * torch.sin(2 * math.pi * time / 12)
    one, three = (wave.reshape(1, -1, 1) + 0.1 * normal(count, steps, 1, seed=seed) for count in (1, 3))
    for part in (whole(one), whole(three)):
        for found in ((find_season(part) or (0,))[0], find_seasons(part).shortest):
            assert found == 12


@pytest.mark.parametrize("seed", range(4))
def test_two_weeks_are_the_season_where_every_second_week_has_a_day_of_its_own(seed: int) -> None:
    days = torch.arange(280)
    week = torch.tensor([0.0, 0.3, 0.4, 0.1, 0.6, 1.4, 1.1], dtype=torch.float64)
    values = week[days % 7] + 0.4 * (days % 14 == 0) + 0.1 * normal(280, seed=seed)
    assert (find_season(whole(values.reshape(1, -1, 1))) or (0,))[0] == 14


def test_a_week_that_explains_most_of_what_a_day_leaves_is_the_season() -> None:
    time = torch.arange(24 * 7 * 12, dtype=torch.float64)
    weekend = ((time // 24) % 7 >= 5).double()
    wave = torch.sin(2 * math.pi * time / 24) + 1.5 * weekend
    assert (find_season(whole(wave.reshape(1, -1, 1))) or (0,))[0] == 168
