"""`fit` names the horizons, and the columns, at which a naive forecast is clearly better, and no others."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from models import PSRNNForecaster
from models.forecasting.estimators.held_out import MOST_ORIGINS, HeldOut, origins_of, spacing_of
from models.forecasting.naive_ahead import naive_ahead, said_of_naive


def errors(*sizes: tuple[float, ...], rows: int = 400) -> np.ndarray:
    """Errors (forecast, horizon, column) of these root mean squares, (column, horizon), and of one sign pattern."""
    shape = np.random.default_rng(0).normal(size=(rows, 1, 1))
    return np.array(sizes).T * shape


def ahead(residuals: dict[str, np.ndarray]) -> list[tuple]:
    scored = np.ones(residuals["model"].shape, dtype=bool)
    columns = [f"c{place}" for place in range(scored.shape[2])]
    found = naive_ahead(residuals, scored, columns, spacing=np.ones(len(scored)))
    return [(each.name, each.column, each.steps, each.step) for each in found]


def test_horizons_are_named_from_the_margin_on() -> None:
    model = errors((1.0, 1.0, 1.0, 1.0, 1.0))
    naive = errors((0.9, 0.97, 0.98, 1.0, 0.97))  # squares: 0.81, 0.941, 0.96, 1, 0.941
    assert ahead({"model": model, "last value": naive}) == [("last value", None, (1, 2, 5), 1)]
    scored = np.ones(model.shape, dtype=bool)
    found = naive_ahead({"model": model, "last value": naive}, scored, ["a"], spacing=np.ones(400))
    assert "; over 1 to 5 steps together it is not; take that forecast there" in said_of_naive(found, 5)
    assert ahead({"model": model, "last value": errors((0.98, 0.98, 1.1, 1.2, 1.0))}) == []


def test_a_column_behind_is_named_though_all_together_are_ahead() -> None:
    model = errors((0.5, 0.5), (0.3, 0.3), (1.0, 0.9))
    naive = errors((1.0, 1.0), (0.1, 0.4), (1.0, 0.8))
    season = errors((1.0, 1.0), (2.0, 2.0), (0.9, 0.8))
    found = {"model": model, "last value": naive, "season before": season}
    assert ahead(found) == [("last value", "c1", (1,), 1), ("season before", "c2", (1, 2), 2)]
    scored = np.ones(model.shape, dtype=bool)
    said = said_of_naive(naive_ahead(found, scored, ["a", "b", "c"], spacing=np.ones(400)), 2)
    assert "better than this model in column b at horizon 1 (last value: " in said
    assert " and in column c at horizons 1 to 2 (season before: " in said
    assert said.endswith(
        "; over all columns and 1 to 2 steps together it is not; take that forecast there, or try other parameters"
    )
    assert "\n" not in said


def test_a_lead_within_the_noise_of_few_forecasts_is_none() -> None:
    model, naive = np.ones((40, 1, 1)), np.full((40, 1, 1), 1.03)
    model[0] = 3.0  # one forecast alone makes the lead
    assert np.square(model).mean() * 0.95 > np.square(naive).mean()
    assert ahead({"model": model, "last value": naive}) == []
    few = {"model": errors((1.0,), rows=9), "last value": errors((0.5,), rows=9)}
    assert ahead(few) == []


@pytest.mark.parametrize(("spacing", "steps"), [(1.0, (1,)), (2.0, (1, 2, 3)), (20.0, (1, 2, 3, 4, 5))])
def test_forecasts_that_lie_apart_do_not_overlap(spacing: float, steps: tuple[int, ...]) -> None:
    """18 forecasts that are one row apart are 9 that do not overlap, two steps ahead."""
    residuals = {"model": np.ones((18, 5, 1)), "last value": np.full((18, 5, 1), 0.8)}
    scored = np.ones((18, 5, 1), dtype=bool)
    (found,) = naive_ahead(residuals, scored, ["a"], spacing=np.full(18, spacing))
    assert found.steps == steps


def test_the_spacing_of_forecasts_is_that_of_their_origins() -> None:
    long, short = HeldOut(np.zeros((5000, 1)), 200), HeldOut(np.zeros((300, 1)), 200)
    np.testing.assert_allclose(spacing_of(long), np.full(MOST_ORIGINS, np.diff(origins_of(long)).mean()))
    np.testing.assert_array_equal(spacing_of(short), np.ones(100))


PERSISTENCE = 0.97 ** np.arange(1, 25)[:, None]  # of an autoregression, (horizon, 1)


def of_walks(columns: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns truths (forecast, horizon, column) of 100 rows of x_t = 0.97 x_{t-1} + noise, standardised, and the last
    values before them, (forecast, 1, column)."""
    noise = np.random.default_rng(seed).normal(size=(400, columns)) * np.sqrt(1 - 0.97**2)
    rows = np.zeros_like(noise)
    for t in range(1, 400):
        rows[t] = 0.97 * rows[t - 1] + noise[t]
    rows = rows[-101:]
    origins = np.arange(101 - 24)
    return rows[origins[:, None] + np.arange(1, 25)], rows[origins][:, None]


@pytest.mark.parametrize("columns", [8, 30])
def test_the_best_forecast_that_there_is_is_rarely_said_to_be_behind(columns: int) -> None:
    """With one standard error in each column, 7 and 10 of these 20 draws were said to be."""
    alarms = 0
    for seed in range(20):
        truth, last = of_walks(columns, seed=seed)
        alarms += bool(ahead({"model": truth - PERSISTENCE * last, "last value": truth - last}))
    assert alarms <= 1


@pytest.mark.parametrize("seed", range(5))
def test_a_forecast_that_is_off_in_one_of_many_columns_is_said(seed: int) -> None:
    truth, last = of_walks(60, seed=seed)
    forecast = PERSISTENCE * last
    forecast[:, :, 7] += 0.4
    found = ahead({"model": truth - forecast, "last value": truth - last})
    assert [(name, column) for name, column, *_ in found] == [("last value", "c7")]


def test_what_is_not_scored_and_what_diverges_is_left_out() -> None:
    model, naive = errors((1.0, 1.0)), errors((0.5, 1.1))
    naive[:200] = np.nan
    found = naive_ahead({"model": model, "last value": naive}, ~np.isnan(naive), ["a"], spacing=np.ones(400))
    assert [(each.steps, round(each.error / each.model_error, 6)) for each in found] == [((1,), 0.25)]
    model[:, 1] = np.inf
    assert ahead({"model": model, "last value": errors((1.0, 1.0))}) == []


def test_fit_names_the_column_in_which_the_last_value_is_better() -> None:
    generator = np.random.default_rng(4)
    rows = np.arange(600)
    day = np.sin(2 * np.pi * rows / 24) + 0.1 * generator.normal(size=600)
    data = pd.DataFrame({"day": day, "walk": generator.normal(size=600).cumsum()})
    with pytest.warns(UserWarning, match=r"^on the validation part a naive forecast is better .* in column walk at "):
        PSRNNForecaster(count=10).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PSRNNForecaster(count=10).fit(data[["day"]])
