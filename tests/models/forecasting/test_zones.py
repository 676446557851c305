"""Times in another zone than those of the data fitted to are the same times, and go on in their own zone."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, NoStateForecaster

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
AHEAD = 24


def hours(zone: str | None, rows: int = 24 * 12) -> Any:
    """Waves of a day in local time, over the hour that is left out in March."""
    index: Any = pd.date_range("2024-03-25", periods=rows, freq="h", tz=zone)
    generator = np.random.default_rng(0)
    price = generator.normal(size=rows)
    load = np.sin(2 * np.pi * index.hour / 24) + 0.3 * price + 0.02 * generator.normal(size=rows)
    return pd.DataFrame({"load": load, "price": price}, index=index)


BERLIN, WITHOUT = hours("Europe/Berlin"), hours(None)


def fitted(data: pd.DataFrame) -> NoStateForecaster:
    forecaster = NoStateForecaster(lags=1, covariates="price", calendar=["hour"], season=24)
    return forecaster.fit(data[: -2 * AHEAD])


@pytest.fixture(scope="module")
def in_berlin() -> NoStateForecaster:
    return fitted(BERLIN)


@pytest.fixture(scope="module")
def without() -> NoStateForecaster:
    return fitted(WITHOUT)


def pieces(data: Any) -> tuple[Any, Any]:
    return data[-2 * AHEAD : -AHEAD], data[["price"]][-AHEAD:]


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "predict": lambda forecaster, X, known: forecaster.predict(AHEAD, X, known=known),
    "predict_one_step": lambda forecaster, X, _: forecaster.predict_one_step(X),
    "score": lambda forecaster, X, _: forecaster.score(X),
    "backtest": lambda forecaster, X, _: forecaster.backtest(X, horizon=3).forecast,
    "update": lambda forecaster, X, known: deepcopy(forecaster).update(X).predict(AHEAD, known=known),
    "refit": lambda forecaster, X, known: deepcopy(forecaster).update(X, refit=True).predict(AHEAD, known=known),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_times_of_another_zone_give_the_same(
    call: Callable[[Any, Any, Any], Any], zone: str, in_berlin: NoStateForecaster
) -> None:
    X, known = pieces(BERLIN)
    right, found = call(in_berlin, X, known), call(in_berlin, X.tz_convert(zone), known.tz_convert(zone))
    np.testing.assert_allclose(np.asarray(found), np.asarray(right))
    if hasattr(right, "index"):
        assert (found.index == right.index).all()


def test_a_forecast_is_in_the_zone_of_its_rows_and_near_the_truth(in_berlin: NoStateForecaster) -> None:
    X, known = pieces(BERLIN)
    ahead = in_berlin.predict(AHEAD, X.tz_convert("UTC"), known=known)
    pd.testing.assert_index_equal(ahead.index, BERLIN.index[-AHEAD:].tz_convert("UTC"))
    np.testing.assert_allclose(ahead["load"], BERLIN["load"][-AHEAD:], atol=0.15)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_times_with_a_zone_do_not_go_with_such_without(
    call: Callable[[Any, Any, Any], Any], in_berlin: NoStateForecaster, without: NoStateForecaster
) -> None:
    said = (
        r"of (X|new_rows) have no zone, .* are in Europe/Berlin; .* tz_localize\('UTC'\) or "
        r"tz_localize\('Europe/Berlin'\), with ambiguous='infer' where clocks are put back$"
    )
    with pytest.raises(ValueError, match=said) as no:
        call(in_berlin, *pieces(WITHOUT))
    assert "\n" not in str(no.value)
    with pytest.raises(ValueError, match=r"of (X|new_rows) are in .* UTC, and those .* have none; .* UTC") as no:
        call(without, pieces(BERLIN)[0].tz_convert("UTC"), pieces(BERLIN)[1])
    assert "\n" not in str(no.value)


def test_known_rows_with_a_zone_do_not_go_with_such_without(
    in_berlin: NoStateForecaster, without: NoStateForecaster
) -> None:
    for forecaster, own, other in ((in_berlin, BERLIN, WITHOUT), (without, WITHOUT, BERLIN)):
        with pytest.raises(ValueError, match=r"the times in the index of known (have no|are in the) zone"):
            forecaster.predict(AHEAD, pieces(own)[0], known=pieces(other)[1])


def test_after_an_update_in_another_zone_the_index_goes_on() -> None:
    forecaster = LastValueForecaster().fit(BERLIN[:-AHEAD]).update(BERLIN[-AHEAD:-1].tz_convert("UTC"))
    pd.testing.assert_index_equal(forecaster.predict(1).index, BERLIN.index[-1:])


def test_series_of_several_zones_keep_theirs() -> None:
    kolkata = hours("Asia/Kolkata")
    forecaster = LastValueForecaster().fit([BERLIN, kolkata])
    for each in (BERLIN, kolkata):
        assert forecaster.predict(1, each).index.tz == each.index.tz


ZONES = [("Europe/Berlin", "America/New_York"), ("Europe/Berlin", "UTC"), ("UTC", "Europe/Berlin")]


def rising(index: Any) -> Any:
    return pd.DataFrame({"y": np.sin(np.arange(len(index)))}, index=index)


@pytest.mark.parametrize("zones", ZONES, ids="-".join)
@pytest.mark.parametrize("freq", ["D", "B", "MS", "W-SUN"])
@pytest.mark.parametrize("season", [None, 6])
def test_days_of_another_zone_go_on_in_it_over_changes_of_clocks(
    zones: tuple[str, str], freq: str, season: int | None
) -> None:
    there, here = (pd.date_range("2020-01-01", periods=90, freq=freq, tz=zone) for zone in zones)
    forecaster = LastValueForecaster(season=season).fit(rising(there))
    ahead = forecaster.predict(3, rising(here[:87]))  # a warning of uneven times would be an error
    pd.testing.assert_index_equal(ahead.index, here[87:])
    assert ahead.index.tz == here.tz
    forecaster.score(rising(here))


@pytest.mark.parametrize(("freq", "told"), [("D", {"calendar": ["weekday"]}), ("MS", {"season": 3})])
def test_days_that_were_brought_to_another_zone_are_read_in_that_of_fit(freq: str, told: dict[str, Any]) -> None:
    there: Any = pd.date_range("2020-01-01", periods=90, freq=freq, tz="Europe/Berlin")
    forecaster = NoStateForecaster(lags=1, **told).fit(rising(there))
    right = forecaster.predict(3, rising(there[:60]))
    found = forecaster.predict(3, rising(there[:60].tz_convert("UTC")))
    pd.testing.assert_frame_equal(found, right)


@pytest.mark.parametrize("hour", [0, 6])
def test_rows_that_begin_days_have_the_weekday_of_their_own_zone(hour: int) -> None:
    there, here = (
        pd.date_range(f"2024-01-01 {hour:02}:00", periods=70, freq="D", tz=zone) for zone in ("UTC", "Europe/Berlin")
    )
    forecaster = NoStateForecaster(lags=1, calendar=["weekday"]).fit(rising(there))
    right, found = (forecaster.predict_one_step(rising(index)) for index in (there, here))
    assert np.allclose(right, found) == (hour == 0)


@pytest.mark.parametrize(("data", "other"), [(BERLIN, WITHOUT), (WITHOUT, BERLIN)], ids=["zone", "none"])
def test_zones_may_be_missing_where_nothing_is_read_from_clocks(data: Any, other: Any) -> None:
    forecaster = LastValueForecaster().fit(data)
    ahead = forecaster.predict(2, other[:-2])
    pd.testing.assert_index_equal(ahead.index, pd.DatetimeIndex(other.index[-2:], freq="h"))
    forecaster.score(other)


def test_a_midnight_that_clocks_leave_out_is_no_error() -> None:
    days = pd.date_range("2018-10-01", periods=60, freq="D")
    there: Any = days.tz_localize("America/Sao_Paulo", nonexistent="shift_forward")
    forecaster = LastValueForecaster().fit(rising(days.tz_localize("UTC")))
    with pytest.warns(UserWarning, match="the times of the index are uneven"):
        assert len(forecaster.predict(2, rising(there))) == 2
