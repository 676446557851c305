"""Waves of the calendar: those that rows of a step tell apart, at their own times and at others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import VARForecaster

pytestmark = pytest.mark.filterwarnings(
    "ignore:on the validation part a naive forecast", "ignore:at single horizons", "ignore:no error was measured beyond"
)


def alternating(index: Any) -> pd.DataFrame:
    """Returns a wave of four rows with a little noise."""
    noise = 0.1 * np.random.default_rng(0).normal(size=len(index))
    return pd.DataFrame({"load": np.sin(np.pi / 2 * np.arange(len(index))) + noise}, index=index)


def test_forecasts_of_six_hour_steps_stay_in_range_after_a_change_of_clocks() -> None:
    index = pd.date_range("2023-11-01", "2024-03-15", freq="6h", tz="UTC").tz_convert("Europe/London")
    ahead = VARForecaster(calendar="auto").fit(alternating(index)).predict(200)
    assert len({time.utcoffset() for time in ahead.index}) == 2
    assert ahead["load"].abs().max() < 1.5


@pytest.mark.parametrize(
    ("step", "cycle", "start", "later"),
    [
        ("15min", "minute", "00:00", "5min"),
        ("30min", "minute", "00:00", "10min"),
        ("4h", "hour", "00:00", "1h"),
        ("6h", "hour", "00:00", "1h"),
        ("6h", "hour", "03:00", "1h"),
        ("12h", "hour", "03:00:05", "1h"),
    ],
)
def test_rows_at_other_times_of_a_cycle_are_predicted_too(step: str, cycle: str, start: str, later: str) -> None:
    data = alternating(pd.date_range(f"2024-01-01 {start}", periods=500, freq=step))
    forecaster = VARForecaster(calendar=[cycle]).fit(data)
    other = data.set_axis(data.index + pd.Timedelta(later))
    assert forecaster.score(other) > 0.8
    assert forecaster.predict(50, other)["load"].abs().max() < 1.5


@pytest.mark.parametrize(("step", "harmonics"), [("h", 3), ("3h", 3), ("4h", 2), ("6h", 1), ("12h", 1)])
def test_the_waves_are_those_below_half_the_frequency_of_the_rows(step: str, harmonics: int) -> None:
    forecaster = VARForecaster(calendar=["hour"]).fit(alternating(pd.date_range("2024-01-01", periods=200, freq=step)))
    waves = [name for name in forecaster.forecaster_.feature_names if name.startswith("hour sine")]
    assert waves == [f"hour sine {number} (next row)" for number in range(1, harmonics + 1)]


def test_a_saved_forecaster_that_knows_of_no_step_has_all_harmonics(tmp_path: Path) -> None:
    forecaster = VARForecaster(calendar=["hour"]).fit(alternating(pd.date_range("2024-01-01", periods=200, freq="h")))
    forecaster.save(tmp_path / "saved")
    description = tmp_path / "saved" / "estimator.json"
    saved = json.loads(description.read_text(encoding="utf-8"))
    assert saved["columns"].pop("step") == 3600
    description.write_text(json.dumps(saved), encoding="utf-8")
    loaded = VARForecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(30), forecaster.predict(30))
