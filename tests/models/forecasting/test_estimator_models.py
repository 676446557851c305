"""Every model of the configuration has an estimator, which goes all the way."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from torch import Tensor

import models
from hourly_load import hourly_load
from models.forecasting import season
from models.forecasting.estimators.estimator import ForecastingEstimator
from models.forecasting.filtering import MaskedSequences
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.season import autocorrelation

ROOT = Path(__file__).parents[3]


def test_every_model_of_the_configuration_has_an_estimator() -> None:
    names = {
        "psrnn": "PSRNNForecaster", "psrnn_cp": "FactorisedPSRNNForecaster", "lstm": "LSTMForecaster",
        "gru": "GRUForecaster", "min_gru": "MinGRUForecaster", "echo_state": "EchoStateForecaster",
        "kalman": "KalmanForecaster", "var": "VARForecaster", "seasonal_naive": "SeasonalNaiveForecaster",
        "last_value": "LastValueForecaster", "no_state": "NoStateForecaster",
    }  # fmt: skip
    forecasting = {
        path.stem
        for path in (ROOT / "conf/model").glob("*.yaml")
        if "_target_: models.psrnn." in (text := path.read_text()) or "_target_: models.baselines." in text
    }
    assert forecasting == set(names)
    for file, name in names.items():
        kind = getattr(models, name)
        assert issubclass(kind, ForecastingEstimator)
        defaults = yaml.safe_load((ROOT / f"conf/model/{file}.yaml").read_text())
        own = kind().get_params()
        for key in ("units", "window", "rank", "leak", "spectral_radius", "input_scale"):
            assert own.get(key) == defaults.get(key)


SMALL = {
    "PSRNNForecaster": {"count": 4, "epochs": 1},
    "FactorisedPSRNNForecaster": {"count": 4, "rank": 5},
    "LSTMForecaster": {"units": 3, "epochs": 1},
    "GRUForecaster": {"units": 3, "epochs": 1},
    "MinGRUForecaster": {"units": 3, "epochs": 1},
    "EchoStateForecaster": {"units": 10},
}


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
@pytest.mark.parametrize("name", [name for name in models.__all__ if name.endswith("Forecaster")])
def test_each_goes_all_the_way(name: str, tmp_path: Path) -> None:
    kind = getattr(models, name)
    forecaster = kind(**SMALL.get(name, {})).fit(hourly_load(200))
    forecaster.update(hourly_load()[200:210])
    forecaster.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    assert loaded.get_params() == forecaster.get_params()
    pd.testing.assert_frame_equal(loaded.predict(4), forecaster.predict(4))
    pd.testing.assert_frame_equal(loaded.predict_interval(4, 0.7), forecaster.predict_interval(4, 0.7))
    pickled = pickle.loads(pickle.dumps(forecaster))  # noqa: S301
    for bad in (hourly_load()[210:].iloc[:, :1], hourly_load()[210:] * np.inf, hourly_load()[100:110]):
        with pytest.raises(ValueError):  # noqa: PT011
            forecaster.update(bad)
        pd.testing.assert_frame_equal(pickled.predict(4), forecaster.predict(4))
    forecaster.update(hourly_load()[210:])
    loaded.update(hourly_load()[210:])
    pd.testing.assert_frame_equal(loaded.predict(4), forecaster.predict(4))
    past = forecaster.backtest(hourly_load(), horizon=2, first=30, step=50)
    assert past.forecast.shape == past.truth.shape == (2 * 5, 3)
    assert past.by_horizon().rmse.shape == (2, 3)
    assert list(past.by_horizon().to_frame().columns)[:2] == ["load_rmse", "load_mae"]


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
@pytest.mark.parametrize(
    "forecaster",
    [
        models.VARForecaster(orders=300), models.VARForecaster(orders=[1, 300]),
        models.NoStateForecaster(readout=GroupedSettings(lags=300)),
    ],
    ids=["order", "orders", "readout"],
)  # fmt: skip
def test_the_validation_part_sees_as_many_rows_as_the_model_reads(forecaster: ForecastingEstimator) -> None:
    values = np.random.default_rng(0).normal(size=400)
    values[300:] += 0.9 * values[:100]
    fitted = forecaster.fit(values)
    assert fitted.history_ == 300
    assert np.isfinite(fitted.predict(2)).all()


def yearly(years: int = 4) -> np.ndarray:
    """Days of some years, each as that of a year before but for noise."""
    generator = np.random.default_rng(0)
    return np.tile(generator.normal(size=365).cumsum(), years) + 0.5 * generator.normal(size=365 * years)


def test_a_season_that_is_found_has_the_errors_of_one_that_is_told() -> None:
    found, told = (models.SeasonalNaiveForecaster(season=season).fit(yearly()) for season in (None, 365))
    assert found.chosen_ == told.chosen_ == {"season": 365}
    for name, errors in told.validation_errors_.items():
        np.testing.assert_array_equal(found.validation_errors_[name], errors)
    np.testing.assert_array_equal(found.predict_interval(24), told.predict_interval(24))


@pytest.mark.parametrize("name", ["SeasonalNaiveForecaster", "NoStateForecaster"])
def test_a_season_is_looked_for_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(part: MaskedSequences, *, most: int) -> Tensor:
        looked.append(most)
        return autocorrelation(part, most=most)

    monkeypatch.setattr(season, "autocorrelation", counted)
    getattr(models, name)().fit(hourly_load())
    assert len(looked) == 1


def test_a_seasonal_naive_forecast_wants_a_season_of_rows() -> None:
    generator = np.random.default_rng(0)
    values = np.tile(generator.normal(size=24), 10) + 0.1 * generator.normal(size=240)
    fitted = models.SeasonalNaiveForecaster(season=24).fit(values)
    assert fitted.history_ == 24
    with pytest.warns(UserWarning, match="fewer rows than the 24 that the model wants .* a simpler forecast stands in"):
        last = fitted.predict(3, X=values[:10])
    np.testing.assert_allclose(last, values[9])
    np.testing.assert_allclose(fitted.predict(3, X=values[:24]), values[:3])
    past = fitted.backtest(values, horizon=2)
    assert past.origin.min() == 24
    np.testing.assert_allclose(past.forecast[:, 0], values[past.origin + past.horizon - 25])


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_a_model_is_compared_with_the_season_before_over_the_whole_validation_part() -> None:
    found, told = (models.VARForecaster(orders=2, season=season).fit(yearly()) for season in (None, 365))
    errors = told.validation_errors_["season before"]
    np.testing.assert_allclose(found.validation_errors_["season before"], errors, rtol=1e-12)


def test_without_a_state_recent_rows_are_all_there_is() -> None:
    data = hourly_load(200)
    with pytest.warns(UserWarning, match="a naive forecast"):
        mean = models.NoStateForecaster(lags=0).fit(data).predict(2)
    np.testing.assert_allclose(mean, np.tile(data[4:180].mean(), (2, 1)))  # 4: the first row that is fitted to
    rows = np.random.default_rng(0).normal(size=(300, 2))  # of which no row says anything about the next
    assert models.NoStateForecaster().fit(rows).chosen_["readout.lags"] == 0
    assert models.NoStateForecaster(readout="grouped").fit(rows).chosen_["readout.lags"] > 0
    for blind in (models.NoStateForecaster(lags=0, readout="grouped"), models.NoStateForecaster(lags=0, direct=True)):
        with pytest.raises(ValueError, match="lags is 0, and a readout in groups has nothing else to see"):
            blind.fit(rows)


def test_models_stay_light_until_an_estimator_is_asked_for(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = "import models, sys; assert not {'torch', 'sklearn', 'pandas'} & set(sys.modules); models.PSRNNForecaster"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    assert set(models.__all__) <= set(dir(models))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        models.Nothing  # noqa: B018


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
@pytest.mark.parametrize("name", [name for name in models.__all__ if name.endswith("Forecaster")])
def test_each_is_fitted_again(name: str) -> None:
    kind, settings = getattr(models, name), SMALL.get(name, {})
    again = kind(**settings).fit(hourly_load(150)).fit(hourly_load(200))
    pd.testing.assert_frame_equal(again.predict(2), kind(**settings).fit(hourly_load(200)).predict(2))
