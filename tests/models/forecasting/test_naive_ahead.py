"""`fit` names the horizons, and the columns, at which a naive forecast is clearly better, and no others."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from models import PSRNNForecaster
from models.forecasting.naive_ahead import naive_ahead, said_of_naive


def errors(*sizes: tuple[float, ...], rows: int = 400) -> np.ndarray:
    """Errors (forecast, horizon, column) of these root mean squares, (column, horizon), and of one sign pattern."""
    shape = np.random.default_rng(0).normal(size=(rows, 1, 1))
    return np.array(sizes).T * shape


def ahead(residuals: dict[str, np.ndarray]) -> list[tuple]:
    scored = np.ones(residuals["model"].shape, dtype=bool)
    found = naive_ahead(residuals, scored, [f"c{place}" for place in range(scored.shape[2])])
    return [(each.name, each.column, each.steps, each.step) for each in found]


def test_horizons_are_named_from_the_margin_on() -> None:
    model = errors((1.0, 1.0, 1.0, 1.0, 1.0))
    naive = errors((0.9, 0.97, 0.98, 1.0, 0.97))  # squares: 0.81, 0.941, 0.96, 1, 0.941
    assert ahead({"model": model, "last value": naive}) == [("last value", None, (1, 2, 5), 1)]
    assert ahead({"model": model, "last value": errors((0.98, 0.98, 1.1, 1.2, 1.0))}) == []


def test_a_column_behind_is_named_though_all_together_are_ahead() -> None:
    model = errors((0.5, 0.5), (0.3, 0.3), (1.0, 0.9))
    naive = errors((1.0, 1.0), (0.1, 0.4), (1.0, 0.8))
    season = errors((1.0, 1.0), (2.0, 2.0), (0.9, 0.8))
    found = {"model": model, "last value": naive, "season before": season}
    assert ahead(found) == [("last value", "c1", (1,), 1), ("season before", "c2", (1, 2), 2)]
    said = said_of_naive(naive_ahead(found, np.ones(model.shape, dtype=bool), ["a", "b", "c"]), 2)
    assert "better than this model in column b at horizon 1 (last value: " in said
    assert " and in column c at horizons 1 to 2 (season before: " in said
    assert "\n" not in said


def test_a_lead_within_the_noise_of_few_forecasts_is_none() -> None:
    model, naive = np.ones((40, 1, 1)), np.full((40, 1, 1), 1.03)
    model[0] = 3.0  # one forecast alone makes the lead
    assert np.square(model).mean() * 0.95 > np.square(naive).mean()
    assert ahead({"model": model, "last value": naive}) == []
    few = {"model": errors((1.0,), rows=9), "last value": errors((0.5,), rows=9)}
    assert ahead(few) == []


def test_what_is_not_scored_and_what_diverges_is_left_out() -> None:
    model, naive = errors((1.0, 1.0)), errors((0.5, 1.1))
    naive[:200] = np.nan
    found = naive_ahead({"model": model, "last value": naive}, ~np.isnan(naive), ["a"])
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
