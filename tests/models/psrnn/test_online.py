"""Filtering one observation at a time against filtering whole sequences, and the exported graph against the step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import oracles
from models.baselines.persistence import Persistence
from models.forecasting.filtering import filter_sequences
from models.forecasting.forecaster import Forecaster
from models.forecasting.start_up import StartUp, start_up_orders
from models.psrnn.cell import PSRNN
from models.psrnn.online import OnlineStep, export_online_step

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-4}
STEPS, DIMENSION = 15, 2


def random_psrnn(
    *,
    lags: int = 0,
    keep_sign: bool = True,
    projected: int | None = None,
    dtype: torch.dtype = torch.float64,
    start_up: bool = False,
) -> PSRNN:
    """start_up: with one that lasts two rows longer than the lags."""
    generator = torch.Generator().manual_seed(5)
    model = PSRNN(frequencies=4, dimension=DIMENSION, state=5, lags=lags, keep_sign=keep_sign, projected=projected)
    if start_up:
        model.start_up = StartUp(dimension=DIMENSION, orders=start_up_orders(lags), history=lags + 2)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(0.5 * torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
    return model.to(dtype)


def observations(dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(6)
    return torch.randn(STEPS, DIMENSION, generator=generator, dtype=torch.float64).to(dtype)


def run(step: torch.nn.Module, start: tuple[Tensor, Tensor, Tensor], values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Beliefs, recent observations and predictions *before* each of the values (time, …)."""
    states = [start]
    for value in values:
        belief, recent, _ = states[-1]
        states.append(step(belief, recent, value))
    beliefs, recents, predictions = zip(*states[:-1], strict=True)
    return torch.stack(beliefs), torch.stack(recents), torch.stack(predictions)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("projected", [None, 3])
@pytest.mark.parametrize(
    ("lags", "keep_sign", "start_up"),
    [
        (0, True, False),
        (0, False, False),
        (1, True, False),
        (1, False, True),
        (3, False, True),
        (STEPS + 2, True, True),
    ],
)
def test_the_step_filters_as_sequences_are_filtered(
    lags: int, keep_sign: bool, start_up: bool, projected: int | None, dtype: torch.dtype
) -> None:
    model = random_psrnn(lags=lags, keep_sign=keep_sign, projected=projected, dtype=dtype, start_up=start_up)
    values, step = observations(dtype), OnlineStep(model)
    found = run(step, step.initial(), values)
    with torch.no_grad():
        expected = filter_sequences(model, values.unsqueeze(0), torch.ones(1, STEPS, DIMENSION, dtype=torch.bool))
    belief, recent, seen = expected.states
    recent = torch.cat([recent, seen], 2) if start_up else recent
    for ours, theirs in zip(found, (belief, recent, expected.predictions), strict=True):
        assert not ours.requires_grad
        torch.testing.assert_close(ours, theirs[0], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    flips = bool((expected.states[0][0, 1:] @ model.reference < 0).any())
    assert flips is not keep_sign


@torch.no_grad()
def test_the_step_equals_the_written_out_filter() -> None:
    model, values = random_psrnn(lags=1), observations()
    step = OnlineStep(model)
    predictions = run(step, step.initial(), values)[2]
    expected = oracles.filter_by_loop(model, values.unsqueeze(0), torch.ones(1, STEPS, DIMENSION, dtype=torch.bool))
    torch.testing.assert_close(predictions, expected[0], rtol=1e-12, atol=1e-12)


def test_a_zero_update_gives_no_nan_and_the_update_tensor_is_not_copied() -> None:
    model = random_psrnn()
    step = OnlineStep(model)
    with torch.no_grad():
        model.update_tensor.zero_()
    step.bias.zero_()
    belief, recent, _ = step.initial()
    assert torch.equal(step(belief, recent, observations()[0])[0], torch.zeros(5, dtype=torch.float64))


@pytest.mark.parametrize(
    ("lags", "keep_sign", "projected", "start_up"),
    [(2, True, None, True), (1, True, None, False), (0, False, 3, False)],
)
def test_the_exported_step_equals_the_step(
    lags: int, keep_sign: bool, projected: int | None, start_up: bool, tmp_path: Path
) -> None:
    model = random_psrnn(lags=lags, keep_sign=keep_sign, projected=projected, start_up=start_up)
    values = observations()
    step = OnlineStep(model)
    torch.export.save(export_online_step(model), tmp_path / "step.pt2")
    exported = torch.export.load(tmp_path / "step.pt2").module()
    for ours, theirs in zip(run(exported, step.initial(), values), run(step, step.initial(), values), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


def forecaster(model: torch.nn.Module) -> Forecaster:
    mean, scale = torch.tensor([10.0, -3.0], dtype=torch.float64), torch.tensor([2.0, 0.5], dtype=torch.float64)
    return Forecaster(model, mean=mean, scale=scale, feature_names=("a", "b"))


def readings_with_gaps() -> np.ndarray:
    readings = observations().numpy() * [2.0, 0.5] + [10.0, -3.0]
    readings[0, 1] = readings[6] = readings[7, 0] = np.nan
    return readings


@pytest.mark.parametrize("lags", [0, 2])
def test_readings_in_own_units_give_the_predictions_of_the_whole_series(lags: int) -> None:
    whole = forecaster(random_psrnn(lags=lags))
    online, readings = whole.online(), readings_with_gaps()
    found = [online.prediction, *(online.update(reading) for reading in readings)]
    np.testing.assert_allclose(found[:-1], whole.predict(readings), rtol=1e-12)
    np.testing.assert_allclose(found[-1], whole.forecast(readings, 1)[0], rtol=1e-12)
    assert np.array_equal(online.prediction, found[-1])


def test_lists_are_readings_and_rows_of_a_table_go_by_name() -> None:
    whole, readings = forecaster(random_psrnn()), readings_with_gaps()
    by_list, by_name = whole.online(), whole.online()
    for reading, (_, row) in zip(
        readings, pd.DataFrame(readings, columns=["a", "b"])[["b", "a"]].iterrows(), strict=True
    ):
        by_list.update(reading.tolist())
        by_name.update(row)
    np.testing.assert_allclose(by_list.prediction, whole.forecast(readings, 1)[0], rtol=1e-12)
    assert np.array_equal(by_name.prediction, by_list.prediction)
    with pytest.raises(ValueError, match="column b is missing; the model needs a, b, the table has a, c"):
        by_name.update(pd.Series({"a": 1.0, "c": 2.0}))


def test_other_models_are_filtered_one_reading_at_a_time_too() -> None:
    whole, readings = forecaster(Persistence(dimension=2).double()), readings_with_gaps()
    online = whole.online()
    found = [online.prediction, *(online.update(reading) for reading in readings)]
    np.testing.assert_allclose(found[:-1], whole.predict(readings), rtol=1e-12)


def test_what_cannot_be_filtered_online_is_refused() -> None:
    online = forecaster(random_psrnn()).online()
    with pytest.raises(ValueError, match=r"must be 2 numbers, of a, b, NaN for a gap; got shape \(3,\)$"):
        online.update(np.zeros(3))
    with pytest.raises(ValueError, match=r"must be 2 numbers, of a, b, NaN for a gap; got \['x', 1.0\]$"):
        online.update(["x", 1.0])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="infinite value in row 0 of column b"):
        online.update(np.array([0.0, np.inf]))
