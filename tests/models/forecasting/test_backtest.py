"""Origins by hand, no look-ahead, and the fast path against one forecast at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.baselines.autoregression import Autoregression
from models.baselines.persistence import Persistence
from models.forecasting.backtest import (
    BacktestResult,
    backtest,
    backtest_forecaster,
    compared,
    forecast_from_origins,
    rolling_origin,
)
from models.forecasting.forecaster import Forecaster
from models.psrnn.cell import PSRNN


def last_value(history: np.ndarray, horizon: int) -> np.ndarray:
    return np.repeat(history[-1:], horizon, axis=0)


def forecaster(kind: str) -> Forecaster:
    model = {
        "autoregression": lambda: Autoregression(dimension=2, order=3),
        "persistence": lambda: Persistence(dimension=2),
        "psrnn": lambda: PSRNN(frequencies=3, dimension=2, state=4, lags=1),
    }[kind]()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.3)
    mean, scale = torch.tensor([10.0, -3.0], dtype=torch.float64), torch.tensor([2.0, 0.5], dtype=torch.float64)
    return Forecaster(model.double(), mean=mean, scale=scale, feature_names=("a", "b"))


def series_with_gaps() -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    series = [generator.normal(size=(n, 2)) * [2.0, 0.5] + [10.0, -3.0] for n in (17, 4, 11, 8)]
    series[0][0] = np.nan
    series[0][6:9] = np.nan
    series[0][12, 1] = np.nan
    series[2][4, 0] = np.nan
    series[2][-1] = np.nan
    return series


def test_origins_by_hand() -> None:
    origins = rolling_origin([9, 2, 3, 7], first=3, step=2, horizon=3)
    assert origins.sequence.tolist() == [0, 0, 0, 3, 3]
    assert origins.origin.tolist() == [3, 5, 7, 3, 5]
    assert origins.reach.tolist() == [3, 3, 2, 3, 2]
    assert rolling_origin([9, 12, 10], first=4, step=12, horizon=3).origin.tolist() == [4, 4, 4]


def test_rows_by_hand() -> None:
    series = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 30.0], [8.0, np.nan]])
    found = backtest(last_value, [series], first=1, step=1, horizon=2)
    assert found.sequence.tolist() == [0] * 5
    assert found.origin.tolist() == [1, 1, 2, 2, 3]
    assert found.horizon.tolist() == [1, 2, 1, 2, 1]
    assert found.truth[:, 0].tolist() == [2, 4, 4, 8, 8]
    assert found.forecast[:, 0].tolist() == [1, 1, 2, 2, 4]
    assert np.array_equal(found.truth[:, 1], [20, 30, 30, np.nan, np.nan], equal_nan=True)


class Asked(list):
    """Counts how often one of its series is asked for."""

    asked = 0

    def __getitem__(self, place: int) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.asked += 1
        return super().__getitem__(place)


def test_the_rows_compared_with_are_read_at_once() -> None:
    series = Asked(series_with_gaps())
    origins = rolling_origin([len(rows) for rows in series], first=2, step=1, horizon=5)
    found = compared(series, origins, np.zeros((len(origins.origin), 5, 2)))
    assert series.asked <= len(series) < len(found.truth)
    rows = [series[s][n + h - 1] for s, n, h in zip(found.sequence, found.origin, found.horizon, strict=True)]
    assert np.array_equal(found.truth, rows, equal_nan=True)


def test_table_by_horizon_by_hand() -> None:
    nan = np.nan
    truth = np.array([[2.0, nan, 5.0], [4.0, nan, nan], [6.0, nan, 1.0], [8.0, nan, nan], [1.0, nan, 9.0]])
    forecast = np.array([[1.0, 0.0, 5.0], [1.0, 0.0, 0.0], [2.0, 0.0, 4.0], [4.0, 0.0, 0.0], [3.0, 0.0, 5.0]])
    zeros = np.zeros(5, dtype=np.int64)
    result = BacktestResult(zeros, np.array([1, 1, 2, 2, 3]), np.array([1, 2, 1, 2, 1]), forecast, truth)
    table = result.by_horizon()
    assert table.horizon.tolist() == [1, 2]
    assert table.scored.tolist() == [[3, 0, 3], [2, 0, 0]]
    assert np.allclose(table.mae, [[7 / 3, nan, 7 / 3], [3.5, nan, nan]], equal_nan=True)
    assert np.allclose(table.rmse, np.sqrt([[7.0, nan, 25 / 3], [12.5, nan, nan]]), equal_nan=True)
    assert np.array_equal(result.residuals()[:, :, 0], [[1, 3], [4, 4], [-2, nan]], equal_nan=True)


def test_results_are_printed_in_short_and_are_tables_by_name() -> None:
    result = backtest_forecaster(forecaster("persistence"), series_with_gaps(), first=2, step=1, horizon=12)
    assert "\n" not in repr(result)
    assert "forecasts of 4 series, 1 to 12 steps ahead; .by_horizon() has the errors" in repr(result)
    rows, errors = result.to_frame(), result.by_horizon()
    assert list(rows.columns) == ["sequence", "origin", "horizon", "a_forecast", "a_truth", "b_forecast", "b_truth"]
    assert np.array_equal(rows[["a_truth", "b_truth"]].to_numpy(), result.truth, equal_nan=True)
    table = errors.to_frame()
    assert list(table.columns) == ["a_rmse", "a_mae", "a_scored", "b_rmse", "b_mae", "b_scored"]
    assert np.array_equal(table[["a_rmse", "b_rmse"]].to_numpy(), errors.rmse, equal_nan=True)
    assert table.index.tolist() == list(range(1, 13))
    assert "a_rmse" in repr(errors)
    assert len(repr(errors).splitlines()) < 16


def test_features_without_names_go_by_numbers() -> None:
    found = backtest(last_value, [np.arange(18.0).reshape(9, 2)], first=2, step=1, horizon=2)
    assert list(found.to_frame().columns)[3:] == ["0_forecast", "0_truth", "1_forecast", "1_truth"]
    assert list(found.by_horizon().to_frame().columns)[:2] == ["0_rmse", "0_mae"]


def test_only_the_rows_before_the_origin_are_handed_over() -> None:
    series = [np.arange(18.0).reshape(9, 2), 100 + np.arange(10.0).reshape(5, 2)]
    histories = []

    def recorder(history: np.ndarray, horizon: int) -> np.ndarray:
        assert history.base is None, "the rows to come could be reached through a view"
        histories.append(history.copy())
        history[:] = -1.0
        return np.full((horizon, 2), history.size)

    before = [s.copy() for s in series]
    found = backtest(recorder, series, first=3, step=2, horizon=4)
    assert [len(h) for h in histories] == [3, 5, 7, 3]
    for history, whole in zip(histories, [before[0]] * 3 + [before[1]], strict=True):
        assert np.array_equal(history, whole[: len(history)])
    assert all(np.array_equal(a, b) for a, b in zip(series, before, strict=True)), "a forecaster may not edit the data"
    assert found.horizon.tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 1, 2], "nothing beyond the end of a series"
    assert np.array_equal(found.truth[-2:], before[1][3:])


def test_rows_to_come_change_no_forecast_of_the_fast_path() -> None:
    series = series_with_gaps()
    origins = rolling_origin([17], first=2, step=1, horizon=1)
    early = origins.origin <= 10
    changed = series[0].copy()
    changed[10:] += 5.0
    first, second = (forecast_from_origins(forecaster("psrnn"), [s], origins, 3) for s in (series[0], changed))
    assert np.array_equal(first[early], second[early])
    assert not np.isclose(first[~early], second[~early]).all((1, 2)).any(), "later origins do see the change"


@pytest.mark.parametrize("kind", ["autoregression", "persistence", "psrnn"])
@pytest.mark.parametrize(("first", "step", "horizon"), [(1, 1, 1), (2, 3, 5), (3, 1, 30), (9, 2, 2)])
def test_fast_path_is_one_forecast_at_a_time(kind: str, first: int, step: int, horizon: int) -> None:
    model, series = forecaster(kind), series_with_gaps()
    fast = backtest_forecaster(model, series, first=first, step=step, horizon=horizon)
    slow = backtest(model.forecast, series, first=first, step=step, horizon=horizon)
    for name in ("sequence", "origin", "horizon", "truth"):
        assert np.array_equal(getattr(fast, name), getattr(slow, name), equal_nan=True), name
    assert np.allclose(fast.forecast, slow.forecast, rtol=1e-12, atol=1e-12)
    assert np.allclose(fast.by_horizon().rmse, slow.by_horizon().rmse, equal_nan=True)


def test_fast_path_works_in_the_precision_of_the_model() -> None:
    model = forecaster("autoregression")
    single = Forecaster(model.model.float(), mean=model.mean, scale=model.scale, feature_names=("a", "b"))
    fast = backtest_forecaster(single, series_with_gaps(), first=2, step=1, horizon=4)
    slow = backtest(single.forecast, series_with_gaps(), first=2, step=1, horizon=4)
    exact = backtest_forecaster(forecaster("autoregression"), series_with_gaps(), first=2, step=1, horizon=4)
    assert np.allclose(fast.forecast, slow.forecast, rtol=1e-5)
    assert not np.allclose(fast.forecast, exact.forecast, rtol=1e-12)


@pytest.mark.parametrize("name", ["first", "step", "horizon"])
def test_numbers_start_at_one(name: str) -> None:
    numbers = {"first": 2, "step": 1, "horizon": 1} | {name: 0}
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        rolling_origin([9], **numbers)


def test_series_without_an_origin_are_named() -> None:
    with pytest.raises(ValueError, match="no series is longer than first=9 rows, the longest has 9; lower first"):
        rolling_origin([4, 9], first=9, step=1, horizon=1)


@pytest.mark.parametrize("fast", [True, False])
def test_bad_series_are_named(fast: bool) -> None:
    def run(series: list[np.ndarray]) -> BacktestResult:
        if fast:
            return backtest_forecaster(forecaster("psrnn"), series, first=2, step=1, horizon=1)
        return backtest(last_value, series, first=2, step=1, horizon=1)

    with pytest.raises(ValueError, match="no series to forecast"):
        run([])
    with pytest.raises(ValueError, match=r"series 1 has shape \(5, 3\), expected \(time, feature\)"):
        run([np.zeros((5, 2)), np.zeros((5, 3))])
    with pytest.raises(ValueError, match=r"series 0 has shape \(5,\), expected \(time, feature\)"):
        run([np.zeros(5)])
    infinite = np.zeros((5, 2))
    infinite[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinite value in row 3, feature 1 of series 1"):
        run([np.zeros((5, 2)), infinite])


def test_fast_path_wants_the_features_of_the_model() -> None:
    with pytest.raises(ValueError, match=r"expected \(time, 2\) values of a, b, got shape \(5, 3\)"):
        backtest_forecaster(forecaster("persistence"), [np.zeros((5, 3))], first=2, step=1, horizon=1)


def test_bad_forecasts_are_named() -> None:
    series = [np.zeros((5, 2)), np.zeros((5, 2))]
    with pytest.raises(ValueError, match=r"series 0 from row 2 has shape \(2,\), expected \(3, 2\)"):
        backtest(lambda history, _: history[-1], series, first=2, step=1, horizon=3)

    def diverging(history: np.ndarray, horizon: int) -> np.ndarray:
        return np.where(np.arange(horizon)[:, None] + len(history) > 3, np.nan, [[0.0, 0.0]])

    with pytest.raises(ValueError, match="series 0 from row 2 is not finite 3 steps ahead; fill"):
        backtest(diverging, series, first=2, step=1, horizon=3)
