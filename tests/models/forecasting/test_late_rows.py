"""Rows that begin late after uneven ones, where nothing else says when the next is due, are warned of."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, VARForecaster
from models.forecasting.estimators import following
from models.forecasting.index.steps import index_in_step

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
        f"begins at {late}, and the rows so far end at {last}, further apart than any neighbours before; its first row "
        "counts as the next step all the same, so put in empty rows for any that are missing in between"
    )
    with pytest.warns(UserWarning, match="known begins") as of_known:
        forecaster.predict(2, known=data[["price"]][103:105])
    with pytest.warns(UserWarning, match="new_rows begins") as of_update:
        forecaster.update(data[103:])
    assert [str(each.message) for each in (*of_known, *of_update)] == [f"known {said}", f"new_rows {said}"]
    assert {each.filename for each in (*of_known, *of_update)} == {__file__}


def test_a_figure_of_late_rows_says_so_once_and_has_the_band_of_predict_interval() -> None:
    data = table(INDICES["days"])
    forecaster, known = fitted(data), data[["price"]][103:106]
    with warnings.catch_warnings(record=True, action="always") as said:
        axes: Any = forecaster.plot(3, 0.5, known=known)
    assert len([each for each in said if "known begins" in str(each.message)]) == 1
    with pytest.warns(UserWarning, match="known begins"):
        band = forecaster.predict_interval(3, 0.5, known=known)
    assert {*band.to_numpy().ravel()} <= {*axes.collections[0].get_paths()[0].vertices[:, 1]}
    plt.close(axes.figure)


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("begin", [100, 102])
def test_steps_as_long_as_those_before_are_not_warned_of(kind: str, begin: int) -> None:
    data = table(INDICES[kind])
    forecaster = fitted(data)
    forecaster.predict(2, known=data[["price"]][begin : begin + 2])
    forecaster.update(data[begin:])


def sessions(first: str, last: str) -> pd.DatetimeIndex:
    """Every three minutes of working days, but for a break at noon."""
    days = [day + pd.to_timedelta(np.r_[570:690:3, 780:900:3], unit="min") for day in pd.bdate_range(first, last)]
    return days[0].append(days[1:])


def left_out(index: Any, *days: str) -> Any:
    return index.drop([pd.Timestamp(day, tz=index.tz) for day in days])


DAYS: Any = pd.date_range("2024-01-01", "2024-12-31")
MORNINGS = left_out(pd.bdate_range("2024-06-03", "2024-11-08", tz="Europe/Berlin"), "2024-08-14")
OPEN = left_out(DAYS[DAYS.dayofweek < 6], "2024-04-01", "2024-07-08")  # closed on Sundays and two Mondays
BREAKS = DAYS.drop([*DAYS[30:40], DAYS[180], *DAYS[200:210]])
CHANCE = DAYS[0] + pd.to_timedelta(np.random.default_rng(1).exponential(60, 400).cumsum(), unit="s")
JITTER = DAYS[0] + pd.to_timedelta(60 * np.arange(400) + np.arange(400) % 3, unit="s")
ORDINARY: dict[str, tuple[Any, str]] = {
    "end of summer time": (MORNINGS, "2024-10-28"),
    "end of summer time in UTC": (MORNINGS.tz_convert(None), "2024-10-27"),
    "morning after breaks at noon": (sessions("2024-01-01", "2024-01-05"), "2024-01-05"),
    "Monday after breaks at noon": (sessions("2024-01-01", "2024-01-19"), "2024-01-15"),
    "holiday like one before": (OPEN, "2024-07-07"),
    "break like one long before": (BREAKS, "2024-07-28"),
    "by chance": (CHANCE[:300].append(CHANCE[300:] + pd.Timedelta("1D")), "2024-01-02"),
    "nearly even": (JITTER[:300].append(JITTER[300:] + pd.Timedelta("8s")), "2024-01-01 05:00"),
}  # an index, and the time from which on its rows are new


@pytest.mark.parametrize("kind", ORDINARY)
def test_steps_that_the_rows_have_by_nature_are_not_warned_of(kind: str) -> None:
    index, first = ORDINARY[kind]
    data = pd.Series(np.random.default_rng(0).normal(size=len(index)), index)
    new = index >= pd.Timestamp(first, tz=index.tz)
    LastValueForecaster().fit(data[~new]).update(data[new])


@pytest.mark.parametrize("kind", INDICES)
def test_no_row_is_late_after_those_of_an_array(kind: str) -> None:
    data = table(INDICES[kind])
    forecaster = VARForecaster(orders=1, covariates=[1]).fit(data[:100].to_numpy())
    known = data[["price"]][103:105].set_axis([1], axis=1)
    np.testing.assert_array_equal(forecaster.predict(2, known=known), forecaster.predict(2, known=known.to_numpy()))


@pytest.fixture
def closed_once() -> Any:
    index = pd.RangeIndex(200).drop([*range(20, 30), 170])  # 19 is followed by 30, and 169 by 171
    return LastValueForecaster().fit(pd.Series(np.random.default_rng(0).normal(size=len(index)), index))


def test_a_step_is_late_beside_the_longest_of_all_rows_also_of_a_saved_model(closed_once: Any, tmp_path: Path) -> None:
    closed_once.save(tmp_path / "model")
    LastValueForecaster.load(tmp_path / "model").update(pd.Series(0.0, [210]))
    closed_once.update(pd.Series(0.0, [210]))
    for forecaster in (LastValueForecaster.load(tmp_path / "model"), closed_once):
        with pytest.warns(UserWarning, match="new_rows begins at 223"):
            forecaster.update(pd.Series(0.0, [223]))
    closed_once.update(pd.Series(0.0, [236]))  # as far apart as 210 and 223


def test_a_model_saved_without_its_longest_step_knows_those_of_its_last_rows(closed_once: Any, tmp_path: Path) -> None:
    closed_once.save(tmp_path / "model")
    description = tmp_path / "model" / "estimator.json"
    saved = json.loads(description.read_text(encoding="utf-8"))
    assert saved["series"][0].pop("longest") == 11
    description.write_text(json.dumps(saved), encoding="utf-8")
    LastValueForecaster.load(tmp_path / "model").update(pd.Series(0.0, [201]))
    with pytest.warns(UserWarning, match="new_rows begins at 210"):
        LastValueForecaster.load(tmp_path / "model").update(pd.Series(0.0, [210]))


def test_rows_in_another_unit_of_time_are_as_far_apart() -> None:
    data = table(INDICES["days"])
    new = data[100:].set_axis(data.index[100:].as_unit("s"))
    forecaster = fitted(data).update(new[:5])
    with pytest.warns(UserWarning, match="new_rows begins at 2024-04-18"):
        forecaster.update(new[8:])


def test_an_update_asks_once_whether_an_uneven_end_tells_its_next_row(monkeypatch: pytest.MonkeyPatch) -> None:
    data, asked = table(INDICES["days"]), []

    def counted(tail: Any, horizon: int) -> Any:
        asked.append(horizon)
        return index_in_step(tail, horizon)

    forecaster = fitted(data)
    monkeypatch.setattr(following, "index_in_step", counted)
    forecaster.update(data[100:])
    assert asked == [20]


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
