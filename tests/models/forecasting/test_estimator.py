"""Forecasters in scikit-learn's manners, beside slow ways to the same numbers."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from hourly_load import HOURS, hourly_load
from models import KalmanForecaster, LastValueForecaster, PSRNNForecaster, SeasonalNaiveForecaster, VARForecaster
from models.forecasting.conformal import conformal_radii
from models.forecasting.filtering import filter_sequences

ROOT = Path(__file__).parents[3]
FAST = {"count": 5, "lags": 2}


@pytest.fixture(scope="module")
def fitted() -> PSRNNForecaster:
    return PSRNNForecaster(**FAST).fit(hourly_load(200))


@pytest.fixture(scope="module")
def told() -> PSRNNForecaster:
    """With a covariate, the calendar and a season."""
    told = PSRNNForecaster(**FAST, covariates="price", calendar=["hour"], season=24)
    return told.fit(hourly_load(200))


def test_a_forecast_goes_on_where_the_table_ends(fitted: PSRNNForecaster) -> None:
    ahead = fitted.predict(3)
    pd.testing.assert_index_equal(ahead.index, HOURS[200:203], exact="equiv")
    assert list(ahead.columns) == ["load", "price", "heat"]
    whole = fitted.forecaster_.forecast(hourly_load(200).to_numpy(), 3)
    np.testing.assert_allclose(ahead.to_numpy(), whole, rtol=1e-9)


def test_the_unit_of_columns_does_not_matter() -> None:
    table, factor = hourly_load(200), 2.0**-60
    own, small = (VARForecaster(orders=2).fit(each).predict(3) for each in (table, factor * table))
    pd.testing.assert_frame_equal(factor * own, small, rtol=0, atol=0)


def test_a_history_of_fewer_rows_than_the_model_wants_is_told(fitted: PSRNNForecaster) -> None:
    assert fitted.history_ == fitted.forecaster_.history >= 2
    short, enough = hourly_load(fitted.history_ - 1), hourly_load(fitted.history_)
    said = f"1 of 1 series of X has fewer rows than the {fitted.history_} that the model wants .*; give more rows"
    with pytest.warns(UserWarning, match=said) as warned:
        fitted.predict(3, short)
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="2 of 3 series of X have fewer rows"):
        fitted.predict(3, [short, enough, short])
    fitted.predict(3, enough)


def test_empty_rows_before_the_first_observed_one_are_no_history(fitted: PSRNNForecaster) -> None:
    table = hourly_load(fitted.history_ + 3)
    table[:4] = np.nan
    with pytest.warns(UserWarning, match=f"1 of 1 series of X has fewer rows than the {fitted.history_} that"):
        fitted.predict(3, table)
    fitted.predict(3, pd.concat([table[:3], hourly_load(fitted.history_ + 3)[3:]]))


def test_update_equals_filtering_the_whole_series(fitted: PSRNNForecaster) -> None:
    moved = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    for begin, end in ((200, 201), (201, 240), (240, 260)):
        moved.update(hourly_load()[begin:end])
    pd.testing.assert_frame_equal(moved.predict(5), fitted.predict(5, hourly_load()), rtol=1e-9)
    whole = fitted.forecaster_.forecast(hourly_load().to_numpy(), 5)
    np.testing.assert_allclose(moved.predict(5).to_numpy(), whole, rtol=1e-9)


def test_update_takes_gaps_as_filtering_does(fitted: PSRNNForecaster) -> None:
    gaps = hourly_load().mask(np.random.default_rng(1).random((260, 3)) < 0.03)
    moved = clone(fitted).fit(gaps[:200]).update(gaps[200:])
    whole = moved.forecaster_.forecast(gaps.to_numpy(), 5)
    np.testing.assert_allclose(moved.predict(5).to_numpy(), whole, rtol=1e-9)


def test_the_cost_of_an_update_is_that_of_its_rows(fitted: PSRNNForecaster, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    import models.forecasting.estimators.position as position

    def watched(model, values, mask, start):
        seen.append(values.shape[1])
        return filter_sequences(model, values, mask, start)

    monkeypatch.setattr(position, "filter_sequences", watched)
    pickle.loads(pickle.dumps(fitted)).update(hourly_load()[200:210])  # noqa: S301
    assert seen == [10]


def test_refit_is_a_fit_to_all_rows(fitted: PSRNNForecaster) -> None:
    refitted = pickle.loads(pickle.dumps(fitted)).update(hourly_load()[200:], refit=True)  # noqa: S301
    pd.testing.assert_frame_equal(refitted.predict(4), clone(fitted).fit(hourly_load()).predict(4))


@pytest.mark.parametrize(("name", "value"), [("validation", 0.0), ("season", 1), ("orders", 0)])
def test_parameters_set_after_a_fit_are_checked_before_the_next(name: str, value: float) -> None:
    forecaster = VARForecaster(orders=1).fit(hourly_load(200)).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"^{name} must be "):
        forecaster.update(hourly_load()[200:], refit=True)
    forecaster.predict(1)


def test_known_values_are_taken_step_by_step(told: PSRNNForecaster) -> None:
    """As if each step were forecast by itself, its own forecast observed, and the covariate with it."""
    by_hand = pickle.loads(pickle.dumps(told))  # noqa: S301
    steps = []
    for place in range(200, 206):
        known = hourly_load()[["price"]].iloc[place : place + 1]
        steps.append(by_hand.predict(1, known=known))
        by_hand.update(pd.concat([steps[-1], known], axis=1))
    ahead = told.predict(6, known=hourly_load()[["price"]].iloc[200:206])
    pd.testing.assert_frame_equal(ahead, pd.concat(steps), rtol=1e-9, check_freq=False)


def test_columns_that_tell_of_the_row_after_are_called_so(told: PSRNNForecaster) -> None:
    names = told.forecaster_.feature_names
    assert names[:5] == ("load", "heat", "price (next row)", "hour sine 1 (next row)", "hour sine 2 (next row)")
    assert names[-1] == "season cosine 3 (next row)"
    assert len(names) == len(told.forecaster_.mean) == 2 + 1 + 6 + 6
    with pytest.raises(ValueError, match=r"columns price \(next row\), .* are missing"):
        told.forecaster_.online().update(hourly_load().iloc[0])


def test_a_model_saved_with_other_names_for_these_columns_loads_and_forecasts(
    told: PSRNNForecaster, tmp_path: Path
) -> None:
    told.save(tmp_path / "model")
    (described,) = (tmp_path / "model").rglob("architecture.json")
    description = json.loads(described.read_text())
    observed = description["feature_names"][:2]
    old = [*observed, *(f"known_{place}" for place in range(len(description["feature_names"]) - 2))]
    described.write_text(json.dumps(description | {"feature_names": old}))
    again, known = PSRNNForecaster.load(tmp_path / "model"), hourly_load()[["price"]].iloc[200:203]
    assert again.forecaster_.feature_names == tuple(old)
    pd.testing.assert_frame_equal(again.predict(3, known=known), told.predict(3, known=known))
    again.update(hourly_load()[200:210])


def test_a_covariate_of_the_hour_to_come_is_used(told: PSRNNForecaster) -> None:
    known = hourly_load()[["price"]].iloc[200:224]
    error = (told.predict(24, known=known)["load"] - hourly_load()["load"].iloc[200:224]).abs().mean()
    blind = (
        (PSRNNForecaster(**FAST).fit(hourly_load(200)).predict(24)["load"] - hourly_load()["load"].iloc[200:224])
        .abs()
        .mean()
    )
    assert error < 0.15 < 0.3 < blind
    assert list(told.predict(24, known=known).columns) == ["load", "heat"]


def test_intervals_are_quantiles_of_forecasts_made_one_by_one(fitted: PSRNNForecaster) -> None:
    rows, residuals = hourly_load(200).to_numpy(), np.full((20, 3, 3), np.nan)
    for place, origin in enumerate(range(180, 200)):
        truth = rows[origin : origin + 3]
        residuals[place, : len(truth)] = truth - fitted.forecaster_.forecast(rows[:origin], 3)[: len(truth)]
    radii = conformal_radii(residuals, coverage=0.8)
    ahead, bounds = fitted.predict(3).to_numpy(), fitted.predict_interval(3, 0.8)
    assert list(bounds.columns)[:2] == ["load_lower", "load_upper"]
    np.testing.assert_allclose(bounds.to_numpy()[:, 0::2], ahead - radii, rtol=1e-6)
    np.testing.assert_allclose(bounds.to_numpy()[:, 1::2], ahead + radii, rtol=1e-6)


def test_a_forecast_beyond_the_steps_that_were_measured_is_told() -> None:
    walk = np.random.default_rng(0).normal(size=400).cumsum()
    forecaster = LastValueForecaster(validation=0.2).fit(walk)
    told = (
        r"^no error was measured beyond 24 steps ahead \(validation_errors_\), and 25 are asked for; predict_interval"
    )
    with pytest.warns(UserWarning, match=told):
        forecaster.predict(25)
    forecaster.predict(24)
    forecaster.predict_interval(25, 0.5)
    plt.close(forecaster.plot(25, 0.5).figure)


def test_intervals_hold_about_the_share_they_say() -> None:
    walk = np.random.default_rng(0).normal(size=3000).cumsum()
    forecaster = LastValueForecaster(validation=0.3).fit(walk[:2000])
    inside = []
    for place in range(2000, 2990):
        lower, upper = forecaster.predict_interval(5, 0.8)[4]
        inside.append(lower <= walk[place + 4] <= upper)
        forecaster.update(walk[place : place + 1])
    assert 0.7 < np.mean(inside) < 0.9


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_forms_of_data_come_back_as_they_went_in() -> None:
    array = hourly_load(200).to_numpy()
    assert PSRNNForecaster(**FAST).fit(array).predict(2).shape == (2, 3)
    vector = PSRNNForecaster(**FAST).fit(array[:, 0])
    assert vector.predict(2).shape == (2,)
    assert vector.predict_interval(2).shape == (2, 2)
    assert vector.predict_one_step(array[:, 0]).shape == (200,)
    assert vector.update(array[:5, 0]).predict(1).shape == (1,)
    several = PSRNNForecaster(**FAST).fit([array, array[50:]])
    assert [part.shape for part in several.predict(2)] == [(2, 3), (2, 3)]
    frames = PSRNNForecaster(**FAST).fit([hourly_load(200), hourly_load(150)])
    assert [part.index[0] for part in frames.predict(2)] == [HOURS[200], HOURS[150]]
    assert several.predict_interval(2)[1].shape == (2, 3, 2)


def test_groups_share_a_model_and_keep_their_index() -> None:
    both = pd.concat({"north": hourly_load(200), "south": hourly_load(180)}, names=["site"])
    forecaster = PSRNNForecaster(**FAST).fit(both)
    ahead = forecaster.predict(2)
    assert ahead.index.names == ["site", "time"]
    assert list(ahead.loc["south"].index) == list(HOURS[180:182])
    assert len(forecaster.predict_interval(2, 0.5)) == 4
    south = forecaster.predict(2, hourly_load(180))
    pd.testing.assert_frame_equal(ahead.loc["south"], south, check_freq=False, rtol=1e-9)
    forecaster.update(pd.concat({"south": hourly_load()[180:190]}, names=["site"]))
    assert list(forecaster.predict(1).index) == [("north", HOURS[200]), ("south", HOURS[190])]


def test_only_targets_are_forecast_and_the_rest_is_observed() -> None:
    forecaster = PSRNNForecaster(**FAST, target="load").fit(hourly_load(200))
    assert list(forecaster.predict(2).columns) == ["load"]
    assert list(forecaster.predict_interval(2).columns) == ["load_lower", "load_upper"]
    assert forecaster.forecaster_.feature_names == ("load", "price", "heat")
    assert list(forecaster.predict_one_step(hourly_load()).columns) == ["load"]


def test_one_step_predictions_and_their_skill(fitted: PSRNNForecaster) -> None:
    later = hourly_load()[200:]
    ours, scale = fitted.predict_one_step(later), hourly_load(180).std(ddof=0)
    error = (((later - ours) / scale) ** 2)[1:].to_numpy().sum()
    last = ((later.diff() / scale) ** 2)[1:].to_numpy().sum()
    assert fitted.score(later) == pytest.approx(1 - error / last)
    with pytest.warns(UserWarning, match="season before"):
        naive = LastValueForecaster().fit(hourly_load(200))
    assert naive.score(later) == pytest.approx(0.0)


def test_a_season_is_counted_by_the_index_not_by_the_rows(told: PSRNNForecaster) -> None:
    assert told.score(hourly_load()[205:]) > 0.5


def test_a_backtest_is_forecasts_one_by_one(told: PSRNNForecaster) -> None:
    later = hourly_load()[180:]
    result = told.backtest(later, horizon=4, first=30, step=17)
    for place, origin in enumerate((30, 47, 64)):
        known = later[["price"]].iloc[origin : origin + 4]
        ahead = told.predict(4, later[:origin], known=known)
        np.testing.assert_allclose(result.forecast[4 * place : 4 * place + 4], ahead.to_numpy(), rtol=1e-9)
    np.testing.assert_array_equal(result.truth[:4], later[["load", "heat"]].iloc[30:34].to_numpy())


def test_fit_warns_where_a_naive_forecast_is_better() -> None:
    days = np.tile(np.random.default_rng(0).normal(size=24), 20)
    days = days + 0.01 * np.random.default_rng(1).normal(size=480)
    with pytest.warns(UserWarning, match=r"naive forecast \(season before\) is better than this model"):
        last = LastValueForecaster().fit(days)
    errors = last.validation_errors_
    assert errors["season before"].mean() < 0.01 < errors["model"].mean() == errors["last value"].mean()
    np.testing.assert_allclose(SeasonalNaiveForecaster().fit(days).predict(24), days[-24:])


@pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")
def test_a_seasonal_naive_forecast_looks_for_its_season_in_what_is_not_known_ahead() -> None:
    rows, noise = np.arange(240), np.random.default_rng(0).normal(size=(240, 2))
    week, months = np.sin(2 * np.pi * rows / 7), np.sin(2 * np.pi * rows / 12)
    table = pd.DataFrame({"load": week + 0.3 * noise[:, 0], "price": months + 0.01 * noise[:, 1]})
    assert SeasonalNaiveForecaster().fit(table).chosen_["season"] != 7
    told = SeasonalNaiveForecaster(covariates=["price"]).fit(table)
    assert told.chosen_["season"] == 7
    known = table[["price"]].tail(7).set_axis(range(240, 247))
    np.testing.assert_allclose(told.predict(7, known=known)["load"], table["load"].tail(7))


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, second = (PSRNNForecaster(**FAST, seed=3).fit(hourly_load(200)).predict(3) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert not first.equals(PSRNNForecaster(**FAST, seed=4).fit(hourly_load(200)).predict(3))


def test_parameters_are_kept_as_given_and_cloned() -> None:
    forecaster = PSRNNForecaster(count=7, sampler="iid", covariates=["price"])
    assert forecaster.get_params()["sampler"] == "iid"
    again = clone(forecaster.set_params(count=8))
    assert again.get_params() == forecaster.get_params()
    assert "count=8" in repr(again)
    with pytest.raises(TypeError, match="positional"):
        PSRNNForecaster(20)  # pyright: ignore[reportCallIssue]


def test_a_grid_of_parameters_is_searched() -> None:
    search = GridSearchCV(VARForecaster(), {"orders": [1, 4]}, cv=TimeSeriesSplit(2)).fit(hourly_load(200))
    assert search.best_params_["orders"] in (1, 4)
    assert search.predict(2).shape == (2, 3)


@pytest.mark.parametrize("sampler", ["orthogonal", "iid", "hadamard", "stratified", "near_orthogonal", "sobol"])
def test_all_samplers_go_by_name(sampler: str) -> None:
    assert np.isfinite(PSRNNForecaster(**FAST, sampler=sampler).fit(hourly_load(200)).predict(2)).all(axis=None)


def test_states_of_a_kalman_filter_move_on_too() -> None:
    forecaster = KalmanForecaster().fit(hourly_load(200)).update(hourly_load()[200:])
    whole = forecaster.forecaster_.forecast(hourly_load().to_numpy(), 3)
    np.testing.assert_allclose(forecaster.predict(3).to_numpy(), whole, rtol=1e-9)
    assert torch.is_tensor(forecaster.forecaster_.mean)


def test_the_lines_of_the_docs_run_and_forecast_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/own-data.md").read_text(encoding="utf-8").partition("## From Python alone")[2]
    (code,) = (part.split("```")[0] for part in page.split("```python\n")[1:])
    monkeypatch.chdir(tmp_path)
    names: dict[str, pd.DataFrame] = {}
    exec(compile(code, "own-data.md", "exec"), names)  # noqa: S102
    truth, ahead, bounds = names["table"][["load"]][-24:], names["tomorrow"], names["bounds"]
    assert float(np.sqrt(((ahead - truth) ** 2).mean(axis=None))) < 0.15
    inside = (bounds["load_lower"] <= truth["load"]) & (truth["load"] <= bounds["load_upper"])
    assert 0.5 < inside.mean() <= 1
    assert (tmp_path / "load_forecaster").is_dir()
