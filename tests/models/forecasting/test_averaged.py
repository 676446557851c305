"""An average of models is a model: its forecasts are the means of its members', and it is saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from models.baselines.persistence import Persistence
from models.forecasting.averaged import Averaged
from models.forecasting.filtering import MaskedSequences, filter_sequences, scored_steps
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.readouts.fit import fit_grouped
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.rolling import roll_to
from models.psrnn.cell import PSRNN
from models.runtime.seeding import generators_of
from oracles import final_state


def drawn(seed: int, *, lags: int = 1) -> PSRNN:
    model = PSRNN(frequencies=3, dimension=2, state=4, lags=lags).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.4)
    return model


def values(sequences: int = 3, steps: int = 20) -> torch.Tensor:
    return torch.randn(sequences, steps, 2, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


def beneath_a_readout(model: nn.Module, seed: int) -> nn.Module:
    part = values(4, 40)
    mask = torch.ones_like(part, dtype=torch.bool)
    sequences = MaskedSequences(part, mask, scored_steps(mask, first_step=2))
    settings = GroupedSettings(lags=2, count=3, direct=3)
    return fit_grouped(model, sequences, sequences, settings, generators_of(seed)).model


def test_forecasts_are_the_means_of_the_members() -> None:
    members, seen = [drawn(0), drawn(1), drawn(2, lags=3)], values()
    mask = torch.ones_like(seen, dtype=torch.bool)
    average = Averaged(members)
    found = filter_sequences(average, seen, mask)
    apart = torch.stack([filter_sequences(member, seen, mask).predictions for member in members])
    torch.testing.assert_close(found.predictions, apart.mean(0))
    state = final_state(average, seen, mask)
    ahead = torch.stack([roll_to(member, final_state(member, seen, mask), (1, 4)) for member in members])
    torch.testing.assert_close(roll_to(average, state, (1, 4)), ahead.mean(0))
    torch.testing.assert_close(average.predict(state), ahead[:, :, 0].mean(0))
    assert (average.history, average.lags) == (3, 3)


def test_one_member_is_that_member() -> None:
    member, seen = drawn(0), values()
    mask = torch.rand(seen.shape, generator=torch.Generator().manual_seed(1)) > 0.2
    alone, average = (filter_sequences(model, seen, mask) for model in (member, Averaged([member])))
    assert torch.equal(alone.predictions, average.predictions)
    assert torch.equal(alone.filled, average.filled)


def test_a_gap_is_filled_by_the_mean() -> None:
    average, seen = Averaged([drawn(0), drawn(1)]), values()
    mask = torch.ones_like(seen, dtype=torch.bool)
    mask[:, 5] = False
    found = filter_sequences(average, seen, mask)
    assert torch.equal(found.filled[:, 5], found.predictions[:, 5])
    torch.testing.assert_close(
        found.predictions[:, :5], filter_sequences(average, seen, mask | True).predictions[:, :5]
    )
    assert not torch.equal(found.predictions[:, 7], filter_sequences(average, seen, mask | True).predictions[:, 7])


@torch.no_grad()
@pytest.mark.parametrize("order", [1, -1])
def test_rows_missing_before_the_first_leave_alone_the_members_that_count_rows(order: int) -> None:
    """Beside a member that counts none, whose state moves on."""
    both = [beneath_a_readout(drawn(0), 0), drawn(1)][::order]
    average, rows = forecaster(Averaged(both)), values(1, 9)[0].numpy()
    rows[:4] = np.nan
    series, mask = (part.unsqueeze(0) for part in average.standardised(rows))
    found = filter_sequences(average.model, series, mask)
    counting, other = average.model.states(found.states)[::order]
    assert counting[-1][0, :, 0].tolist() == [0, 0, 0, 0, 0, 1, 2, 2, 2]
    assert not torch.equal(other[0][0, 0], other[0][0, 3])
    online = average.online()
    np.testing.assert_allclose([online.update(row) for row in rows][:-1], average.predict(rows)[1:], rtol=1e-9)
    end = final_state(average.model, series, mask)
    np.testing.assert_allclose(average.forecast(rows, 1), average.in_own_units(average.model.predict(end)), rtol=1e-9)


def forecaster(model: Any) -> Forecaster:
    mean, scale = torch.tensor([10.0, -3.0], dtype=torch.float64), torch.tensor([2.0, 0.5], dtype=torch.float64)
    return Forecaster(model, mean=mean, scale=scale, feature_names=("a", "b"))


@pytest.mark.parametrize("grouped", [False, True])
def test_round_trip_through_files_changes_nothing(grouped: bool, tmp_path: Path) -> None:
    members: list[nn.Module] = [drawn(0), drawn(1)]
    if grouped:
        members = [beneath_a_readout(member, seed) for seed, member in enumerate(members)]
    first = forecaster(Averaged(members))
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    series = np.random.default_rng(0).normal(size=(12, 2)) * [2.0, 0.5] + [10.0, -3.0]
    assert np.array_equal(first.predict(series), second.predict(series))
    assert np.array_equal(first.forecast(series, 5), second.forecast(series, 5))
    online = second.online()
    for row, expected in zip(series, first.predict(series), strict=True):
        np.testing.assert_allclose(online.prediction, expected, rtol=1e-9)
        online.update(row)


def test_members_without_a_readout_have_no_lags_and_no_member_is_an_error() -> None:
    assert Averaged([Persistence(dimension=2)]).lags is None
    with pytest.raises(ValueError, match="there is no model to average; give one at least"):
        Averaged([])
