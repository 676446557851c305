"""Forecasters with readouts in groups and direct horizons: fitted, moved on, saved, and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from models import (
    EchoStateForecaster,
    KalmanForecaster,
    LSTMForecaster,
    NoStateForecaster,
    PSRNNForecaster,
    VARForecaster,
)
from models.features.kernels import Matern
from models.features.samplers import Iid
from models.forecasting.estimators.recurrent import DIRECT
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.readouts.settings import GroupedSettings

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")


def table(rows: int = 240, seed: int = 0) -> pd.DataFrame:
    """A limit cycle whose speed depends on where it is, seen with noise by two columns."""
    chance = np.random.default_rng(seed)
    phase = np.cumsum(0.4 + 0.2 * np.sin(0.15 * np.arange(rows)))
    values = np.stack([np.sin(phase), np.cos(2 * phase)], 1) + 0.05 * chance.normal(size=(rows, 2))
    return pd.DataFrame(5 + 2 * values, columns=["a", "b"], index=pd.RangeIndex(rows))


def small(kind: str, **parameters: Any) -> Any:
    if kind == "psrnn":
        return PSRNNForecaster(count=4, window=1, lags=2, validation=0.25, **parameters)
    if kind == "lstm":
        return LSTMForecaster(units=4, epochs=1, lags=2, validation=0.25, **parameters)
    if kind == "kalman":
        return KalmanForecaster(blocks=2, orders=3, validation=0.25, **parameters)
    if kind == "var":
        return VARForecaster(orders=(1, 2), validation=0.25, **parameters)
    return EchoStateForecaster(units=12, validation=0.25, **parameters)


@pytest.mark.parametrize("kind", ["psrnn", "lstm", "echo_state", "kalman", "var"])
@pytest.mark.parametrize(("readout", "direct"), [("grouped", False), ("kernel", 5), ("linear", True)])
def test_it_forecasts_alike_from_fit_after_update_and_from_disk(
    kind: str, readout: str, direct: Any, tmp_path: Path
) -> None:
    data = table()
    whole = small(kind, readout=readout, direct=direct).fit(data)
    model = whole.forecaster_.model
    assert isinstance(model, GroupedReadout)
    assert len(model.direct) == {False: 1, 5: 5, True: DIRECT}[direct]
    assert (model.features.frequencies.shape[0] == 400) == (readout == "kernel")
    state = set() if kind == "var" else {"readout.ridge.state"}
    assert state | {"readout.ridge.lags", "readout.direct.used"} <= set(whole.chosen_)
    ahead = whole.predict(7)
    assert list(ahead.index) == list(range(240, 247))
    more = table(260).iloc[240:]
    moved = small(kind, readout=readout, direct=direct).fit(data).update(more)
    again = whole.predict(7, X=pd.concat([data, more]))
    np.testing.assert_allclose(moved.predict(7), again, rtol=1e-7)
    whole.save(tmp_path / "kept")
    loaded = type(whole).load(tmp_path / "kept")
    np.testing.assert_allclose(loaded.predict(7), ahead, rtol=1e-12)
    np.testing.assert_allclose(loaded.predict_interval(3, 0.8), whole.predict_interval(3, 0.8), rtol=1e-12)
    errors = whole.backtest(table(120, seed=1), horizon=4, step=5).by_horizon()
    assert (errors.rmse < data.std().to_numpy()).all()


def test_direct_maps_give_the_forecast_where_they_were_chosen() -> None:
    """Whatever the model wraps it in: the forecast of a series is the map of its last state."""
    data = table()
    fitted = small("echo_state", readout="kernel", direct=6).fit(data)
    forecaster: Any = fitted.forecaster_
    forecasts = []
    for direct in (True, False):
        forecaster.model.direct[:] = direct
        forecasts.append(fitted.predict(6).to_numpy())
        np.testing.assert_allclose(forecasts[-1], forecaster.forecast(data.to_numpy(), 6), rtol=1e-9)
    differ = np.abs(forecasts[0] - forecasts[1]).max(1)
    assert differ[0] < 1e-9 < differ[1:].min()


@pytest.mark.parametrize("known", [False, True])
def test_without_direct_forecasts_several_steps_choose_the_ridges(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = table().assign(price=np.arange(240) % 7)
    forecaster = NoStateForecaster(lags=3, readout="grouped", validation=0.25, covariates="price" if known else None)
    settled = forecaster.fit(data).chosen_["readout.ridge.lags"]
    monkeypatch.setattr("models.numerics.grouped_ridge.LARGER", 0)
    assert settled > forecaster.fit(data).chosen_["readout.ridge.lags"]


def test_a_target_among_others_and_columns_known_ahead_go_with_a_readout_in_groups() -> None:
    data = table().assign(price=np.arange(240) % 7)
    fitted = small("echo_state", readout="grouped", target="a", covariates="price").fit(data)
    known = pd.DataFrame({"price": np.arange(240, 245) % 7}, index=pd.RangeIndex(240, 245))
    assert fitted.predict(5, known=known).shape == (5, 1)
    one = small("psrnn", readout="kernel", direct=3, target="a").fit(table())
    assert one.predict(4).columns.tolist() == ["a"]
    shared = GroupedSettings(lags=3, direct=4, shared=True)
    assert small("echo_state", readout=shared, target="a").fit(table()).predict(4).columns.tolist() == ["a"]
    assert small("echo_state", readout=replace(shared, direct=1), covariates="price").fit(data).chosen_
    with pytest.raises(ValueError, match="direct forecasts take nothing that is known ahead: leave out direct, or"):
        small("echo_state", direct=True, covariates="price").fit(data)


@pytest.mark.parametrize("readout", ["grouped", "kernel"])
def test_horizons_further_ahead_than_the_series_are_refused(readout: str) -> None:
    """Of 80 rows 20 are the validation part, and half of these the furthest; True goes no further by itself."""
    data = table(80)
    with pytest.raises(ValueError, match=r"direct=5000 is further ahead than .*: 10 steps at most; lower direct, or"):
        small("echo_state", readout=readout, direct=5000).fit(data)
    for direct in (10, True):
        fitted = small("echo_state", readout=readout, direct=direct).fit(data)
        assert len(fitted.forecaster_.model.direct) == 10


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"readout": "kernels"}, ValueError, "readout must be one of linear, grouped, kernel, got 'kernels'"),
        ({"readout": "auto"}, ValueError, "'auto', which is the command line's name for lags=\"auto\"; give that, and"),
        ({"readout": "skip"}, ValueError, "'skip', which is the command line's name for lags=2, say; give that, and"),
        ({"readout": 3}, TypeError, "readout must be one of linear, grouped, kernel, got 3"),
        ({"direct": 0}, ValueError, "direct must be"),
        ({"direct": "yes"}, TypeError, "direct must be"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        small("echo_state", **parameters).fit(table())


SETTINGS = GroupedSettings(
    lags=3, traces=(4.0, 8.0), count=30, bandwidth=0.7, kernel=Matern(smoothness=1.5), sampler=Iid(), direct=2
)


@pytest.mark.parametrize("kind", ["psrnn", "kalman"])
def test_settings_say_all_of_a_readout_and_are_saved_with_it(kind: str, tmp_path: Path) -> None:
    data = table()
    fitted = clone(small(kind, readout=SETTINGS)).fit(data)
    model = fitted.forecaster_.model
    found = model.lags, model.traces, len(model.features.frequencies), len(model.direct)
    assert found == (3, (4.0, 8.0), 30, 2)
    assert len(small(kind, readout=SETTINGS, direct=5).fit(data).forecaster_.model.direct) == 5
    assert "traces=(4.0, 8.0)" in repr(fitted)
    fitted.save(tmp_path / "kept")
    loaded = type(fitted).load(tmp_path / "kept")
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_allclose(loaded.predict(7), fitted.predict(7), rtol=1e-12)
    longer = small(kind, readout=replace(SETTINGS, direct=5000))
    with pytest.raises(ValueError, match="direct=5000 is further ahead than this series has rows"):
        longer.fit(data)


@pytest.mark.parametrize("kind", [NoStateForecaster, VARForecaster])
def test_a_readout_of_nothing_is_refused_where_there_is_no_state(kind: type[Any]) -> None:
    with pytest.raises(ValueError, match="readout has neither lags nor traces, and there is nothing else to see"):
        kind(readout=GroupedSettings(lags=0)).fit(table())


def test_left_out_it_is_the_readout_of_before() -> None:
    fitted = small("echo_state").fit(table())
    assert not isinstance(fitted.forecaster_.model, GroupedReadout)
    assert set(fitted.get_params()) >= {"lags", "readout", "direct"}
