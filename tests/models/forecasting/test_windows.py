"""Errors over whole windows of forecasts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.baselines.persistence import LastValue
from models.baselines.seasonal_naive import SeasonalNaive
from models.forecasting.filtering import MaskedSequences, scored_steps
from models.forecasting.fitting import Problem
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.windows import window_errors
from models.runtime.seeding import generators_of

FIRST, LENGTH = 6, 5


def part(*, unscored: tuple[int, ...] = ()) -> MaskedSequences:
    values = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 20, 2)).cumsum(1))
    mask = torch.ones_like(values, dtype=torch.bool)
    scored = scored_steps(mask, first_step=FIRST)
    scored[1, list(unscored), 0] = False
    return MaskedSequences(values, mask, scored)


def last_value(data: MaskedSequences):
    return LastValue().fit(Problem(data, data, ReadoutSettings(0, (1.0,), "none"), generators_of(0)("weights"))).model


def test_errors_are_means_over_all_steps_of_each_window():
    data = part()
    errors = window_errors(last_value(data), data, LENGTH)
    values = data.values.numpy()
    for t in range(20):
        for i in range(3):
            ahead = values[i, t : t + LENGTH] - values[i, t - 1]
            if FIRST <= t <= 20 - LENGTH:
                assert float(errors.squared[i, t]) == pytest.approx(np.square(ahead).mean())
                assert float(errors.absolute[i, t]) == pytest.approx(np.abs(ahead).mean())
            else:
                assert np.isnan(float(errors.squared[i, t]))
                assert np.isnan(float(errors.absolute[i, t]))
    assert errors.counts.tolist() == [0] * FIRST + [3] * 10 + [0] * 4


def test_windows_with_a_step_that_is_not_scored_are_left_out():
    data = part(unscored=(12,))
    errors = window_errors(last_value(data), data, LENGTH)
    assert errors.counts[8:13].tolist() == [2] * 5
    assert errors.counts[13:16].tolist() == [3] * 3


def test_features_that_are_never_scored_do_not_count() -> None:
    both = part()
    scored = both.scored.clone()
    scored[..., 1] = False
    errors = window_errors(last_value(both), both._replace(scored=scored), LENGTH)
    ahead = both.values[:, FIRST : FIRST + LENGTH, 0] - both.values[:, FIRST - 1, :1]
    torch.testing.assert_close(errors.squared[:, FIRST], ahead.square().mean(1))
    with pytest.raises(ValueError, match="no window of 5 rows is scored throughout"):
        window_errors(last_value(both), both._replace(scored=torch.zeros_like(scored)), LENGTH)


def test_forecasts_that_are_iterated_are_compared_step_by_step():
    data = part()
    model = SeasonalNaive(dimension=2, season=4).double()
    errors = window_errors(model, data, LENGTH)
    values, t = data.values.numpy(), 9
    naive = values[:, [5, 6, 7, 8, 5]]
    np.testing.assert_allclose(errors.squared[:, t].numpy(), np.square(naive - values[:, 9:14]).mean((1, 2)))


@pytest.mark.parametrize("forecast", [torch.nan, torch.inf, -torch.inf])
def test_forecasts_that_are_no_numbers_are_infinitely_wrong(forecast):
    data = part()
    model = last_value(data)
    model.predict = lambda state: torch.full_like(state[0], forecast)
    errors = window_errors(model, data, LENGTH)
    assert bool(torch.stack(list(errors))[:, :, FIRST].isinf().all())


@pytest.mark.parametrize("length", [15, 30])
def test_windows_that_are_longer_than_what_is_scored_are_refused(length):
    data = part()
    with pytest.raises(ValueError, match=f"no window of {length} rows is scored throughout; shorten it"):
        window_errors(last_value(data), data, length)
