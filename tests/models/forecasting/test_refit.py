"""`refit=True` solves the readout again on all rows, with what the held-out ones have chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import (
    EchoStateForecaster,
    GRUForecaster,
    KalmanForecaster,
    LastValueForecaster,
    NoStateForecaster,
    PSRNNForecaster,
    SeasonalNaiveForecaster,
    VARForecaster,
)

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part")

KINDS = [
    PSRNNForecaster(count=4, lags=2),
    EchoStateForecaster(units=10, lags=2),
    NoStateForecaster(lags=2),
    GRUForecaster(units=3, epochs=1, lags=2),
    VARForecaster(orders=(1, 2)),
    KalmanForecaster(blocks=2, orders=2),
]
IDS = ["psrnn", "echo state", "no state", "gru", "autoregression", "kalman"]


def table(rows: int = 400) -> pd.DataFrame:
    """A wave and a column that it drives, known a row ahead, which do so otherwise in the last tenth."""
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(rows) / 3) + 0.3 * rng.normal(size=rows)
    price = rng.normal(size=rows)
    load = wave + np.where(np.arange(rows) < 0.9 * rows, 1.0, -1.0) * price
    return pd.DataFrame({"load": load, "price": price}, pd.date_range("2024-01-01", periods=rows, freq="h"))


def asked(kind: Any, **parameters: Any) -> Any:
    return type(kind)(**{**kind.get_params(), **parameters})


def widths(forecaster: Any, horizon: int) -> np.ndarray:
    bounds = forecaster.predict_interval(horizon, 0.5)
    return (bounds["load_upper"] - bounds["load_lower"]).to_numpy()


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_all_but_the_forecasts_stays_as_the_held_out_part_said(kind: Any, tmp_path: Path) -> None:
    before, after = (asked(kind, validation=0.2, refit=refit).fit(table()[["load"]]) for refit in (False, True))
    assert after.chosen_ == before.chosen_
    assert abs(after.predict(3) - before.predict(3)).to_numpy().max() > 1e-3
    for unit in range(2):
        np.testing.assert_array_equal(after.forecaster_.units[unit], before.forecaster_.units[unit])
    for name, errors in before.validation_errors_.items():
        np.testing.assert_array_equal(after.validation_errors_[name], errors)
    after.save(tmp_path / "saved")
    loaded = type(kind).load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(3), after.predict(3), check_exact=True)
    for forecaster in (after, loaded):  # 30 steps are more than were compared with naive forecasts
        np.testing.assert_allclose(widths(forecaster, 30), widths(before, 30), rtol=1e-12)


def ridge_of(inputs: np.ndarray, targets: np.ndarray, ridge: float) -> np.ndarray:
    """Returns predictions of the targets (row, d) by ridge regression on inputs (row, k) and an intercept."""
    centred = inputs - inputs.mean(0)
    gram = centred.T @ centred + ridge * np.eye(inputs.shape[1])
    return centred @ np.linalg.solve(gram, centred.T @ (targets - targets.mean(0))) + targets.mean(0)


@pytest.mark.parametrize(
    ("kind", "ridge"), [(KINDS[2], "readout.ridge"), (VARForecaster(orders=2), "ridge")], ids=["no state", "order 2"]
)
def test_it_is_the_ridge_regression_of_all_rows(kind: Any, ridge: str) -> None:
    data = table()
    forecaster = asked(kind, refit=True).fit(data)
    mean, scale = (part.numpy() for part in forecaster.forecaster_.units)
    values = (data.to_numpy() - mean) / scale
    inputs, targets = np.hstack([values[3:-1], values[2:-2]]), values[4:]
    expected = ridge_of(inputs, targets, forecaster.chosen_[ridge]) * scale + mean
    np.testing.assert_allclose(forecaster.predict_one_step(data)[4:], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [KINDS[2], VARForecaster(orders=8)], ids=["no state", "autoregression"])
def test_first_rows_are_predicted_as_the_held_out_part_said(kind: Any) -> None:
    before, after = (asked(kind, refit=refit).fit(table()).predict_one_step(table()) for refit in (False, True))
    wanted = asked(kind).fit(table()).history_
    np.testing.assert_array_equal(after[:wanted], before[:wanted])
    assert abs(after[wanted:] - before[wanted:]).to_numpy().max() > 1e-3


@pytest.mark.parametrize("standardise", ["all", "each"])
def test_what_the_last_rows_say_of_a_covariate_counts(standardise: str) -> None:
    shops = pd.concat({"a": table(), "b": table() * [1.5, 1.0]}, names=["shop", "hour"])
    before, after = (
        NoStateForecaster(lags=2, covariates="price", standardise=standardise, validation=0.5, refit=refit).fit(shops)
        for refit in (False, True)
    )
    last = shops.groupby(level=0).tail(30)
    assert after.score(last) > before.score(last) + 0.1


@pytest.mark.parametrize(
    ("forecaster", "said"),
    [
        (LastValueForecaster(refit=True), "refit=True: LastValueForecaster solves nothing; leave refit out"),
        (SeasonalNaiveForecaster(season=4, refit=True), "refit=True: SeasonalNaiveForecaster solves nothing"),
        (VARForecaster(refit=True, readout="grouped"), "refit=True solves a linear readout alone; leave out refit, or"),
        (NoStateForecaster(refit=True, direct=2), "refit=True solves a linear readout alone; leave out refit, or"),
    ],
)
def test_what_cannot_be_solved_again_is_refused(forecaster: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        forecaster.fit(table()[["load"]])
    with pytest.raises(TypeError, match=r"^refit must be True or False, got 'yes'"):
        asked(forecaster, refit="yes").fit(table()[["load"]])


def test_a_saved_forecaster_of_before_has_no_refit(tmp_path: Path) -> None:
    forecaster = VARForecaster(orders=2).fit(table())
    forecaster.save(tmp_path / "saved")
    description = tmp_path / "saved" / "estimator.json"
    text = description.read_text(encoding="utf-8")
    assert '"refit": false,' in text
    description.write_text(text.replace('"refit": false,', ""), encoding="utf-8")
    loaded = VARForecaster.load(tmp_path / "saved")
    assert loaded.refit is False
    pd.testing.assert_frame_equal(loaded.predict_interval(4), forecaster.predict_interval(4), check_exact=True)
