"""Series that are standardised each by itself: nothing hangs on the unit or the level of one of them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import LastValueForecaster, NoStateForecaster, PSRNNForecaster, VARForecaster
from models.forecasting.readouts.settings import GroupedSettings

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part")

DAYS = pd.date_range("2024-01-01", periods=200, freq="D")
KINDS = [
    NoStateForecaster(lags=4),
    NoStateForecaster(lags=4, readout=GroupedSettings(lags=4, count=20, bandwidth=1.5), direct=2),
    VARForecaster(orders=2),
    LastValueForecaster(),
    PSRNNForecaster(count=6, lags=4),
]
IDS = ["no state", "kernel", "autoregression", "last value", "psrnn"]
SIZE, LEVEL = 1000.0, 7.0


def wave(seed: int, rows: int = 200) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=rows)
    return np.sin(2 * np.pi * np.arange(rows) / 7) + 0.1 * noise.cumsum() + 0.1 * noise


def shop(seed: int) -> pd.DataFrame:
    """Two columns, the first of them with gaps."""
    values = np.stack([wave(seed), 50 + 3 * wave(seed + 10)], axis=1)
    values[40:43, 0] = values[150, 0] = np.nan
    return pd.DataFrame(values, DAYS, ["sold", "seen"])


def shops(**tables: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(tables, names=["shop", "day"])


def each(kind: Any, **parameters: Any) -> Any:
    return type(kind)(**{**kind.get_params(), "standardise": "each", "target": "sold", **parameters})


def numbers_of(forecaster: Any, table: pd.DataFrame) -> dict[str, Any]:
    """What a forecaster that was fitted to groups says of each: a table of targets with the group first."""
    backtest = forecaster.backtest(table, horizon=4, first=60, step=20).to_frame()
    names = dict(enumerate(dict.fromkeys(table.index.get_level_values(0))))
    return {
        "predict": forecaster.predict(5),
        "predict from X": forecaster.predict(5, table),
        "one step": forecaster.predict_one_step(table),
        "backtest": backtest.assign(sequence=backtest["sequence"].map(names)).set_index("sequence")[["sold_forecast"]],
        "interval": forecaster.predict_interval(5, 0.8),
        "interval from X": forecaster.predict_interval(5, 0.8, table),
    }


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_of_one_series_both_are_the_same(kind: Any) -> None:
    table = shops(one=shop(0))
    together, alone = each(kind, standardise="all").fit(table[:-20]), each(kind).fit(table[:-20])
    for rows in (table[:0], table[-20:]):
        if len(rows):
            together.update(rows)
            alone.update(rows)
        expected, found = (numbers_of(forecaster, table) for forecaster in (together, alone))
        for name in expected:
            if "interval" not in name:
                pd.testing.assert_frame_equal(found[name], expected[name], check_exact=True)
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-12)
    assert alone.score(table) == pytest.approx(together.score(table), rel=1e-12)
    for name, errors in together.validation_errors_.items():
        np.testing.assert_allclose(alone.validation_errors_[name], errors, rtol=1e-9)
    assert alone.chosen_ == together.chosen_


def check_other_unit(numbers: dict[str, Any]) -> None:
    """Raises AssertionError unless the numbers of the large shop are those of the small one in another unit."""
    for name, table in numbers.items():
        expected = SIZE * table.loc["small"].to_numpy() + LEVEL
        np.testing.assert_allclose(table.loc["large"], expected, rtol=1e-7, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_another_unit_and_level_change_nothing_else(kind: Any, tmp_path: Path) -> None:
    table = shops(small=shop(0), large=SIZE * shop(0) + LEVEL, third=shop(1))
    forecaster = each(kind).fit(table)
    check_other_unit(numbers_of(forecaster, table))
    forecaster.save(tmp_path / "saved")
    loaded = type(forecaster).load(tmp_path / "saved")
    new: Any = shop(0)[:9].set_axis(DAYS[:9] + pd.Timedelta(days=200))
    rows = shops(small=new, large=SIZE * new + LEVEL)
    check_other_unit(numbers_of(loaded.update(rows), table))
    pd.testing.assert_frame_equal(loaded.predict(5), forecaster.update(rows).predict(5), check_exact=True)


@pytest.mark.parametrize("kind", [KINDS[0], *KINDS[2:4]], ids=[IDS[0], *IDS[2:4]])  # no bandwidth of pairs of rows
def test_the_order_of_series_changes_nothing(kind: Any) -> None:
    tables = {"a": shop(0), "b": 1e4 * shop(1) - 5, "c": 1e-3 * shop(2)}
    one = each(kind).fit(shops(**tables)).predict_interval(5)
    other = each(kind).fit(shops(**{name: tables[name] for name in "cab"})).predict_interval(5)
    for name in tables:
        np.testing.assert_allclose(other.loc[name], one.loc[name], rtol=1e-6)


def test_columns_known_ahead_keep_the_unit_of_all() -> None:
    rng = np.random.default_rng(3)
    price = rng.normal(size=400) * np.repeat([1.0, 10.0], 200) + np.repeat([0.0, 50.0], 200)
    table = shops(small=shop(0), large=SIZE * shop(1) + LEVEL).assign(price=price)
    forecaster = each(NoStateForecaster(lags=4), covariates="price", season=7).fit(table)
    units = forecaster.forecaster_.units
    assert units.mean[:2].tolist() == [0, 0]
    assert units.scale[:2].tolist() == [1, 1]
    assert forecaster.forecaster_.feature_names[2] == "price (next row)"
    np.testing.assert_allclose(units.scale[2], price.std(), rtol=0.1)


def test_the_unit_of_all_is_added_up_in_the_order_of_the_rows_in_memory() -> None:
    """With columns known ahead they lie column by column."""
    values = 1e4 + np.random.default_rng(0).normal(size=(300, 3))
    units = VARForecaster(orders=2, covariates=[2]).fit(values).forecaster_.units
    expected, other = (order(values[:270, :2]) for order in (np.asfortranarray, np.ascontiguousarray))
    np.testing.assert_array_equal(units.mean[:2], expected.mean(0))
    np.testing.assert_array_equal(units.scale[:2], expected.std(0))
    assert not np.array_equal(expected.std(0), other.std(0))


def test_series_with_columns_known_ahead_have_units_of_their_own() -> None:
    table = shops(small=shop(0), large=SIZE * shop(0) + LEVEL).assign(price=np.tile(wave(5), 2))
    to_come = pd.DataFrame({"price": wave(6, 3)}, DAYS[:3] + pd.Timedelta(days=200))
    forecaster = each(NoStateForecaster(lags=4), covariates="price", season=7).fit(table)
    known = shops(small=to_come, large=to_come)
    check_other_unit({
        "predict": forecaster.predict(3, known=known),
        "interval": forecaster.predict_interval(3, 0.8, known=known),
        "one step": forecaster.predict_one_step(table),
    })  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_a_new_series_has_the_unit_of_its_own_rows(kind: Any) -> None:
    forecaster = each(kind).fit(shops(a=shop(0), b=SIZE * shop(1)))
    small, large = shop(2), 1e5 * shop(2) + LEVEL
    for ask in (
        lambda X: forecaster.predict(5, X),
        lambda X: forecaster.predict_interval(5, X=X),
        forecaster.predict_one_step,
        lambda X: forecaster.backtest(X, horizon=4, first=30, step=20).forecast,
    ):
        np.testing.assert_allclose(ask(large), 1e5 * np.asarray(ask(small)) + LEVEL, rtol=1e-7, atol=1e-3)
    assert forecaster.score(large) == pytest.approx(forecaster.score(small), rel=1e-7)


def test_a_backtest_takes_no_unit_of_rows_to_come() -> None:
    forecaster = each(NoStateForecaster(lags=4)).fit(shops(a=shop(0), b=SIZE * shop(1)))
    one, other = shop(2), shop(2)
    other.iloc[40:] = 100.0 + 20 * other.iloc[40:]
    early = [forecaster.backtest(table, horizon=5, first=30, step=10).forecast[:10] for table in (one, other)]
    np.testing.assert_array_equal(*early)


def test_one_step_predictions_take_no_unit_of_rows_to_come() -> None:
    forecaster = each(NoStateForecaster(lags=4)).fit(shops(a=shop(0), b=SIZE * shop(1)))
    one, other = shop(2), shop(2)
    other.iloc[40:] = 100.0 + 20 * other.iloc[40:]
    early = [forecaster.predict_one_step(table)[:40] for table in (one, other)]
    np.testing.assert_array_equal(*early)


def test_rows_that_tell_a_unit_are_not_scored() -> None:
    forecaster = each(NoStateForecaster(lags=4)).fit(shops(a=shop(0), b=SIZE * shop(1)))
    table = shop(2)
    table.loc[DAYS[2:6], "sold"] = np.nan
    told = 14  # ten values of the target
    truth = table["sold"].to_numpy()
    missed = truth - forecaster.predict_one_step(table)["sold"].to_numpy()
    moved = np.diff(truth, prepend=np.nan)
    both = ~np.isnan(missed) & ~np.isnan(moved) & (np.arange(200) >= told)
    assert forecaster.score(table) == pytest.approx(1 - np.square(missed[both]).sum() / np.square(moved[both]).sum())
    with pytest.raises(
        ValueError,
        match=r"differ behind the first 14, of which the unit of a new series is taken, so .* score; give more",
    ):
        forecaster.score(table[:told])


def test_names_of_groups_tell_which_series_was_fitted_to() -> None:
    first, second = shop(0), SIZE * shop(1) + LEVEL
    named = each(NoStateForecaster(lags=4)).fit(shops(a=first, b=second))
    known, new = (named.predict(3, shops(**{name: second[100:150]})) for name in ("b", "new"))
    assert not np.allclose(known, new, rtol=1e-3)
    listed = each(NoStateForecaster(lags=4)).fit([first, second])
    for own in (named.predict(3, second[100:150]), *listed.predict(3, [second[100:150]])):
        np.testing.assert_array_equal(own, new)


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize("form", [np.asarray, list, pd.DataFrame], ids=["array", "list of one", "table"])
def test_what_comes_later_of_one_series_without_a_name_has_its_unit(kind: Any, form: Any) -> None:
    values = 5.0 + 40 * wave(0)
    fitted: Any = [values[:150]] if form is list else form(values[:150])
    later: Any = values[150:] if form is list else form(values[150:])
    alike, alone = (each(kind, standardise=mode, target=None).fit(fitted) for mode in ("all", "each"))
    for ask in (
        lambda forecaster: forecaster.predict(3, later[: max(1, alike.history_)]),
        lambda forecaster: forecaster.predict_interval(3, 0.5, later),
        lambda forecaster: forecaster.predict_one_step(later),
        lambda forecaster: forecaster.backtest(later, horizon=3).forecast,
        lambda forecaster: forecaster.score(later),
    ):
        np.testing.assert_allclose(ask(alone), ask(alike), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_a_backtest_of_a_new_series_begins_where_its_unit_is_told(kind: Any) -> None:
    forecaster = each(kind).fit(shops(a=shop(0), b=SIZE * shop(1)))
    assert forecaster.history_ < 10
    assert forecaster.backtest(shops(new=shop(2)), horizon=3).origin.min() == 10
    assert forecaster.backtest(shops(b=shop(2)), horizon=3).origin.min() == max(1, forecaster.history_)
    assert forecaster.backtest(shops(b=shop(2), new=shop(3)), horizon=3).origin.min() == 10


def test_a_constant_column_of_a_series_has_a_unit() -> None:
    table = shops(a=shop(0), b=SIZE * shop(1) + LEVEL, shut=shop(2).assign(sold=250.0))
    forecaster = each(NoStateForecaster(lags=4)).fit(table)
    ahead, sides = forecaster.predict(5), forecaster.predict_interval(5)
    assert np.isfinite(sides).all(axis=None)
    np.testing.assert_allclose(ahead.loc["shut"], 250, atol=0.5)
    assert np.isfinite(forecaster.score(table))


@pytest.mark.parametrize(("late", "said"), [(29.0, []), (31.0, ["31"])])
def test_a_series_that_leaves_its_unit_in_the_validation_part_is_named(late: float, said: list[str]) -> None:
    """Of one that was constant the unit is 1."""
    opened = shop(2).assign(sold=np.where(np.arange(200) < 190, 250.0, 250.0 - late))
    with warnings.catch_warnings(record=True, action="always") as told:
        each(VARForecaster(orders=2)).fit(shops(a=shop(0), b=SIZE * shop(1), opened=opened))
    found = [one for one in told if "outweigh" in str(one.message)]
    assert [str(one.message).split(" standard")[0] for one in found] == [
        f"column sold of series opened lies up to {size}" for size in said
    ]
    assert all(one.filename == __file__ for one in found)


def test_the_warning_of_unlike_spreads_names_it_and_it_ends_the_warning() -> None:
    table = shops(small=shop(0), large=SIZE * shop(1))
    with pytest.warns(UserWarning, match='may be far off; fit with standardise="each", or standardise the target'):
        VARForecaster(target="sold").fit(table)
    with warnings.catch_warnings(record=True, action="always") as said:
        VARForecaster(target="sold", standardise="each").fit(table)
    assert not [told for told in said if "standard deviation of" in str(told.message)]


def test_a_file_that_was_saved_without_units_is_loaded(tmp_path: Path) -> None:
    forecaster = VARForecaster(orders=2).fit(shops(a=shop(0), b=shop(1)))
    forecaster.save(tmp_path / "saved")
    description = tmp_path / "saved/estimator.json"
    saved = json.loads(description.read_text(encoding="utf-8"))
    del saved["parameters"]["standardise"]
    description.write_text(json.dumps(saved), encoding="utf-8")
    loaded = VARForecaster.load(tmp_path / "saved")
    assert loaded.standardise == "all"
    pd.testing.assert_frame_equal(loaded.predict_interval(5), forecaster.predict_interval(5), check_exact=True)


def test_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^standardise must be one of all, each, got 'group'$"):
        VARForecaster(standardise="group").fit(shop(0))
