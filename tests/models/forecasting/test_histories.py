"""Series that a model was not fitted to: their columns, their steps and their times are those of the data fitted to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, VARForecaster
from models.forecasting.estimators.covariates import FromStart

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")


def three_columns(rows: int) -> Any:
    """Columns of unlike sizes; the last is thrice the first, which is known ahead."""
    generator = np.random.default_rng(1)
    ahead, beside = generator.normal(size=(2, rows))
    return pd.DataFrame({0: ahead, 1: 100 + beside, 2: 3 * ahead + 10 + 0.01 * generator.normal(size=rows)})


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda forecaster, X: forecaster.predict(2, X, known=[[0.5], [-0.5]]),
    "predict_one_step": lambda forecaster, X: forecaster.predict_one_step(X),
    "score": lambda forecaster, X: forecaster.score(X),
    "backtest": lambda forecaster, X: forecaster.backtest(X, horizon=2).forecast,
}


@pytest.fixture(scope="module")
def of_a_table() -> VARForecaster:
    return VARForecaster(target=2, covariates=0, orders=1).fit(three_columns(150))


@pytest.fixture(scope="module")
def of_an_array() -> VARForecaster:
    return VARForecaster(target=2, covariates=0, orders=1).fit(three_columns(150).to_numpy())


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_array_has_its_columns_in_the_order_of_fit(
    call: Callable[[Any, Any], Any], of_a_table: VARForecaster, of_an_array: VARForecaster
) -> None:
    table = three_columns(180)
    right = np.asarray(call(of_a_table, table[[2, 0, 1]]))
    for forecaster in (of_a_table, of_an_array):
        np.testing.assert_allclose(np.asarray(call(forecaster, table.to_numpy())), right, err_msg=str(forecaster))


def test_arrays_in_a_list_have_their_columns_in_the_order_of_fit(of_an_array: VARForecaster) -> None:
    values = three_columns(180).to_numpy()
    (found,) = of_an_array.predict_one_step([values])
    np.testing.assert_allclose(found, of_an_array.predict_one_step(values))
    assert of_an_array.score([values]) > 0.9999


def test_the_covariate_of_an_array_is_used() -> None:
    values = three_columns(180)[[0, 2]].to_numpy()
    forecaster = VARForecaster(covariates=0, orders=1).fit(values[:150])
    assert forecaster.score(values) > 0.9999
    np.testing.assert_allclose(forecaster.predict_one_step(values)[5:, 0], 3 * values[5:, 0] + 10, atol=0.05)
    np.testing.assert_allclose(forecaster.predict(1, values, known=[[2.0]]), [[16.0]], atol=0.05)
    assert forecaster.backtest(values, first=150, horizon=1).by_horizon().rmse.max() < 0.05


def test_the_last_value_of_an_array_is_that_of_the_target() -> None:
    values = three_columns(60).to_numpy()
    assert LastValueForecaster(target=[1]).fit(values[:50]).predict(1, values) == values[-1, 1]


HOURS = pd.date_range("2024-05-01", periods=300, freq="h")


def day_waves(index: Any, place: np.ndarray | None = None) -> Any:
    """A wave of 24 rows with a spike and little noise, the same of the same place."""
    place = np.arange(len(index)) if place is None else place
    noise = np.random.default_rng(0).normal(size=1000)[place]
    return pd.DataFrame({"y": np.sin(2 * np.pi * place / 24) + 0.3 * (place % 24 == 5) + 0.02 * noise}, index=index)


@pytest.fixture(scope="module")
def hourly() -> VARForecaster:
    return VARForecaster(orders=24).fit(day_waves(HOURS))


LATER = day_waves(pd.date_range(HOURS[-1], periods=61, freq="h")[1:], 300 + np.arange(60))
TABLES: dict[str, Callable[[Any, Any], Any]] = {
    **CALLS,
    "predict": lambda forecaster, X: forecaster.predict(2, X),
    "predict_interval": lambda forecaster, X: forecaster.predict_interval(1, 0.5, X),
}


@pytest.mark.parametrize("call", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.r_[0:55, 57:60], "the times of the index are uneven"),
        (np.s_[::2], "the rows of X are 2 hours apart, and those of the data fitted to 1 hour;"),
    ],
    ids=["uneven", "two hours"],
)
def test_other_times_than_those_of_fit_are_warned_of_once(
    call: Callable[[Any, Any], Any], rows: Any, said: str, hourly: VARForecaster
) -> None:
    with pytest.warns(UserWarning, match=said) as warned:
        call(hourly, LATER.iloc[rows])
    assert len(warned) == 1
    if call is not TABLES["predict_interval"]:  # which asks predict
        assert warned[0].filename == __file__
    call(hourly, LATER)  # and not of the same times


def test_a_loaded_model_knows_the_step_of_its_data(hourly: VARForecaster, tmp_path: Any) -> None:
    hourly.save(tmp_path / "model")
    with pytest.warns(UserWarning, match="the rows of X are 2 hours apart"):
        VARForecaster.load(tmp_path / "model").score(LATER[::2])


@pytest.mark.parametrize(
    ("index", "other", "steps"),
    [
        (pd.RangeIndex(0, 600, 2), pd.RangeIndex(600, 660), ("1", "2")),
        (pd.Index(0.1 * np.arange(300)), pd.Index(0.2 * np.arange(300, 360)), ("0.2", "0.1")),
        (
            pd.to_timedelta(np.arange(300), unit="s"), pd.to_timedelta(90 * np.arange(60), unit="s"),
            ("1 minute 30 seconds", "1 second"),
        ),
        (
            pd.date_range("2000", periods=300, freq="ME"), pd.date_range("2030", periods=60, freq="QS"),
            ("3 months", "1 month"),
        ),
        (
            pd.period_range("2000", periods=300, freq="D"), pd.period_range("2030", periods=60, freq="W"),
            ("7 days", "1 day"),
        ),
        (
            pd.date_range("2000", periods=300, freq="B"), pd.date_range("2030", periods=60, freq="W-TUE"),
            ("7 days", "1 working day"),
        ),
    ],
    ids=["numbers", "fractions", "spans", "months", "periods", "working days"],
)  # fmt: skip
def test_another_step_is_told_of_in_any_index(index: pd.Index, other: pd.Index, steps: tuple[str, str]) -> None:
    forecaster = LastValueForecaster().fit(day_waves(index))
    way = "" if index.dtype.kind in "if" else ", with DataFrame.resample say"
    said = (
        f"^the rows of X are {steps[0]} apart, and those of the data fitted to {steps[1]}; each counts as one step of "
        f"theirs; bring X to their step{way}$"
    )
    with pytest.warns(UserWarning, match=said):
        forecaster.score(day_waves(other))


@pytest.mark.parametrize(
    ("index", "other"),
    [
        (pd.RangeIndex(0, 600, 2), pd.RangeIndex(60)),
        (pd.Index(0.1 * np.arange(300)), pd.RangeIndex(60)),
        (pd.date_range("2024-01-01", periods=300, freq="B"), pd.DatetimeIndex(["2025-02-21", "2025-02-24"])),
    ],
    ids=["rows that are counted", "rows that are counted beside fractions", "friday and monday"],
)
def test_rows_that_tell_no_step_are_told_of_no_other(index: pd.Index, other: pd.Index) -> None:
    LastValueForecaster().fit(day_waves(index)).predict(1, day_waves(other))


@pytest.mark.parametrize("form", ["groups", "list"])
def test_series_that_are_uneven_are_told_of_by_the_first(form: str, hourly: VARForecaster) -> None:
    parts = [LATER[:30], LATER[30:].drop(LATER.index[40]), LATER.drop(LATER.index[7])]
    data = pd.concat(dict(zip("abc", parts, strict=True))) if form == "groups" else parts
    first = "b" if form == "groups" else "1"
    said = f"^the times of the index are uneven in series {first} and in 1 more, and each"
    with pytest.warns(UserWarning, match=said) as warned:
        hourly.predict(1, data)
    with pytest.warns(UserWarning, match=said) as of_fit:
        LastValueForecaster().fit(data)
    assert (len(warned), len(of_fit)) == (1, 1)


@pytest.mark.parametrize(
    ("index", "other", "kinds"),
    [
        (HOURS, pd.RangeIndex(60), ("numbers", "times")),
        (HOURS, pd.Index(list(map(str, HOURS[:60]))), ("names", "times")),
        (HOURS.to_period("h"), pd.RangeIndex(7, 67), ("numbers", "periods")),
        (pd.to_timedelta(np.arange(300), unit="s"), HOURS[:60], ("times", "spans of time")),
    ],
)
def test_an_index_without_the_times_that_fit_had_is_told_of(
    index: pd.Index, other: pd.Index, kinds: tuple[str, str]
) -> None:
    forecaster = LastValueForecaster().fit(day_waves(index))
    with pytest.warns(
        UserWarning, match=f"^the index of X holds {kinds[0]}, and .* fitted to {kinds[1]}, so"
    ) as warned:
        ahead = forecaster.predict(2, day_waves(other))
    assert [warning.filename for warning in warned] == [__file__]
    np.testing.assert_array_equal(ahead, forecaster.predict(2, day_waves(other).to_numpy()))


def test_times_and_periods_both_say_when() -> None:
    forecaster = LastValueForecaster().fit(day_waves(HOURS))
    forecaster.predict(2, day_waves(HOURS[:60].to_period("h")))
    counting = LastValueForecaster().fit(day_waves(pd.RangeIndex(300)))
    counting.predict(2, day_waves(HOURS[:60]))


@pytest.mark.parametrize("given", [lambda data: data, FromStart], ids=["X", "from the start"])
def test_uneven_series_are_told_of_unless_those_fitted_to_were_uneven(given: Any, tmp_path: Any) -> None:
    data = day_waves(HOURS.delete([50]))
    even = LastValueForecaster().fit(day_waves(HOURS))
    with pytest.warns(UserWarning, match="the times of the index are uneven"):
        even.predict_one_step(given(data))
    with pytest.warns(UserWarning, match="the times of the index are uneven"):
        forecaster = LastValueForecaster().fit(data)
    forecaster.save(tmp_path / "model")
    for each in (forecaster, LastValueForecaster.load(tmp_path / "model")):
        each.predict_one_step(given(data))


@pytest.mark.parametrize("freq", ["ME", "MS", "BME", "QS", "YS", "B", "D", "W-TUE", "6h", "2MS", "15min"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_the_step_of_fit_is_the_same_in_pieces_of_it(freq: str, zone: str | None) -> None:
    data = day_waves(pd.date_range("1960-03-31", periods=220, freq=freq, tz=zone))
    forecaster = LastValueForecaster().fit(data[:100])
    for first in range(0, 200, 3):
        forecaster.predict(1, data[first : first + 11])


@pytest.mark.filterwarnings("ignore:the numbers of the index are uneven")
def test_a_season_is_never_read_from_numbers_that_stand_in() -> None:
    data = day_waves(pd.RangeIndex(360))
    forecaster = VARForecaster(orders=1, season=24).fit(data[:300])
    with pytest.raises(
        ValueError, match=r"season goes by the numbers .* \(after uneven ones none are known\); give"
    ) as no:
        forecaster.predict(5, data[300:].drop(357))
    assert "\n" not in str(no.value)
    forecaster.score(data[300:].drop(357))  # these rows say where they are
    np.testing.assert_allclose(forecaster.predict(5, data[300:355]), data[355:], atol=0.1)


@pytest.mark.parametrize("interleaved", [True, False])
def test_predictions_of_groups_are_in_the_order_of_their_rows(hourly: VARForecaster, interleaved: bool) -> None:
    parts = {name: LATER[first : first + 40] for name, first in {"b": 0, "a": 10, "c": 5}.items()}
    groups = pd.concat(parts, names=["place", "hour"])
    data = groups.iloc[np.random.default_rng(0).permutation(120)].sort_index(level=1, sort_remaining=False)
    data = data if interleaved else groups
    found = hourly.predict_one_step(data)
    pd.testing.assert_index_equal(found.index, data.index)
    for name, part in parts.items():
        rows = data.index.get_level_values(0) == name
        np.testing.assert_allclose(found.to_numpy()[rows], hourly.predict_one_step(part).to_numpy())


def test_predictions_have_the_index_of_their_rows(hourly: VARForecaster) -> None:
    pd.testing.assert_index_equal(hourly.predict_one_step(LATER).index, LATER.index)
    found = hourly.predict_one_step([LATER, LATER[5:]])
    assert [list(each.index) for each in found] == [list(LATER.index), list(LATER.index[5:])]
    pd.testing.assert_index_equal(hourly.predict_one_step(LATER["y"]).index, LATER.index)
