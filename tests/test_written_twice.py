"""What data and models each have for themselves, as neither imports the other, comes to the same in both."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from data.base import Sequences, Standardiser, is_constant
from data.tables import digit_dates, spreads, times
from data.tables.working_days import working_day_steps
from models.forecasting import times_ahead
from models.forecasting.estimators import unlike_series
from models.forecasting.index import steps, working_days
from models.numerics.standardisation import Standardisation, varies_by_rounding

COLUMNS = {
    "varies": [1.0, 2.0, 4.0],
    "constant": [5.0, 5.0, 5.0],
    "zero": [0.0, 0.0, 0.0],
    "small": [1e-9, 2e-9, 4e-9],
    "small about zero": [0.0, 1e-13, 2e-13],
    "rounding of a mean": [0.3, 0.1 + 0.2, 0.3],
    "rounding of a large mean": [1e9, 1e9 + 1e-6, 1e9],
    "varies about a large mean": [1e9, 1e9 + 1.0, 1e9],
}
NEW_YORK = pd.bdate_range("2024-02-01", "2024-03-28", tz="America/New_York")
DATES = {
    "days": pd.date_range("2024-02-27", periods=4, freq="D"),
    "hours": pd.date_range("2024-02-28 22:00", periods=4, freq="h"),
    "working days": pd.date_range("2024-05-01", periods=7, freq="B"),
    "working days but for three": pd.bdate_range("2024-03-01", "2024-05-10").delete([20, 21, 43]),
    "working days at five, but for one": pd.date_range("2024-03-01 17:00", periods=20, freq="B").delete(4),
    "working days but for five in a row": pd.bdate_range("2024-03-01", periods=60).delete([20, 21, 22, 23, 24]),
    "working days without six in a row": pd.bdate_range("2024-03-01", periods=90).delete([20, 21, 22, 23, 24, 25]),
    "two weeks of working days but for one": pd.bdate_range("2024-03-01", periods=15).delete(4),
    "working days of New York in UTC, but for one": NEW_YORK.delete(12).tz_convert("UTC").tz_localize(None),
    "days but for two": pd.date_range("2024-03-01", periods=40).delete([20, 30]),
    "month ends": pd.date_range("2024-01-31", periods=4, freq="ME"),
    "two month ends": pd.DatetimeIndex(["2024-01-31", "2024-02-29"]),
    "quarters, on a day of the month": pd.DatetimeIndex(["2024-01-15", "2024-04-15", "2024-07-15"]),
    "one day": pd.DatetimeIndex(["2024-01-15"]),
    "uneven": pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-05", "2024-01-06"]),
}


def test_columns_are_standardised_alike() -> None:
    columns = torch.tensor(list(COLUMNS.values()), dtype=torch.float64).T
    part = Sequences(columns[None], torch.ones(1, *columns.shape, dtype=torch.bool), torch.tensor([3]), ("one",))
    with (
        pytest.warns(UserWarning, match="constant in the training part"),
        pytest.warns(UserWarning, match="may be rounding of them: small about zero;"),
    ):
        ours = Standardiser.fit(part, list(COLUMNS))
    theirs = Standardisation.of(columns)
    assert torch.allclose(ours.mean, theirs.mean, rtol=1e-15)
    assert torch.allclose(ours.scale, theirs.scale, rtol=1e-6)


def test_what_varies_by_rounding_alone_is_told_alike() -> None:
    low = torch.tensor([0.0, 1.0, -3.0, 1e9], dtype=torch.float64)[:, None]
    high = low + torch.tensor([0.0, 0.9e-12, 1.1e-12, 2.9e-12, 3.1e-12, 1e-4, 1e-2], dtype=torch.float64)
    for dtype, most in ((torch.float64, 6), (torch.float32, 7)):
        ours, theirs = (rule(low.to(dtype), high.to(dtype)) for rule in (is_constant, varies_by_rounding))
        assert torch.equal(ours, theirs)
        assert ours.any(0).tolist() == [True] * most + [False] * (7 - most)


@pytest.mark.parametrize("dates", DATES.values(), ids=DATES)
def test_dates_go_on_alike(dates: pd.DatetimeIndex) -> None:
    assert times.months_apart(dates) == steps.months_apart(dates)
    later = times_ahead.times_after(dates, 3)
    np.testing.assert_array_equal(times.times_after(dates.to_numpy(), 3), np.asarray(later, dtype=dates.dtype))


def test_working_days_are_told_alike() -> None:
    for name, dates in DATES.items():
        told = working_days.skips_working_days(dates)
        assert told == (working_day_steps(dates.to_numpy()) is not None), name
        assert told == ("but for" in name and name.startswith("working"))


@pytest.mark.parametrize("numbers", [[0.0, 0.5, 1.0], [3.0], [0.0, 1.0, 5.0, 6.0]])
def test_numbers_go_on_alike(numbers: list[float]) -> None:
    later = times_ahead.times_after(pd.Index(numbers), 2)
    np.testing.assert_array_equal(times.times_after(np.array(numbers), 2), np.asarray(later, dtype=float))


@pytest.mark.parametrize("size", [1.0, 0.2, 0.13, 0.05, 0.0])
@pytest.mark.parametrize("wide", [1, 2, 3])
def test_series_of_unlike_spread_are_told_alike(size: float, wide: int) -> None:
    generator = np.random.default_rng(0)
    parts = [generator.normal(size=(50, wide)) + 10, generator.normal(size=(30, wide)), np.full((3, wide), np.nan)]
    parts[1][:, 0] *= size
    ours, theirs = (told.narrow_series(parts) for told in (spreads, unlike_series))
    assert ours == theirs
    assert (ours is not None) == (size in {0.05} and wide < 3)


def test_spreads_beyond_the_largest_number_are_no_numbers_in_silence() -> None:
    parts = [1e200 * np.random.default_rng(seed).normal(size=(50, 1)) for seed in range(2)]
    assert [told.narrow_series(parts) for told in (spreads, unlike_series)] == [None, None]


@pytest.mark.parametrize(
    "numbers",
    [[20240130, 20240131, 20240201], [202411, 202412, 202501], [20240131, 20240132, 20240201], [1, 2, 3],
     [17991231, 18000101, 18000102], [220012, 220101, 220102], [20240131.5, 20240201, 20240202]],
)  # fmt: skip
def test_numbers_are_read_as_dates_alike(numbers: list[float]) -> None:
    ours, theirs = digit_dates.dates_of_digits(np.array(numbers, dtype=float)), times_ahead.dates_of_digits
    found = theirs(pd.Index(numbers, dtype=float))
    assert (ours is None) == (found is None)
    assert ours is None or list(pd.DatetimeIndex(ours)) == list(found if found is not None else [])
