"""The calls of pandas that warnings and errors advise work for tables, lists of them and tables of groups."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster

DAYS = pd.bdate_range("2024-01-01", periods=60, name="day")
CALL = re.compile(r"with (?P<call>\S+\(.*\)|\[.*\]),? (?:say|or fit)")
UNEVEN: dict[str, tuple[pd.Index, str]] = {
    "working days": (DAYS, "B"),
    "times": (pd.date_range("2024-01-31", periods=60, freq="h"), "h"),
    "periods": (pd.period_range("2020-01", periods=60, freq="M"), "M"),
    "spans": (pd.to_timedelta(np.arange(60), unit="h"), "h"),
    "numbers": (pd.RangeIndex(5, 605, 10), "10"),
}


def series(index: pd.Index) -> Any:
    values = np.random.default_rng(0).normal(size=(len(index), 2)).cumsum(axis=0)
    return pd.DataFrame(values, index, ["a", "b"])


def in_form(parts: list[pd.DataFrame], form: str) -> Any:
    return pd.concat(dict(zip("xyz", parts, strict=False)), names=["shop"]) if form == "groups" else parts


def mended(said: str, data: Any, step: str) -> Any:
    """What the call makes of the data that a text advises."""
    match = CALL.search(said)
    assert match, said
    return eval(match["call"].replace("STEP", step), {"X": data})  # noqa: S307  # a text of ours


def parts_of(data: Any) -> list[pd.DataFrame]:
    return data if isinstance(data, list) else [part.droplevel(0) for _, part in data.groupby(level=0)]


@pytest.mark.parametrize("form", ["list", "groups"])
@pytest.mark.parametrize("kind", UNEVEN)
def test_rows_are_put_in_as_the_warning_of_uneven_ones_says(kind: str, form: str) -> None:
    index, step = UNEVEN[kind]
    whole = series(index)
    data = in_form([whole.drop(index[[20, 57]]), whole[5:].drop(index[30]), whole], form)
    with pytest.warns(UserWarning, match="uneven in series") as told:
        LastValueForecaster().fit(data)
    filled = mended(str(told[0].message), data, step)
    for part, own in zip(parts_of(filled), [index, index[5:], index], strict=True):
        pd.testing.assert_index_equal(part.index, own, exact="equiv", check_names=False)
    LastValueForecaster().fit(filled)


@pytest.mark.parametrize("form", ["list", "groups"])
@pytest.mark.parametrize("holes", [[], [40]])
@pytest.mark.parametrize("calendar", [None, ["weekday"]])
def test_no_row_of_a_weekend_is_dropped_beside_working_days(form: str, holes: list[int], calendar: Any) -> None:
    days = series(pd.date_range("2024-01-01", periods=60, name="day"))
    data = in_form([series(DAYS).drop(DAYS[57]), days.drop(days.index[holes])], form)
    with pytest.raises((UserWarning, ValueError), match="put in empty rows") as told:  # warnings are errors
        LastValueForecaster(calendar=calendar).fit(data)
    filled = mended(str(told.value), data, "D")
    assert [len(part.dropna()) for part in parts_of(filled)] == [59, 60 - len(holes)]


@pytest.mark.parametrize("form", ["list", "groups"])
def test_rows_are_put_in_as_the_refusal_of_a_calendar_says(form: str) -> None:
    data = in_form([series(DAYS).drop(DAYS[57]), series(DAYS)], form)
    with pytest.raises(ValueError, match="calendar and season go by the index") as refused:
        LastValueForecaster(calendar=["weekday"]).fit(data)
    LastValueForecaster(calendar=["weekday"]).fit(mended(str(refused.value), data, "B"))


@pytest.mark.parametrize("form", ["list", "groups"])
def test_series_are_brought_to_one_step_as_the_warning_says(form: str) -> None:
    hours = pd.date_range("2024-01-01", periods=600, freq="h")
    data = in_form([series(hours), series(hours[::6])], form)
    with pytest.warns(UserWarning, match="each counts as one step of the same model") as told:
        LastValueForecaster().fit(data)
    even = mended(str(told[0].message), data, "6h")
    LastValueForecaster().fit(even)
    with pytest.warns(UserWarning, match="bring X to their step") as told:
        LastValueForecaster().fit(series(hours[::6])).score(data)
    assert [len(part) for part in parts_of(mended(str(told[-1].message), data, "6h"))] == [100, 100]


def test_spans_of_one_table_are_filled_by_a_call_that_takes_them() -> None:
    rows = series(UNEVEN["spans"][0])
    holed = rows.drop(rows.index[20])
    with pytest.warns(UserWarning, match=r'with DataFrame\.resample\("STEP"\)\.asfreq\(\) say'):
        LastValueForecaster().fit(holed)
    LastValueForecaster().fit(holed.resample("h").asfreq())


@pytest.mark.parametrize("form", ["list", "groups"])
def test_fractions_are_read_at_even_ones_in_each_series(form: str) -> None:
    rows = series(pd.Index(0.1 * np.arange(60)))
    with pytest.warns(UserWarning, match=r"with numpy\.interp for each series by itself say"):
        LastValueForecaster().fit(in_form([rows.drop(rows.index[20]), rows], form))
