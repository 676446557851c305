"""Models with units, to disk and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from models.baselines.autoregression import Autoregression
from models.baselines.persistence import Persistence
from models.forecasting.backtest import backtest_forecaster
from models.forecasting.filtering import batches, filter_sequences
from models.forecasting.forecaster import ARCHITECTURE, PARAMETERS, Forecaster, load_forecaster, save_forecaster
from models.forecasting.rolling import roll
from models.psrnn.cell import PSRNN
from oracles import final_state


def forecaster(kind: str) -> Forecaster:
    model = {
        "psrnn": lambda: PSRNN(frequencies=3, dimension=2, state=4, lags=1),
        "autoregression": lambda: Autoregression(dimension=2, order=2),
        "persistence": lambda: Persistence(dimension=2),
    }[kind]()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.4)
    mean, scale = torch.tensor([10.0, -3.0], dtype=torch.float64), torch.tensor([2.0, 0.5], dtype=torch.float64)
    return Forecaster(model.double(), mean=mean, scale=scale, feature_names=("a", "b"))


def series() -> np.ndarray:
    values = np.random.default_rng(0).normal(size=(12, 2)) * [2.0, 0.5] + [10.0, -3.0]
    values[5] = np.nan
    values[7, 0] = np.nan
    return values


@pytest.mark.parametrize("kind", ["psrnn", "autoregression", "persistence"])
def test_round_trip_through_files_changes_nothing(kind: str, tmp_path: Path) -> None:
    first = forecaster(kind)
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    assert np.array_equal(first.predict(series()), second.predict(series()))
    assert np.array_equal(first.forecast(series(), 4), second.forecast(series(), 4))
    assert second.feature_names == ("a", "b")


def test_predictions_are_in_own_units_and_gaps_are_filled_by_prediction() -> None:
    found = forecaster("persistence").predict(series())
    assert np.allclose(found[1:5], series()[:4])
    assert np.allclose(found[6], series()[4])
    assert np.allclose(found[8], [series()[6, 0], series()[7, 1]])
    assert np.allclose(forecaster("persistence").forecast(series(), 3), series()[[-1] * 3])


def test_bad_input_is_named() -> None:
    model = forecaster("persistence")
    with pytest.raises(ValueError, match=r"expected \(time, 2\) values of a, b, got shape \(3, 3\)"):
        model.predict(np.zeros((3, 3)))
    for nothing in (None, 3.0, [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"expected \(time, 2\) values of a, b, got shape"):
            model.forecast(nothing, 1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    infinite = series()
    infinite[2, 1] = np.inf
    with pytest.raises(ValueError, match="infinite value in row 2 of column b"):
        model.predict(infinite)
    for horizon in (0, -1, 2.0, "3", True, None):
        with pytest.raises(ValueError, match=f"horizon must be a whole number of at least 1, got {horizon!r}"):
            model.forecast(series(), horizon)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert model.forecast(series(), np.int64(2)).shape == (2, 2)  # type: ignore[call-overload]


def test_only_our_own_classes_are_built(tmp_path: Path) -> None:
    save_forecaster(forecaster("persistence"), tmp_path)
    description = json.loads((tmp_path / ARCHITECTURE).read_text())
    (tmp_path / ARCHITECTURE).write_text(json.dumps({**description, "class": "subprocess.Popen"}))
    with pytest.raises(ValueError, match=r"names subprocess\.Popen, which is not a model of this project"):
        load_forecaster(tmp_path)


def several() -> list[np.ndarray]:
    """Sequences of unequal length, some with gaps, one without rows, one that begins and one that ends in a gap."""
    generator = np.random.default_rng(1)
    found = [generator.normal(size=(n, 2)) * [2.0, 0.5] + [10.0, -3.0] for n in (7, 1, 12, 7, 0, 30, 4, 9)]
    found[0][3] = found[3][0, 1] = found[5][20:, 0] = found[7][:2] = np.nan
    return found


MODELS = ["psrnn", "autoregression", "persistence"]


@pytest.mark.parametrize("most", [1, 150, 2**23])
@pytest.mark.parametrize("kind", MODELS)
def test_many_at_a_time_are_each_alone(kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = forecaster(kind)
    alone = [model.predict(one) for one in several()]
    ahead = [model.forecast(one, 4) for one in several()]
    monkeypatch.setattr("models.forecasting.forecaster.PASS_NUMBERS", most)
    for found, expected in ((model.predict_all(several()), alone), (model.forecast_all(several(), 4), ahead)):
        assert [one.shape for one in found] == [one.shape for one in expected]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", MODELS)
def test_alone_is_the_filter_itself(kind: str) -> None:
    model = forecaster(kind)
    for series in several():
        values, mask = (part.unsqueeze(0) for part in model.standardised(series))
        state = final_state(model.model, values, mask)
        ahead = roll(model.model, state, 3)[0] * model.scale + model.mean
        np.testing.assert_allclose(model.forecast(series, 3), ahead.detach(), rtol=1e-12)
        if len(series):
            expected = filter_sequences(model.model, values, mask).predictions[0] * model.scale + model.mean
            np.testing.assert_allclose(model.predict(series), expected.detach(), rtol=1e-12)


def test_batches_are_bounded_and_those_without_gaps_are_apart() -> None:
    rows, whole = [5, 2, 9, 5, 40, 3], [True, True, False, True, True, False]
    assert batches(rows, whole, 15) == [[5], [2], [1, 0, 3], [4]]
    assert batches(rows, whole, 1000) == [[5, 2], [1, 0, 3, 4]]
    assert batches([], [], 10) == []


def test_rounded_matrices_take_half_the_bytes_and_come_back_as_they_were(tmp_path: Path) -> None:
    """The bits of bfloat16 are the upper half of those of float32, rounded to the nearest."""
    first = forecaster("psrnn")
    first = Forecaster(first.model.float(), mean=first.mean, scale=first.scale, feature_names=("a", "b"))
    before = first.model.update_tensor.detach().clone()
    first.model.round_update()
    after = first.model.update_tensor.detach()
    assert after.dtype == torch.float32
    assert 0 < float(((after - before) / before).abs().max()) <= 2.0**-8
    assert not (after.view(torch.int32) & 0xFFFF).any()
    save_forecaster(first, tmp_path)
    with np.load(tmp_path / PARAMETERS) as arrays:
        assert arrays["model/update_tensor"].dtype == np.uint16
        assert arrays["model/initial"].dtype == np.float32
        read = (arrays["model/update_tensor"].astype("u4") << 16).view("f4")  # as the docstring has it
        assert np.array_equal(read, after.numpy())
    second = load_forecaster(tmp_path)
    assert all(torch.equal(t, second.model.state_dict()[name]) for name, t in first.model.state_dict().items())
    assert np.array_equal(first.predict(series()), second.predict(series()))


def test_numbers_that_bfloat16_cannot_hold_are_kept_whole(tmp_path: Path) -> None:
    model = forecaster("psrnn").model.float()
    model.round_update()
    with torch.no_grad():
        model.update_tensor.mul_(1.001)  # trained on
    save_forecaster(Forecaster(model, mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b")), tmp_path)
    assert "bfloat16" not in json.loads((tmp_path / ARCHITECTURE).read_text())
    assert np.load(tmp_path / PARAMETERS)["model/update_tensor"].dtype == np.float32
    assert torch.equal(load_forecaster(tmp_path).model.update_tensor, model.update_tensor)


def test_a_matrix_that_was_not_rounded_is_saved_whole_whatever_its_numbers(tmp_path: Path) -> None:
    model = PSRNN(frequencies=3, dimension=2, state=4)  # all zeros, which bfloat16 holds
    save_forecaster(Forecaster(model, mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b")), tmp_path)
    arrays = dict(np.load(tmp_path / PARAMETERS))
    assert {arrays.pop("mean").dtype, arrays.pop("scale").dtype} == {np.dtype(np.float64)}
    assert all(array.dtype == np.float32 for array in arrays.values())


def last_value(model: torch.nn.Module) -> Forecaster:
    """Of columns whose deviation single precision cannot hold beside their mean."""
    mean, scale = torch.tensor([1e9, -1e8], dtype=torch.float64), torch.tensor([1e3, 0.5], dtype=torch.float64)
    return Forecaster(model, mean=mean, scale=scale, feature_names=("a", "b"))


def far_from_zero() -> np.ndarray:
    return [1e9, -1e8] + [1e3, 0.5] * np.random.default_rng(0).normal(size=(12, 2))


def test_a_model_in_single_precision_sees_columns_far_from_zero_in_standard_deviations(tmp_path: Path) -> None:
    single, rows = last_value(Persistence(dimension=2).float()), far_from_zero()
    values, mask = single.standardised(rows)
    assert values.dtype == torch.float32
    assert bool(mask.all())
    deviations = np.random.default_rng(0).normal(size=(12, 2))
    np.testing.assert_allclose(values, deviations, atol=1e-6)
    save_forecaster(single, tmp_path)
    for forecaster in (single, load_forecaster(tmp_path)):
        np.testing.assert_allclose((forecaster.forecast(rows, 1)[0] - rows[-1]) / [1e3, 0.5], 0, atol=1e-6)
        tested = backtest_forecaster(forecaster, [rows], first=3, step=1, horizon=1)
        np.testing.assert_allclose((tested.forecast - rows[2:-1]) / [1e3, 0.5], 0, atol=1e-6)


def test_units_that_were_saved_in_single_precision_are_read(tmp_path: Path) -> None:
    first = forecaster("psrnn")
    save_forecaster(first, tmp_path)
    arrays = dict(np.load(tmp_path / PARAMETERS))
    before = {name: arrays[name].astype(np.float32) for name in ("mean", "scale")}
    np.savez(tmp_path / PARAMETERS, **{**arrays, **before})  # pyright: ignore[reportArgumentType]
    assert np.array_equal(load_forecaster(tmp_path).predict(series()), first.predict(series()))


class Counting(torch.nn.Module):
    """Forecasts the last value; the first of its tensors is a whole number."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, dtype=torch.int64))
        self.inner = Persistence(dimension=2)
        self.initial_state, self.predict, self.update = (
            self.inner.initial_state, self.inner.predict, self.inner.update,
        )  # fmt: skip


def test_the_type_of_a_model_is_that_of_its_first_fraction() -> None:
    counting, rows = last_value(Counting().double()), far_from_zero()
    assert counting.dtype == torch.float64
    assert counting.scale.tolist() == [1e3, 0.5]
    np.testing.assert_allclose(counting.forecast(rows, 1)[0], rows[-1], rtol=1e-15)


def test_a_type_that_could_not_be_loaded_again_is_refused(tmp_path: Path) -> None:
    half = last_value(Persistence(dimension=2).half())
    with pytest.raises(ValueError, match=r"^a model of float16 cannot be saved; turn it into float64 or float32 f"):
        save_forecaster(half, tmp_path)
    assert not list(tmp_path.iterdir())
