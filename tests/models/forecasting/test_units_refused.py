"""Series with too few values for a unit of their own: `fit` and what comes after it name them, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import VARForecaster

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part")

DAYS = pd.date_range("2024-01-01", periods=200, freq="D")


def wave(seed: int) -> np.ndarray:
    return np.sin(2 * np.pi * np.arange(200) / 7) + 0.1 * np.random.default_rng(seed).normal(size=200).cumsum()


def shop(seed: int) -> pd.DataFrame:
    return pd.DataFrame({"sold": wave(seed), "seen": 50 + 3 * wave(seed + 10)}, DAYS)


def shops(**tables: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(tables, names=["shop", "day"])


def forecaster_of(series: Any) -> VARForecaster:
    return VARForecaster(orders=2, target="sold", standardise="each").fit(series)


def one_value_first() -> pd.DataFrame:
    return shop(2).assign(sold=np.where((np.arange(200) < 1) | (np.arange(200) > 4), wave(2), np.nan))


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda of, X: of.backtest(X, first=2), "1 value in its first 2 rows, .* alike; raise first to 14, or"),
        (lambda of, X: of.backtest(X, first=1), "1 value in its first 1 row, .* alike; raise first to 14, or"),
        (lambda of, X: of.backtest(X), "6 values in its first 10 rows, .* alike; raise first to 14, or"),
        (lambda of, X: of.backtest(X[:14], first=2), "1 value in its first 2 rows, .* alike; give more rows, or"),
        (lambda of, X: of.predict(3, X[:13]), "9 values in its 13 rows, .* alike; give more rows, or"),
    ],
)
def test_the_remedy_for_a_new_series_without_a_unit_helps(ask: Any, said: str) -> None:
    forecaster, table = forecaster_of([shop(0), 1000 * shop(1)]), one_value_first()
    with pytest.raises(ValueError, match=f"column sold has {said}.*"):
        ask(forecaster, table)
    assert forecaster.backtest(table, first=14).origin.min() == 14
    assert np.isfinite(forecaster.predict(3, table[:14])).all(axis=None)


FEW = {
    "sold has 9 values in its 9 rows, and needs 10 that are not all alike; give": shop(2)[:9],
    "sold has 5 values in its 200 rows, and needs 10 that are not all alike; give": shop(2).assign(
        sold=np.where(np.arange(200) < 195, np.nan, wave(2))
    ),
    "sold has 200 values in its 200 rows, and needs 10 that are not all alike; give": shop(2).assign(sold=3.0),
    "seen has 0 values in its 200 rows, and needs 1; give": shop(2).assign(seen=np.nan),
}


@pytest.mark.parametrize("said", FEW)
def test_a_new_series_without_a_unit_is_refused(said: str) -> None:
    forecaster = forecaster_of(shops(a=shop(0), b=1000 * shop(1)))
    with pytest.raises(ValueError, match=f"^series new of X, which fit did not see, .*: column {said}") as told:
        forecaster.predict(3, shops(new=FEW[said]))
    assert "\n" not in str(told.value)
    assert np.isfinite(forecaster.predict(3, shops(b=FEW[said]))).all(axis=None)


def few_values(count: int) -> pd.DataFrame:
    """So many, nearly alike, in the part that is fitted to."""
    return shop(1).assign(sold=np.where((np.arange(200) < count) | (np.arange(200) >= 180), 1 + 1e-4 * wave(2), np.nan))


NO_UNIT = {
    "column sold is constant in each of the series": [shop(0).assign(sold=1.0), shop(1).assign(sold=2.0)],
    "column sold has 3 values in the rows of series 1 that are .* needs 10; leave": [shop(0), few_values(3)],
    "column sold has 1 value in the rows of series 1 that are .* needs 10; leave": [shop(0), few_values(1)],
    "column sold has 9 values in the rows of series 0 that are .* needs 10; give more": [few_values(9)],
    "column seen has 0 values in the rows of series 1 .* needs 1; leave": [shop(0), shop(1).assign(seen=np.nan)],
    "values of X are too large for a standard": [shop(0), 1e300 * shop(1)],
}


@pytest.mark.parametrize("said", NO_UNIT)
def test_series_without_a_unit_are_refused(said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        forecaster_of(NO_UNIT[said])
