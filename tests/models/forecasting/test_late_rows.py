"""Rows that begin late after uneven ones, where nothing else says when the next is due, are warned of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, VARForecaster

pytestmark = [
    pytest.mark.filterwarnings("ignore:the (times|numbers|spans of time) of the index are uneven"),
    pytest.mark.filterwarnings("ignore:on the validation part a naive forecast"),
]
ROWS = 120
HOLED = [80, 81, 95]  # left out of the rows fitted to, so that the longest step is one of three rows
INDICES = {
    "days": pd.date_range("2024-01-01", periods=ROWS),
    "zone": pd.date_range("2024-01-01", periods=ROWS, tz="Europe/Berlin"),
    "months": pd.date_range("2010-01-01", periods=ROWS, freq="MS"),
    "periods": pd.period_range("2010-01", periods=ROWS, freq="M"),
    "spans": pd.to_timedelta(np.arange(ROWS), unit="min"),
    "numbers": pd.RangeIndex(7, 7 + ROWS),
    "fractions": pd.Index(0.1 * np.arange(ROWS)),
}


def table(index: pd.Index) -> Any:
    values = np.random.default_rng(0).normal(size=(ROWS, 2)).cumsum(axis=0)
    return pd.DataFrame(values, index, ["load", "price"])


def fitted(data: Any) -> VARForecaster:
    return VARForecaster(orders=1, covariates="price").fit(data[:100].drop(data.index[HOLED]))


@pytest.mark.parametrize("kind", INDICES)
def test_a_longer_step_than_any_before_is_warned_of_with_both_ends(kind: str) -> None:
    data = table(INDICES[kind])
    forecaster, (last, late) = fitted(data), data.index[[99, 103]]
    said = (
        f"begins at {late}, and the rows so far end at {last}: no neighbours of the last 64 rows are so far apart, and "
        "its first row counts as the next step all the same; put in empty rows for any that are missing in between"
    )
    with pytest.warns(UserWarning, match="known begins") as of_known:
        forecaster.predict(2, known=data[["price"]][103:105])
    with pytest.warns(UserWarning, match="new_rows begins") as of_update:
        forecaster.update(data[103:])
    assert [str(each.message) for each in (*of_known, *of_update)] == [f"known {said}", f"new_rows {said}"]
    assert {each.filename for each in (*of_known, *of_update)} == {__file__}


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("begin", [100, 102])
def test_steps_as_long_as_those_before_are_not_warned_of(kind: str, begin: int) -> None:
    data = table(INDICES[kind])
    forecaster = fitted(data)
    forecaster.predict(2, known=data[["price"]][begin : begin + 2])
    forecaster.update(data[begin:])


def test_months_of_unlike_lengths_are_counted_as_months() -> None:
    data = table(INDICES["months"])
    forecaster = LastValueForecaster().fit(data[:90].drop(data.index[85]))  # from February to April, 59 days
    forecaster.update(data[91:])  # from June to August, 61


@pytest.mark.parametrize("late", [1, 2, 5])
def test_late_rows_of_many_series_are_said_in_one_line(late: int) -> None:
    data = table(INDICES["days"])
    keys = [f"shop {k}" for k in range(6)]
    holed: Any = dict.fromkeys(keys, data[:100].drop(data.index[HOLED]))
    forecaster = LastValueForecaster().fit(pd.concat(holed))
    begins: Any = {key: data[110:] if place < late else data[100:] for place, key in enumerate(keys)}
    more = f" (and {late - 1} more so late)" if late > 1 else ""
    with warnings.catch_warnings(record=True, action="always") as said:
        forecaster.update(pd.concat(begins))
    (told,) = (str(each.message) for each in said)
    assert told.startswith(f"new_rows begins in series shop 0{more} at 2024-04-20 00:00:00, and the rows so far end")
