"""Delayed observations, windows of two lengths, traces and metrics: every way through the cell against loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import oracles
from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import filter_sequences, one_step_error
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.lags import with_lags
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.forecasting.rolling import forecast_from_everywhere
from models.forecasting.start_up import StartUp, start_up_orders
from models.psrnn.cell import PSRNN
from models.psrnn.estimator import FactorisedPSRNNForecaster, PSRNNForecaster
from models.psrnn.factorised import FactorisedPSRNN
from models.psrnn.features import FeatureDraw, draw_features
from models.psrnn.fit import Regression, first_cell, fit, regress
from models.psrnn.initialise import Frequencies, build_psrnn, feature_stream
from models.psrnn.kronecker import curvature_along
from models.psrnn.online import OnlineStep, export_online_step
from models.psrnn.shape import CellShape
from models.psrnn.windows import extract_windows
from models.runtime.seeding import generators_of
from small_problems import oscillation, with_gap

DRAW = FeatureDraw(count=6, history=5, future=2, delay=3, whiten=0.5, linear=2.0, traces=(2.0, 6.0))
ALONE = ReadoutSettings(0, [1e-2], "none")
SHAPES: list[dict[str, Any]] = [
    {"delay": 3},
    {"delay": 2, "whitened": True},
    {"delay": 4, "linear": True, "keep_sign": False},
    {"delay": 3, "whitened": True, "linear": True, "projected": 4},
    {"delay": 1, "whitened": True, "linear": True},
]


def filled_with_chance(model: Any) -> Any:
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(0.5 * torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
    return model


def random_psrnn(*, start_up: bool = False, lags: int = 0, **shape: Any) -> PSRNN:
    model = PSRNN(frequencies=4, dimension=2, state=5, lags=lags, **shape).double()
    if start_up:
        model.start_up = StartUp(dimension=2, orders=start_up_orders(lags), history=lags + 2).double()
    return filled_with_chance(model)


def series() -> tuple[Tensor, Tensor]:
    values = torch.randn(3, 20, 2, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    mask = torch.ones(3, 20, 2, dtype=torch.bool)
    mask[0, 4:6] = mask[1, 2, 1] = mask[2, 16:] = mask[1, 0] = False
    return torch.where(mask, values, 0.0), mask


@pytest.mark.parametrize(("history", "future", "delay"), [(3, 1, 1), (1, 3, 2), (2, 2, 3), (1, 1, 4), (2, 1, 6)])
def test_windows_are_those_of_the_loop(history: int, future: int, delay: int) -> None:
    values, mask = series()
    found = extract_windows(values, mask, length=history, future=future, delay=delay)
    expected = oracles.delayed_windows_by_loop(values, mask, history=history, future=future, delay=delay)
    assert list(zip(found.sequence.tolist(), found.time.tolist(), strict=True)) == [row[:2] for row in expected]
    rows, delayed = (torch.stack([row[i] for row in expected]) for i in (2, 3))  # pyright: ignore[reportArgumentType]
    assert torch.equal(found.history, rows[:, :history].flatten(1))
    assert torch.equal(found.future, rows[:, history : history + future].flatten(1))
    assert torch.equal(found.shifted_future, rows[:, history + 1 :].flatten(1))
    assert torch.equal(found.observation, delayed.flatten(1))


def test_windows_that_no_sequence_has_are_refused() -> None:
    values, mask = series()
    with pytest.raises(ValueError, match="20 steps; a history of 15 and a future of 5 need 21"):
        extract_windows(values, mask, length=15, future=5)
    with pytest.raises(ValueError, match="20 observed steps in a row, which a history of 15 and a future of 4 need"):
        extract_windows(values, mask & (torch.arange(20) != 9)[None, :, None], length=15, future=4)
    with pytest.raises(ValueError, match="delay must be at least 1, got 0"):
        extract_windows(values, mask, length=1, delay=0)
    with pytest.raises(ValueError, match=r"^delay must be at least 1, got 0"):
        CellShape(frequencies=1, dimension=1, state=1, delay=0)


def features_written_out(drawn: Any) -> dict[str, Tensor]:
    """Features of the four windows, a row at a time, by metrics of the training windows."""
    windows, frequencies = drawn.windows, drawn.frequencies
    found = {}
    for name in ("history", "future", "shifted_future", "observation"):
        of = "future" if name == "shifted_future" else name
        metric = oracles.metric_written_out(getattr(windows, of), DRAW.whiten, DRAW.linear)
        rows = getattr(windows, name).numpy(), getattr(frequencies, of).numpy()
        found[name] = torch.from_numpy(oracles.joint_features_written_out(*rows, metric))
    return found


def test_traces_are_a_part_of_the_history_alone() -> None:
    train = with_gap(oscillation(1))
    windows = draw_features(train, DRAW, generators_of(0)).windows
    plain = extract_windows(train.values, train.mask, length=5, future=2, delay=3)
    assert torch.equal(windows.history[:, :10], plain.history)
    assert torch.equal(windows.future, plain.future)
    assert torch.equal(windows.observation, plain.observation)
    for row in (0, 7, 60):
        sequence, time = int(windows.sequence[row]), int(windows.time[row])
        for place, constant in enumerate(DRAW.traces):
            trace, decay = np.zeros(2), np.exp(-1 / constant)
            for seen, there in zip(train.values[sequence, :time].numpy(), train.mask[sequence, :time], strict=True):
                trace = decay * trace + (1 - decay) * (seen if bool(there.all()) else 0.0)
            np.testing.assert_allclose(windows.history[row, 10 + 2 * place : 12 + 2 * place], trace, atol=1e-12)
    assert windows.history.shape[1] == 14 == DRAW.inputs(2)[0]


def test_the_regression_is_that_of_the_features_written_out() -> None:
    train = with_gap(oscillation(1))
    drawn = draw_features(train, DRAW, generators_of(0))
    phi = features_written_out(drawn)
    found, _ = regress(drawn, Regression(update="paper", ridge=0.01))
    update, initial = oracles.two_stage_written_out(
        phi["history"], phi["future"], phi["shifted_future"], phi["observation"], 0.01 * len(phi["history"])
    )
    torch.testing.assert_close(found.initial, initial, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(found.update, update, rtol=1e-4, atol=1e-5)
    cell = first_cell(drawn, Regression(update="paper"), generators_of(0))
    omega = cell.features(drawn.windows.observation)
    torch.testing.assert_close(omega, phi["observation"], rtol=1e-6, atol=1e-7)
    assert drawn.frequencies.sizes() == (12 + 14, 12 + 4, 12 + 6) == tuple(part.shape[1] for part in
        (phi["history"], phi["future"], phi["observation"]))  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lags", [0, 2])
@torch.no_grad()
def test_filtering_equals_the_loop(shape: dict[str, Any], lags: int) -> None:
    model, (values, mask) = random_psrnn(lags=lags, **shape), series()
    found = filter_sequences(model, values, mask)
    expected = oracles.filter_by_loop(model, values, mask)
    torch.testing.assert_close(found.predictions, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["whole", "factorised"])
@pytest.mark.parametrize("batch", [1, 3])
def test_beliefs_and_gradients_along_sequences_are_those_of_the_steps(
    shape: dict[str, Any], kind: str, batch: int
) -> None:
    sizes = {"frequencies": 4, "dimension": 2, "state": 5, "learn_frequencies": True, **shape}
    model = filled_with_chance(
        PSRNN(**sizes).double() if kind == "whole" else FactorisedPSRNN(rank=3, **sizes).double()
    )
    values = series()[0][:batch]
    before = torch.randn(batch, model.before, generator=torch.Generator().manual_seed(8), dtype=torch.float64)

    def start() -> tuple[Tensor, ...]:
        return (model.initial_belief(batch)[0], before)[: 1 + bool(model.before)]

    with torch.no_grad():
        quick, slow = model.beliefs_along(start(), values), Recurrent.beliefs_along(model, start(), values)
    for ours, theirs in zip(quick, slow, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)
    weights = torch.randn(slow[0].shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    trained = [parameter for name, parameter in model.named_parameters() if "readout" not in name]
    ours, theirs = (
        torch.autograd.grad((along(start(), values)[0] * weights).sum(), trained, allow_unused=True)
        for along in (model.beliefs_along, lambda *x: Recurrent.beliefs_along(model, *x))
    )
    for one, other in zip(ours, theirs, strict=True):
        if one is not None or other is not None:
            torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("lags", "start_up"), [(0, False), (1, False), (2, True), (6, True)])
@torch.no_grad()
def test_the_online_step_filters_as_sequences_are_filtered(
    shape: dict[str, Any], lags: int, start_up: bool, tmp_path: Path
) -> None:
    model, values = random_psrnn(lags=lags, start_up=start_up, **shape), series()[0][:1]
    step = OnlineStep(model)
    torch.export.save(export_online_step(model), tmp_path / "step.pt2")
    exported: Any = torch.export.load(tmp_path / "step.pt2").module()
    expected = filter_sequences(model, values, torch.ones_like(values, dtype=torch.bool))
    ours = theirs = step.initial()
    for t, value in enumerate(values[0]):
        torch.testing.assert_close(ours[0], expected.states[0][0, t], rtol=1e-11, atol=1e-11)
        torch.testing.assert_close(ours[2], expected.predictions[0, t], rtol=1e-11, atol=1e-11)
        torch.testing.assert_close(theirs, ours, rtol=0, atol=1e-12)
        ours, theirs = step(*ours[:2], value), exported(*theirs[:2], value)


@torch.no_grad()
def test_forecasts_feed_predictions_into_the_delayed_observation() -> None:
    model, (values, mask) = random_psrnn(delay=3, linear=True, lags=1), series()
    filtered = filter_sequences(model, values, mask)
    found = forecast_from_everywhere(model, filtered.states, [4])[:, :, 0]
    for t in (1, 9):  # three observations that are missing
        seen = mask.clone()
        seen[:, t:] = False
        expected = oracles.filter_by_loop(model, values, seen)[:, t + 3]
        torch.testing.assert_close(found[:, t], expected, rtol=1e-8, atol=1e-8)


def test_the_curvature_is_along_the_delayed_observations() -> None:
    model, part = fit(
        oscillation(1), oscillation(2), features=DRAW, readout=ALONE, generators=generators_of(0)
    ).model, oscillation(1)  # fmt: skip
    objective = TruncatedBPTT(model, part, horizon=10, batch_size=4)
    objective.refresh()
    found = curvature_along(model, objective.states[0], objective.filled, part.scored)["update_tensor"][2]
    rows = []
    for sequence, scored in zip(objective.filled, part.scored, strict=True):
        before = [torch.zeros(2, dtype=torch.float64)] * 2
        for seen, counts in zip(sequence, scored, strict=True):
            before.append(seen)
            if bool(counts.any()):
                rows.append(oracles.observation_features(model.features, torch.cat(before[-3:])))
    omega = torch.stack(rows).detach()
    torch.testing.assert_close(found.detach(), omega.T @ omega / len(omega), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("gaps", [False, True])
def test_chunks_begin_with_the_observations_before_them(gaps: bool) -> None:
    """The loss over all chunks, each begun from the filtered state before it, is that of the whole sequences."""
    part = with_gap(oscillation(1)) if gaps else oscillation(1)
    model = fit(part, oscillation(2), features=DRAW, readout=ALONE, generators=generators_of(0)).model
    objective = TruncatedBPTT(model, part, horizon=7, batch_size=100)
    error = objective.refresh()
    loss = objective.loss(torch.arange(len(objective.chunks.sequence)))
    assert float(loss.mean.detach()) == pytest.approx(error, rel=1e-9)
    loss.total.backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in objective.parameters())


def test_nothing_set_is_the_model_of_before_to_the_last_digit() -> None:
    """By the entries and the numbers of a cell that is made of plain maps."""
    train = with_gap(oscillation(1))
    plain, off = FeatureDraw(count=6), FeatureDraw(count=6, history=2, future=2, delay=1, whiten=0, linear=0, traces=[])
    drawn, other = (draw_features(train, draw, generators_of(0)) for draw in (plain, off))
    windows = extract_windows(train.values, train.mask, length=2)
    frequencies = Frequencies(*drawn.frequencies[:3])
    found = regress(drawn._replace(windows=windows, frequencies=frequencies), Regression())[0]
    expected = build_psrnn(found, frequencies, lags=0, keep_sign=True)
    for cell in (first_cell(each, Regression(), generators_of(0)) for each in (drawn, other)):
        assert list(cell.state_dict()) == [
            "readout_weight", "readout_bias", "update_tensor", "bias", "initial", "reference", "features.frequencies",
        ]  # fmt: skip
        assert len(cell.initial_belief(1)) == 1
        for name, tensor in expected.state_dict().items():
            assert torch.equal(cell.state_dict()[name], tensor), name
    assert (drawn.bandwidths, drawn.frequencies.metrics) == (other.bandwidths, (None, None, None))


@pytest.mark.parametrize("rank", [None, 8])
@pytest.mark.parametrize("projection", [None, 6])
def test_a_fitted_model_is_saved_with_its_metric(rank: int | None, projection: int | None, tmp_path: Path) -> None:
    model = fit(
        oscillation(1), oscillation(2), features=DRAW, regression=Regression(rank=rank, projection=projection),
        readout=ALONE._replace(lags=2), generators=generators_of(0),
    ).model  # fmt: skip
    units = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    save_forecaster(Forecaster(model, mean=units[0], scale=units[1], feature_names=("a", "b")), tmp_path)
    loaded: Any = load_forecaster(tmp_path).model
    test = oscillation(3)
    assert one_step_error(loaded, test) == one_step_error(model, test) < 0.2
    assert loaded.features.size == (projection or 12 + 6)
    beside = with_lags(loaded, 1)
    with torch.no_grad():
        found, given = (filter_sequences(each, test.values, test.mask).states[0] for each in (beside, model))
    torch.testing.assert_close(found, given)


def test_random_parameters_have_the_sizes_of_the_features() -> None:
    drawn = draw_features(oscillation(1), DRAW, generators_of(0))
    cell = first_cell(drawn, Regression(random=True), generators_of(0))
    assert tuple(cell.update_tensor.shape) == (16, 16, 18)
    single = replace(DRAW, traces=(), linear=0.0)
    small = first_cell(
        draw_features(oscillation(1), single, generators_of(0)), Regression(random=True), generators_of(0)
    )
    assert tuple(small.update_tensor.shape) == (12, 12, 12)


def test_a_stream_without_metrics_is_that_of_plain_features() -> None:
    drawn = draw_features(oscillation(1), FeatureDraw(count=3, delay=2), generators_of(0))
    batch = next(iter(feature_stream(drawn.windows, drawn.frequencies, chunk=10)()))
    expected = oracles.random_features_by_rows(drawn.windows.observation[:10], drawn.frequencies.observation)
    torch.testing.assert_close(batch.observation, expected)


def test_the_factors_of_a_factorised_cell_stand_for_the_update_of_delayed_features() -> None:
    model = filled_with_chance(
        FactorisedPSRNN(rank=3, frequencies=4, dimension=2, state=5, delay=3, linear=True).double()
    )
    full = PSRNN(frequencies=4, dimension=2, state=5, delay=3, linear=True).double()
    full.load_state_dict(model.state_dict(), strict=False)
    with torch.no_grad():
        full.update_tensor.copy_(torch.einsum("ar,br,cr->abc", model.left, model.of_state, model.of_features))
        values, mask = series()
        found = filter_sequences(model, values, mask).predictions
        torch.testing.assert_close(found, oracles.filter_by_loop(full, values, mask), rtol=1e-8, atol=1e-8)


def test_the_estimator_passes_on_what_it_is_given(tmp_path: Path) -> None:
    given = {"delay": 3, "history": 4, "future": 1, "traces": [2.0], "whiten": 0.5, "linear": 1.0}
    table = oscillation(1).values[0].numpy()
    plain, forecaster = (PSRNNForecaster(count=5, lags=2, **each).fit(table) for each in ({}, given))
    shape = forecaster.forecaster_.model.architecture
    assert (shape["delay"], shape["whitened"], shape["linear"], shape["state"]) == (3, True, True, 10 + 2)
    forecast = forecaster.predict(5)
    assert np.abs(forecast - plain.predict(5)).max() > 1e-6
    forecaster.save(tmp_path / "model")
    np.testing.assert_array_equal(PSRNNForecaster.load(tmp_path / "model").predict(5), forecast)


@pytest.mark.parametrize("kind", [PSRNNForecaster, FactorisedPSRNNForecaster])
def test_the_estimator_projects_and_whitens_as_the_regression_does(kind: type[PSRNNForecaster], tmp_path: Path) -> None:
    table = oscillation(1).values[0].numpy()
    plain, forecaster, other = (
        kind(count=5, lags=2, **each).fit(table)
        for each in ({}, {"projection": 4}, {"projection": 4, "whitening": 0.1})
    )
    assert [each.forecaster_.model.architecture["state"] for each in (plain, forecaster, other)] == [10, 4, 4]
    assert np.abs(other.predict(5) - forecaster.predict(5)).max() > 1e-6
    other.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    assert loaded.get_params() == other.get_params()
    np.testing.assert_array_equal(loaded.predict(5), other.predict(5))
    assert "whitening=0.1" in repr(other)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"projection": 11}, "projection must be at most 10, got 11"),
        ({"projection": 0}, "projection must be a whole number of at least 1, got 0"),
        ({"whitening": 0}, "whitening must be a number above 0, got 0"),
        ({"projection": 13, "linear": 1.0}, "^projection must be at most 12, got 13"),
        ({"whitening": 0.1, "state_update": "sign"}, 'state_update="sign" divides by nothing that whitening would be'),
        ({"whitening": 0.1, "state_update": "paper"}, 'state_update="paper" divides by nothing'),
    ],
)
def test_a_projection_or_whitening_that_makes_no_sense_is_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PSRNNForecaster(count=5, **wrong).fit(oscillation(1).values[0].numpy())  # pyright: ignore[reportArgumentType]
