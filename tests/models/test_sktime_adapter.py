"""The forecasters in sktime: its own checks of an estimator, its tuning, its pipelines and its evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, PSRNNForecaster, VARForecaster
from warm_processes import code, ended

NEEDS = "sktime is not installed; pip install -c constraints.txt -e '.[sktime]' installs it"
pytest.importorskip("sktime", reason=NEEDS)

from models.sktime_adapter import SktimeForecaster  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:sktime", "ignore:on the validation part a naive")
MONTHS = pd.period_range("2010-01", periods=96, freq="M", name="month")


def series(rows: int = 96) -> pd.Series:
    """A season of twelve rows, a trend and noise, far from zero."""
    noise = np.random.default_rng(0).normal(size=rows)
    values = 5 + np.sin(2 * np.pi * np.arange(rows) / 12) + 0.01 * np.arange(rows) + 0.05 * noise
    return pd.Series(values, index=MONTHS[:rows], name="sales")


def driven() -> tuple[pd.Series, pd.DataFrame]:
    """A series that follows a covariate of the same row."""
    given = np.random.default_rng(1).normal(size=96)
    price = pd.DataFrame({"price": given}, index=MONTHS)
    return pd.Series(2 * given + 0.01 * np.arange(96), index=MONTHS, name="sales"), price


def var(**parameters: Any) -> SktimeForecaster:
    return SktimeForecaster(VARForecaster(orders=(1, 2, 12), **parameters))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")  # the checks warn of much that is theirs
def test_sktime_s_own_checks_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """All checks, with a forecaster that is fitted in a moment; those of `get_test_params` take a minute."""
    from sktime.utils.estimator_checks import check_estimator

    parameters = {"forecaster": VARForecaster(orders=2, validation=0.5)}
    monkeypatch.setattr(SktimeForecaster, "get_test_params", classmethod(lambda *_, **__: [parameters]))
    found = check_estimator(SktimeForecaster, verbose=False, tests_to_exclude="test_get_test_params_coverage")
    assert len(found) > 150
    assert {name: result for name, result in found.items() if result != "PASSED"} == {}


@pytest.mark.filterwarnings("ignore")
def test_sktime_makes_and_copies_the_forecasters_that_are_documented_for_its_checks() -> None:
    from sktime.utils.estimator_checks import check_estimator

    some = ["test_constructor", "test_clone", "test_fit_does_not_overwrite_hyper_params", "test_persistence_via_pickle"]
    found = check_estimator(SktimeForecaster, verbose=False, tests_to_run=some)
    assert len(found) >= 2 * len(some)
    assert set(found.values()) == {"PASSED"}


def test_forecasts_are_those_of_the_forecaster_alone() -> None:
    y = series()
    ours = SktimeForecaster(PSRNNForecaster(count=3, validation=0.3)).fit(y)
    alone = PSRNNForecaster(count=3, validation=0.3).fit(y.to_frame())
    forecast = ours.predict(fh=[2, 5])
    np.testing.assert_array_equal(forecast, alone.predict(5)["sales"].iloc[[1, 4]])
    assert list(forecast.index) == list(pd.PeriodIndex(["2018-02", "2018-05"], freq="M"))
    bounds = ours.predict_interval(fh=[2, 5], coverage=[0.5, 0.8])
    for coverage in (0.5, 0.8):
        np.testing.assert_array_equal(
            bounds["sales"][coverage], alone.predict_interval(5, coverage=coverage).iloc[[1, 4]]
        )
    np.testing.assert_array_equal(ours.predict(fh=[-1, 0]), alone.predict_one_step(y.to_frame())["sales"].iloc[-2:])


def test_a_median_is_the_forecast() -> None:
    forecaster = var(validation=0.3).fit(series(), fh=[1, 2])
    np.testing.assert_array_equal(forecaster.predict_quantiles(alpha=[0.5])["sales"][0.5], forecaster.predict())


def test_an_update_moves_the_state_on_or_fits_anew() -> None:
    y = series()
    moved = var().fit(y[:84], fh=[1, 2, 3]).update(y[80:90], update_params=False)  # rows 80 to 83 were seen
    anew = var().fit(y[:84], fh=[1, 2, 3]).update(y[84:90], update_params=True)
    alone = VARForecaster(orders=(1, 2, 12)).fit(y[:84].to_frame()).update(y[84:90].to_frame())
    np.testing.assert_array_equal(moved.predict(), alone.predict(3)["sales"])
    np.testing.assert_array_equal(anew.predict(), var().fit(y[:90], fh=[1, 2, 3]).predict())


def test_forecasts_start_where_the_cutoff_was_set_back_to() -> None:
    y = series()
    forecaster = var().fit(y[:84]).update(y[84:], update_params=False)
    forecaster.update(y[84:90], update_params=False)
    earlier = var().fit(y[:84]).update(y[84:90], update_params=False)
    assert forecaster.cutoff == earlier.cutoff
    np.testing.assert_allclose(forecaster.predict(fh=[1, 2, 3]), earlier.predict(fh=[1, 2, 3]), rtol=1e-12)


def test_x_is_known_ahead_also_by_the_name_of_a_target() -> None:
    y, price = driven()
    for X in (price, price.rename(columns={"price": "sales"})):
        forecaster = var().fit(y[:84], X=X)  # rows that y has not are left aside
        forecast = forecaster.predict(fh=range(1, 13), X=X[84:])
        np.testing.assert_allclose(forecast, y[84:], atol=0.1)


def test_wrong_covariates_are_refused() -> None:
    y, price = driven()
    forecaster = var().fit(y[:84], X=price[:84])
    with pytest.raises(ValueError, match="X must have every row from 2017-01 to 2017-03; 2017-02 is missing"):
        forecaster.predict(fh=[1, 3], X=price.iloc[[84, 86]])
    with pytest.raises(ValueError, match="fit had an X; update and predict take the same"):
        forecaster.predict(fh=[1])
    with pytest.raises(ValueError, match="leave target and covariates of the forecaster None"):
        var(covariates="price").fit(y, X=price)
    with pytest.raises(ValueError, match=r"fh asks for 2009-12, which is no row of y \(2010-01 to 2016-12, 84 rows\)"):
        forecaster.predict(fh=[-84], X=price)


@pytest.mark.parametrize("index", [pd.date_range("2024-01-01", periods=120, freq="B"), pd.RangeIndex(5, 125)])
def test_a_season_of_rows_is_known_in_the_sample(index: pd.Index) -> None:
    """Working days are no even times, so that a season counts rows: those of y are counted from its first one."""
    noise = 0.05 * np.random.default_rng(0).normal(size=120)
    y = pd.Series(np.resize([0.0, 1.0, 3.0, 2.0, 5.0], 120) + noise, index=index, name="sales")
    forecaster = SktimeForecaster(VARForecaster(orders=1, season=5)).fit(y[:100])
    np.testing.assert_allclose(forecaster.predict(fh=range(-40, 1)), y.iloc[59:100], atol=0.5)
    earlier = forecaster.predict(fh=[1, 2, 3])
    forecaster.update(y[100:], update_params=False)
    forecaster.update(y[95:100], update_params=False)  # sets the cutoff back
    np.testing.assert_allclose(forecaster.predict(fh=[1, 2, 3]), earlier, rtol=1e-9)


def test_tuning_takes_it() -> None:
    from sktime.forecasting.model_selection import ForecastingGridSearchCV
    from sktime.split import ExpandingWindowSplitter

    y, windows = series(), ExpandingWindowSplitter(fh=[1, 2, 3], initial_window=84, step_length=8)
    grid = {"forecaster": [LastValueForecaster(), VARForecaster(orders=12)]}
    search = ForecastingGridSearchCV(SktimeForecaster(), windows, grid).fit(y)
    assert isinstance(search.best_params_["forecaster"], VARForecaster)
    nested = ForecastingGridSearchCV(var(), windows, {"forecaster__orders": [1, 12]}).fit(y)
    assert nested.best_params_ == {"forecaster__orders": 12}
    np.testing.assert_array_equal(nested.predict(fh=[1, 2]), search.predict(fh=[1, 2]))


def test_a_pipeline_takes_it() -> None:
    from sktime.forecasting.compose import TransformedTargetForecaster
    from sktime.transformations.exponent import ExponentTransformer

    y = series()
    pipeline = TransformedTargetForecaster([("root", ExponentTransformer(0.5)), ("forecast", var())]).fit(y)
    expected = var().fit(np.sqrt(y)).predict(fh=[1, 2, 3]) ** 2
    np.testing.assert_allclose(pipeline.predict(fh=[1, 2, 3]), expected, rtol=1e-9)


@pytest.mark.parametrize("strategy", ["refit", "update", "no-update_params"])
def test_evaluation_takes_it(strategy: str) -> None:
    from sktime.forecasting.model_evaluation import evaluate
    from sktime.split import ExpandingWindowSplitter

    y, windows = series(), ExpandingWindowSplitter(fh=[1, 2, 3], initial_window=84, step_length=8)
    error = "test_MeanAbsolutePercentageError"
    found = evaluate(var(), windows, y, strategy=strategy)[error]
    naive = evaluate(SktimeForecaster(LastValueForecaster()), windows, y, strategy=strategy)[error]
    assert len(found) == 2
    assert found.mean() < 0.5 * naive.mean()


def test_without_sktime_one_line_says_how_to_install_it(tmp_path: Path) -> None:
    text = "import sys, models; models.VARForecaster; assert 'sktime' not in sys.modules; "
    text += "sys.modules['sktime'] = None; import models.sktime_adapter"
    found = ended(code, text, folder=tmp_path)
    assert found.err.splitlines()[-1] == f"ModuleNotFoundError: {NEEDS}"
