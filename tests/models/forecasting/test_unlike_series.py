"""What is said of several series that one model is fitted to, and that differ in spread, in steps or in how well it
forecasts them."""

from __future__ import annotations

import textwrap
import warnings
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, NoStateForecaster, SeasonalNaiveForecaster, VARForecaster
from models.forecasting.estimators.series_behind import FarBehind, Series, far_behind, said_of_series

NAIVE = "ignore:on the validation part a naive forecast"
DAYS = pd.date_range("2024-01-01", periods=200, freq="D")


def wave(seed: int, rows: int = 200) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=rows)
    return np.sin(2 * np.pi * np.arange(rows) / 7) + 0.1 * noise


def shops(**series: np.ndarray) -> pd.DataFrame:
    return pd.concat({key: pd.DataFrame({"sold": values}, index=DAYS) for key, values in series.items()})


def said_in_fit(forecaster: Any, data: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True, action="always") as said:
        forecaster.fit(data)
    return said


def test_the_series_of_the_least_spread_is_named_once() -> None:
    table = shops(small=10 + wave(0), big=1e6 + 1e5 * wave(1), less=50 + 5 * wave(2))
    spread, *others = said_in_fit(NoStateForecaster(lags=8), table)
    assert str(spread.message).startswith("column sold has a standard deviation of 0.7")
    assert " in series small, and of 4.1" in str(spread.message)
    assert ", and 1 more series is as narrow; all share one unit" in str(spread.message)
    assert Path(spread.filename).name == Path(__file__).name
    assert not any("far behind" in str(told.message) for told in others)


def remedy(said: warnings.WarningMessage) -> str:
    return str(said.message).partition(" by itself, with ")[2].partition(", and put")[0]


def test_the_remedy_leaves_constant_columns_and_covariates() -> None:
    table = shops(small=10 + wave(0), big=1e6 + 1e5 * wave(1)).assign(price=np.tile(wave(2), 2) + 5)
    table["open"] = np.concatenate([np.ones(200), wave(3)])
    columns, before = ["sold", "open"], table.copy()
    forecaster = NoStateForecaster(lags=8, covariates="price")
    exec(remedy(said_in_fit(forecaster, table[["sold", "price"]])[0]), {"X": table, "columns": columns})  # noqa: S102
    assert (table.loc["small", "open"] == 0).all()
    np.testing.assert_allclose(table.groupby(level=0)["sold"].std(), 1)
    pd.testing.assert_series_equal(table["price"], before["price"])


@pytest.mark.filterwarnings(NAIVE)
def test_the_lines_of_the_docs_put_forecasts_and_intervals_back() -> None:
    page = (Path(__file__).parents[3] / "docs/from-python.md").read_text(encoding="utf-8")
    code = textwrap.dedent("    columns = " + page.partition("    columns = ")[2].partition("\n\n")[0])
    table = shops(small=10 + wave(0), big=1e6 + 1e5 * wave(1), shut=np.full(200, 3.0))
    names: dict[str, Any] = {"table": table.copy(), "forecaster": NoStateForecaster(lags=8)}
    exec(compile(code, "from-python.md", "exec"), names)  # noqa: S102
    truth = np.sin(2 * np.pi * np.arange(200, 207) / 7)
    for shop, level, size in (("small", 10, 1), ("big", 1e6, 1e5), ("shut", 3, 0)):
        expected = level + size * truth
        np.testing.assert_allclose(names["forecasts"].loc[shop, "sold"], expected, atol=0.4 * size + 0.1)
        bounds = names["bounds"].loc[shop]
        assert ((bounds["sold_lower"] < expected) & (expected < bounds["sold_upper"])).all()


def test_a_list_of_series_has_a_remedy_of_its_own() -> None:
    parts = [wave(0), 100 * wave(1)]
    told, *_ = said_in_fit(NoStateForecaster(lags=8), parts)
    assert "in series 0, and of 50" in str(told.message)
    way = remedy(told).removesuffix(" for these columns x")
    assert not said_in_fit(NoStateForecaster(lags=8), [eval(way, {"np": np, "x": x}) for x in parts])  # noqa: S307


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_the_remedy_of_a_list_keeps_series_with_a_gap_or_a_constant_column(kind: Any) -> None:
    part = np.stack([100 * wave(0), np.full(200, 3.0)], axis=1)
    part[5, 0] = np.nan
    told, *_ = said_in_fit(NoStateForecaster(lags=8), [kind(wave(0)[:, np.newaxis]), kind(part[:, :1])])
    x = eval(remedy(told).removesuffix(" for these columns x"), {"np": np, "x": kind(part)})  # noqa: S307
    assert np.isnan(np.asarray(x)).sum() == 1
    np.testing.assert_allclose(np.nanstd(x, axis=0), [1, 0])


@pytest.mark.parametrize("naive", [LastValueForecaster(), SeasonalNaiveForecaster(season=7)])
def test_only_the_intervals_of_naive_forecasts_depend_on_the_unit(naive: Any) -> None:
    told, *_ = said_in_fit(naive, [wave(0), 100 * wave(1)])
    assert ", so its intervals may be far off; fit with standardise=" in str(told.message)


ALIKE = {
    "one spread about unlike levels": (wave(0), 1e4 + wave(1)),
    "a fifth of the common spread": (wave(0), 6 * wave(1)),
    "a constant series": (wave(0), np.full(200, 3.0)),
    "few values": (wave(0), np.where(np.arange(200) < 191, np.nan, 1e-3 * wave(1))),
}


@pytest.mark.parametrize("case", ALIKE)
@pytest.mark.filterwarnings(NAIVE)
def test_nothing_is_said_of_other_spreads(case: str) -> None:
    one, other = ALIKE[case]
    VARForecaster().fit(shops(one=one, other=other))


@pytest.mark.filterwarnings(NAIVE)
def test_only_the_spread_of_targets_counts() -> None:
    table = shops(one=wave(0), other=wave(1)).assign(price=np.concatenate([wave(2), 1000 * wave(3)]))
    VARForecaster(target="sold").fit(table)
    with pytest.warns(UserWarning, match="column price has a standard deviation of .* in series one"):
        VARForecaster(target="price").fit(table)


OTHER_STEPS = {
    "hours": (DAYS[:1].append(pd.date_range("2024-01-01 01:00", periods=199, freq="h")), "1 hour"),
    "months": (pd.date_range("2024-01-01", periods=200, freq="MS"), "1 month"),
    "working days": (pd.date_range("2024-01-01", periods=200, freq="B"), "1 working day"),
    "weeks": (pd.date_range("2024-01-01", periods=200, freq="W"), "7 days"),
}


@pytest.mark.parametrize("case", OTHER_STEPS)
@pytest.mark.filterwarnings(NAIVE)
def test_series_of_unlike_steps_are_warned_of_once(case: str) -> None:
    index, step = OTHER_STEPS[case]
    parts = [pd.DataFrame({"sold": wave(0)}, index) for index in (DAYS, DAYS, index, index)]
    with warnings.catch_warnings(record=True, action="always") as said:
        VARForecaster(season=7).fit(pd.concat(dict(zip("abcd", parts, strict=True))))
    (told,) = [each for each in said if "naive" not in str(each.message)]
    assert str(told.message).startswith(f"the rows of series c are {step} apart, and those of series a 1 day; each")
    assert Path(told.filename).name == Path(__file__).name


@pytest.mark.filterwarnings(NAIVE)
def test_days_of_a_week_may_be_days_or_working_days() -> None:
    monday_to_friday = pd.DataFrame({"sold": wave(0, 5)}, DAYS[:5])
    for freq in ("D", "B"):
        rows = pd.DataFrame({"sold": wave(1)}, pd.date_range("2024-01-01", periods=200, freq=freq))
        VARForecaster().fit(pd.concat({"long": rows, "short": monday_to_friday}))


def test_an_index_with_the_time_first_is_told_how_it_is_turned() -> None:
    table = shops(one=wave(0), other=wave(1))
    turned = table.swaplevel()
    with pytest.raises(ValueError, match=r"^X has 2 rows in the longest of its 200 series; .*X\.swaplevel\(\)") as told:
        VARForecaster().fit(turned)
    assert str(told.value).endswith("X.swaplevel().sort_index()")
    VARForecaster().fit(turned.swaplevel().sort_index())


@pytest.mark.filterwarnings(NAIVE)
def test_many_names_behind_times_are_warned_of() -> None:
    names = [f"shop {number}" for number in range(12)]
    index = pd.MultiIndex.from_product([DAYS[:20], names])
    table = pd.DataFrame({"sold": np.random.default_rng(0).normal(size=240)}, index)
    with pytest.warns(UserWarning, match="the index of X has times first and names behind them"):
        LastValueForecaster().fit(table)
    LastValueForecaster().fit(table.swaplevel().sort_index())


def residuals(*mean_squares: float) -> np.ndarray:
    """Twenty forecasts of two steps for each series, of these mean squared errors."""
    return np.repeat(np.sqrt(mean_squares), 20)[:, np.newaxis, np.newaxis] * np.ones((1, 2, 1))


def series_behind(errors: dict[str, np.ndarray], *variances: float) -> list[FarBehind]:
    series = [Series(f"s{place}", 20, np.array([variance])) for place, variance in enumerate(variances)]
    return far_behind(errors, np.ones((20 * len(series), 2, 1), bool), series, ["sold"])


@pytest.mark.parametrize(
    ("model", "variances", "named"),
    [
        ((1.0, 5.1, 1.0), (9.0, 1.0, 1.0), ["s1"]),
        ((1.0, 4.9, 1.0), (9.0, 1.0, 1.0), []),
        ((1.0, 5.1, 1.0), (9.0, 6.0, 1.0), []),
        ((5.1, np.inf, 1.0), (1.0, 1.0, 1.0), ["s1", "s0"]),
        ((5.1, 6.0, 7.0), (1.0, 1.0, 1.0), []),
    ],
)
def test_a_series_is_far_behind_by_five_times_the_naive_error_and_its_own_variance(
    model: tuple[float, ...], variances: tuple[float, ...], named: list[str]
) -> None:
    naive = {"last value": residuals(1.0, 1.0, 1.0), "season before": residuals(1.2, 2.0, 3.0)}
    found = series_behind({"model": residuals(*model), **naive}, *variances)
    assert [each.series for each in found] == named
    assert {each.name for each in found} <= {"last value"}


@pytest.mark.parametrize(("forecasts", "error", "named"), [(20, 0.0, []), (9, 1.0, []), (10, 1.0, ["s1"])])
def test_few_forecasts_and_what_is_constant_are_far_behind_by_chance(
    forecasts: int, error: float, named: list[str]
) -> None:
    series = [Series(f"s{place}", forecasts, np.ones(1)) for place in range(2)]
    errors = {"model": residuals(1.0, 9.0), "last value": residuals(1.0, error)}
    errors = {name: part.reshape(2, 20, 2, 1)[:, :forecasts].reshape(-1, 2, 1) for name, part in errors.items()}
    found = far_behind(errors, np.ones((2 * forecasts, 2, 1), bool), series, ["sold"])
    assert [each.series for each in found] == named


def persistent(seed: int) -> np.ndarray:
    """An autoregression of 0.9."""
    return np.array(list(accumulate(np.random.default_rng(seed).normal(size=200), lambda last, new: 0.9 * last + new)))


def test_a_series_at_another_level_with_less_spread_is_said_to_be_far_behind() -> None:
    others = {f"n{seed}": persistent(seed) for seed in range(5)}
    (behind,) = said_in_fit(NoStateForecaster(lags=8), shops(**others, small=5 + 0.2 * persistent(9)))
    assert "errors in standard deviations of all series; give" in str(behind.message)
    assert "far behind a naive forecast over 1 to 10 steps in series small, column sold: " in str(behind.message)
    assert Path(behind.filename).name == Path(__file__).name


def test_of_series_in_their_own_units_one_is_said_to_be_far_behind_in_these() -> None:
    """It rests away from its mean where it is not fitted to."""
    others = {f"n{seed}": persistent(seed) for seed in range(5)}
    resting = np.where(np.arange(200) < 175, 1000 * persistent(9), 8000 + persistent(9))
    *_, behind = said_in_fit(NoStateForecaster(lags=8, standardise="each"), shops(**others, rests=resting))
    assert "far behind a naive forecast over 1 to 10 steps in series rests, column sold: " in str(behind.message)
    assert "errors in standard deviations of each series; give" in str(behind.message)


def test_series_far_behind_are_named_up_to_three() -> None:
    errors = {"model": residuals(5.5, 6.0, 7.0, 8.0, 1.0), "last value": residuals(1.0, 1.0, 1.0, 1.0, 1.0)}
    said = said_of_series(series_behind(errors, 1, 1, 1, 1, 1), 2, standardise="all")
    assert "in series s3, column sold: 8, not 1 (last value); series s2, " in said
    assert "and in 1 more series, by mean squared errors in standard deviations of all series; give" in said
    assert "s0" not in said
