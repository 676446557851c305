"""Rows that come after those fitted to: whatever the index, they have to follow, and `known` has to be of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, VARForecaster

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
ROWS = 120
INDICES = {
    "times": pd.date_range("2024-01-01", periods=ROWS, freq="h"),
    "numbers": pd.RangeIndex(5, 5 + ROWS),
    "fractions": pd.Index(0.1 * np.arange(ROWS)),
    "rounded fractions": pd.Index((3000 + 0.1 * np.arange(ROWS)).astype(np.float32)),
    "spans": pd.to_timedelta(40 * np.arange(ROWS), unit="ms"),
}


def table(index: pd.Index) -> Any:
    generator = np.random.default_rng(0)
    price = generator.normal(size=ROWS)
    return pd.DataFrame({"load": 2 * price + 0.01 * generator.normal(size=ROWS), "price": price}, index=index)


@pytest.mark.parametrize("name", ["step", "time"])
@pytest.mark.parametrize("kind", INDICES)
def test_known_values_of_other_rows_are_refused(kind: str, name: str) -> None:
    data = table(INDICES[kind].rename(name))
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:100])
    for horizon in (1, 3):
        for other in (slice(99, 99 + horizon), slice(101, 101 + horizon)):
            with pytest.raises(ValueError, match=r"known must hold price .*; it has") as refused:
                forecaster.predict(horizon, known=data[["price"]][other])
            assert "\n" not in str(refused.value)
    ahead = forecaster.predict(3, known=data[["price"]][100:103])
    np.testing.assert_allclose(ahead["load"], data["load"][100:103], atol=0.1)


@pytest.mark.parametrize("kind", INDICES)
def test_rows_that_are_missing_are_refused_whatever_the_index_is_called(kind: str) -> None:
    data = table(INDICES[kind].rename("step"))
    forecaster = LastValueForecaster().fit(data[:100])
    with pytest.raises(ValueError, match=r"new_rows begins at .* put in empty rows"):
        forecaster.update(data[106:])
    assert forecaster.update(data[100:106]).predict(1).index.name == "step"


def test_fractions_are_the_same_up_to_rounding() -> None:
    data = table(INDICES["fractions"])
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:100])
    known = data[["price"]][100:103]
    right = forecaster.predict(3, known=known.to_numpy())
    np.testing.assert_allclose(forecaster.predict(3, known=known.set_axis(known.index + 1e-6)), right)


@pytest.mark.filterwarnings("ignore:the (times|numbers) of the index are uneven")
@pytest.mark.parametrize("index", [INDICES["times"], pd.RangeIndex(ROWS)], ids=["times", "numbers"])
def test_an_uneven_index_tells_no_rows_to_come(index: pd.Index) -> None:
    data = table(index)
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:100].drop(index[97]))
    ahead = forecaster.predict(3, known=data[["price"]][100:103])
    assert (list(ahead.index), ahead.index.name) == ([1, 2, 3], "step")
    forecaster.update(data[101:])  # of which one is missing, as one was before


@pytest.mark.filterwarnings("ignore:the (times|spans of time) of the index are uneven")
@pytest.mark.parametrize("kind", ["times", "spans", "clocks"])
@pytest.mark.parametrize("grouped", [False, True])
def test_known_values_of_times_gone_by_are_refused_where_times_are_uneven(kind: str, grouped: bool) -> None:
    index: Any = INDICES["times"].tz_localize("Europe/Berlin") if kind == "clocks" else INDICES[kind]
    data = table(index)
    if grouped:
        data = pd.concat({"a": data, "b": data.shift(1, fill_value=0.0)})
    places = np.arange(len(data)) % ROWS
    forecaster = VARForecaster(covariates="price", orders=1, validation=0.2).fit(data[(places < 100) & (places != 97)])
    known = {first: data[["price"]][(places >= first) & (places < first + 3)] for first in (40, 99, 100, 110)}
    for first in (40, 99):
        for ask in (forecaster.predict, forecaster.predict_interval):
            with pytest.raises(ValueError, match=f"^known must hold .* after {re.escape(str(index[99]))}; it has"):
                ask(3, known=known[first])
    forecaster.predict(3, known=known[100])
    with pytest.warns(UserWarning, match="^known begins .* further apart than any neighbours before"):
        forecaster.predict(3, known=known[110])
    forecaster.update(data[(places >= 100) & (places < 105)])
    with pytest.raises(ValueError, match=f"in its index after {re.escape(str(index[104]))}; it has"):
        forecaster.predict(3, known=known[100])
    with pytest.raises(ValueError, match=r"the index of .*known goes backwards"):
        forecaster.predict(3, known=known[110][::-1])


@pytest.mark.filterwarnings("ignore:the times of the index are uneven")
def test_known_values_may_count_the_rows_to_come_where_times_are_uneven() -> None:
    data = table(INDICES["times"])
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:100].drop(data.index[97]))
    known = data[["price"]][100:103]
    ahead = forecaster.predict(3, known=known)
    for index in (ahead.index, pd.RangeIndex(3)):
        pd.testing.assert_frame_equal(forecaster.predict(3, known=known.set_axis(index)), ahead)
    with pytest.raises(ValueError, match=r"with times in its index after 2024-01-05 .*; it has periods \(h\), "):
        forecaster.predict(3, known=known.set_axis(known.index.to_period("h")))


@pytest.mark.parametrize(("kind", "how"), [("periods", "reindex"), ("times", "asfreq")])
def test_periods_with_gaps_are_taken_as_times_are(kind: str, how: str) -> None:
    periods = pd.period_range("2024-01-01", periods=ROWS, freq="D")
    data = table(periods if kind == "periods" else periods.to_timestamp())
    uneven = data[:100].drop(data.index[[50, 97]])
    with pytest.warns(UserWarning, match=f"the times .* are uneven, .* missing times, with DataFrame.{how} say"):
        forecaster = LastValueForecaster(covariates="price").fit(uneven)
    expected = list(data.index[100:103]) if kind == "periods" else [1, 2, 3]
    assert list(forecaster.predict(3, known=data[["price"]][100:103]).index) == expected
    forecaster.update(data[101:])
    with pytest.raises(ValueError, match="calendar and season go by the index, which has no even step where it ends"):
        LastValueForecaster(calendar=["weekday"]).fit(uneven)


@pytest.mark.filterwarnings("ignore:the times of the index are uneven")
def test_known_values_of_periods_of_another_frequency_are_refused_where_periods_end_uneven() -> None:
    months = pd.period_range("2010-01", periods=ROWS, freq="M")
    data = table(months)
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:103].drop(months[[97, 98, 100]]))
    days = pd.period_range("2018-08-01", periods=3, freq="D")
    with pytest.raises(
        ValueError, match=r"with periods \(M\) .* 2018-07; it has periods \(D\), 2018-08-01 to"
    ) as refused:
        forecaster.predict(3, known=data[["price"]][103:106].set_axis(days))
    assert "\n" not in str(refused.value)
    for first in (103, 105):
        ahead = forecaster.predict(3, known=data[["price"]][first : first + 3])
        assert list(ahead.index) == list(months[first : first + 3])


@pytest.mark.parametrize("kind", ["periods", "times"])
def test_rows_of_every_second_period_are_followed_by_such(kind: str) -> None:
    periods = pd.period_range("2004-01", periods=ROWS, freq="M")[::2]
    data = table(pd.RangeIndex(ROWS))[::2].set_axis(periods if kind == "periods" else periods.to_timestamp())
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:50])
    ahead = forecaster.predict(3, known=data[["price"]][50:53])
    assert list(ahead.index) == list(data.index[50:53])
    forecaster.update(data[50:55])


def test_row_numbers_from_0_do_not_say_which_rows_they_are_of_beside_fractions() -> None:
    data = table(pd.Index(0.5 * np.arange(ROWS)))
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:100])
    known = data[["price"]][100:103]
    pd.testing.assert_frame_equal(
        forecaster.predict(3, known=known.reset_index(drop=True)), forecaster.predict(3, known=known)
    )
    with pytest.raises(ValueError, match=r"known must hold price .* to come, 50\.0 to 51\.0; it has 50\.5"):
        forecaster.predict(3, known=data[["price"]][101:104])


def test_row_numbers_from_0_do_not_say_which_rows_they_are_of_beside_times() -> None:
    data = table(INDICES["times"])
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:100])
    forecaster.predict(3, known=data[["price"]][100:103].reset_index(drop=True))


@pytest.mark.parametrize(
    ("kind", "other", "message"),
    [
        ("times", pd.RangeIndex(100, 103), "with times in its index, 2024-01-05 .*; it has numbers, 100 to 102"),
        ("times", INDICES["spans"][100:103], "it has spans of time, 0 days 00:00:04 to"),
        ("times", INDICES["times"][100:103].astype(str), "it has names, 2024-01-05 04:00:00 to .*; give it theirs, or"),
        ("numbers", INDICES["times"][100:103], "with numbers in its index, 105 to 107; it has times"),
        ("spans", INDICES["times"][100:103].to_period("h"), "with spans of time in its index, .*; it has periods"),
        ("fractions", pd.RangeIndex(100, 103), ", 10.0 to 10.2.*; it has 100 to 102"),
    ],
)  # fmt: skip
def test_known_values_with_another_kind_of_index_are_refused(kind: str, other: pd.Index, message: str) -> None:
    data = table(INDICES[kind])
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:100])
    with pytest.raises(ValueError, match=f"^known must hold price for the 3 rows to come.*{message}") as refused:
        forecaster.predict(3, known=data[["price"]][100:103].set_axis(other))
    assert "\n" not in str(refused.value)


def test_whole_fractions_are_numbers() -> None:
    data = table(pd.Index(np.arange(ROWS) * 1.0))
    forecaster = VARForecaster(covariates="price", orders=1).fit(data[:100])
    known = data[["price"]][100:103]
    right = forecaster.predict(3, known=known)
    pd.testing.assert_frame_equal(forecaster.predict(3, known=known.set_axis(pd.RangeIndex(100, 103))), right)
