"""Estimators on disk know the names of their groups and the steps of their times, or say that they cannot."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, NoStateForecaster, PSRNNForecaster, SeasonalNaiveForecaster, VARForecaster
from models.forecasting.readouts.settings import GroupedSettings

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")


def table(index: Any) -> Any:
    return pd.DataFrame({"load": np.random.default_rng(0).normal(size=len(index))}, index=index)


@pytest.mark.parametrize(
    "keys",
    [
        [pd.Timestamp("2024-01-01"), pd.Timestamp("2025-06-01 12:00")],
        [pd.Timestamp("2024-01-01", tz="Europe/Berlin"), pd.Timestamp("2025-06-01", tz="Europe/Berlin")],
        [pd.Period("2024-01", freq="M"), pd.Period("2024-02", freq="M")],
        [pd.Timedelta("1h"), pd.Timedelta("2h")],
    ],
    ids=["times", "times of a zone", "periods", "spans"],
)
def test_groups_called_by_times_are_saved(keys: list[Any], tmp_path: Path) -> None:
    rows = table(pd.date_range("2024-01-01", periods=42, freq="D"))
    forecaster = LastValueForecaster().fit(pd.concat(dict.fromkeys(keys, rows[:40]), names=["batch", "day"]))
    forecaster.save(tmp_path / "saved")
    loaded = LastValueForecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(2), forecaster.predict(2))
    loaded.update(pd.concat({keys[1]: rows[40:]}))


STEPS = {
    "holidays": pd.offsets.CustomBusinessDay(holidays=["2024-02-26", "2024-02-27", "2024-03-05"]),
    "week": pd.offsets.CustomBusinessDay(2, weekmask="Sun Mon Tue Wed Thu"),
    "days": pd.offsets.CustomBusinessDay(weekmask="1111001"),
    "months": pd.DateOffset(months=1),
    "weeks": pd.offsets.Week(),
    "quarters": pd.offsets.QuarterEnd(startingMonth=2),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_steps_of_ones_own_are_saved(step: Any, tmp_path: Path) -> None:
    index = pd.date_range("2024-01-01", periods=60, freq=step)
    forecaster = LastValueForecaster().fit(table(index)[:40])
    forecaster.save(tmp_path / "saved")
    loaded = LastValueForecaster.load(tmp_path / "saved")
    assert list(loaded.predict(20).index) == list(index[40:])
    loaded.update(table(index)[40:])


@pytest.mark.parametrize("keys", [[date(2024, 1, 1), date(2024, 2, 1)], list(pd.interval_range(0, 2))])
def test_groups_whose_names_cannot_be_saved_are_told_which_can(keys: list[Any], tmp_path: Path) -> None:
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    forecaster = LastValueForecaster().fit(pd.concat({key: table(days) for key in keys}))
    said = r"^a group is named .*, which cannot be saved; name groups by texts, numbers, or times, spans or periods of"
    with pytest.raises(ValueError, match=said) as refused:
        forecaster.save(tmp_path / "saved")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    "step",
    [
        pd.offsets.CustomBusinessHour(start="10:00"),
        pd.offsets.CustomBusinessDay(weekmask=[1] * 5 + [0] * 2, holidays=["2024-02-26", "2024-03-05"]),
    ],
    ids=["hours", "days"],
)
def test_a_step_that_cannot_be_saved_is_named(step: Any, tmp_path: Path) -> None:
    index = pd.date_range("2024-01-01", periods=60, freq=step)
    forecaster = LastValueForecaster().fit(table(index))
    with pytest.raises(ValueError, match=r"the index goes on by <CustomBusiness.*cannot be saved; take") as refused:
        forecaster.save(tmp_path / "saved")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    "forecaster",
    [
        SeasonalNaiveForecaster(season=np.int64(6)), LastValueForecaster(season=np.int64(6)),
        NoStateForecaster(season=np.int64(6), lags=np.int64(2)), VARForecaster(orders=np.int64(2)),
        VARForecaster(orders=np.array([2, 3])), PSRNNForecaster(count=3, traces=np.array([0.5, 2.0])),
        NoStateForecaster(readout=GroupedSettings(lags=np.int64(2))),
    ],
    ids=["seasonal naive", "last value", "lags", "orders", "several orders", "traces", "readout"],
)  # fmt: skip
def test_numbers_of_numpy_are_saved_as_python_s_own(forecaster: Any, tmp_path: Path) -> None:
    fitted = forecaster.fit(table(pd.RangeIndex(120)))
    fitted.save(tmp_path / "saved")
    loaded = type(forecaster).load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(3), fitted.predict(3))
