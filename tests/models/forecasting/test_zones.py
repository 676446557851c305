"""Times in another zone than those of the data fitted to are the same times; those without a zone are refused."""

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


def test_a_forecast_is_in_the_zone_of_fit_and_near_the_truth(in_berlin: NoStateForecaster) -> None:
    X, known = pieces(BERLIN)
    ahead = in_berlin.predict(AHEAD, X.tz_convert("UTC"), known=known)
    pd.testing.assert_index_equal(ahead.index, BERLIN.index[-AHEAD:])
    assert ahead.index.tz == BERLIN.index.tz
    np.testing.assert_allclose(ahead["load"], BERLIN["load"][-AHEAD:], atol=0.15)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_times_with_a_zone_do_not_go_with_such_without(
    call: Callable[[Any, Any, Any], Any], in_berlin: NoStateForecaster, without: NoStateForecaster
) -> None:
    said = "of (X|new_rows) have no zone, .* are in Europe/Berlin; .* tz_localize$"
    with pytest.raises(ValueError, match=said) as no:
        call(in_berlin, *pieces(WITHOUT))
    assert "\n" not in str(no.value)
    with pytest.raises(ValueError, match=r"of (X|new_rows) are in the zone UTC, and those .* have none; take it") as no:
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
