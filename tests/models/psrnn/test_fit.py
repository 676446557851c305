"""A PSRNN from sequences in one call: what each choice means, and what is refused."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from models.choices import UPDATES
from models.features.bandwidth import BandwidthRule
from models.forecasting.filtering import filter_sequences, one_step_error
from models.forecasting.forecaster import Forecaster
from models.forecasting.readout_settings import ReadoutSettings
from models.psrnn.factorised import FactorisedPSRNN
from models.psrnn.features import FeatureDraw, draw_features
from models.psrnn.fit import FittedPSRNN, Regression, first_cell, fit, fit_forecaster
from models.psrnn.shape import CellShape
from models.psrnn.update import MEANINGS, update_named
from models.runtime.seeding import generator, generators_of
from oracles import filter_by_loop, two_stage_written_out
from small_problems import oscillation, with_gap

ALONE = ReadoutSettings(0, [1e-2], "none")
TRAIN, VALIDATION, TEST = (oscillation(seed) for seed in (1, 2, 3))
DRAW = FeatureDraw(count=8)


def fitted(regression: Regression | None = None, readout: ReadoutSettings = ALONE, seed: int = 0) -> FittedPSRNN:
    return fit(
        TRAIN, VALIDATION, features=DRAW, regression=regression or Regression(), readout=readout,
        generators=generators_of(seed),
    )  # fmt: skip


def test_the_update_is_that_of_the_regression_as_printed_divided_where_its_name_says_so() -> None:
    """By the paper's formulas, written out on the same features."""
    drawn = draw_features(TRAIN, DRAW, generators_of(0))
    windows, frequencies = drawn.windows, drawn.frequencies

    def features(points: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
        phase = points @ which.T
        return torch.cat([phase.cos(), phase.sin()], 1) / len(which) ** 0.5

    omega = features(windows.observation, frequencies.observation)
    rows = len(omega)
    printed, initial = two_stage_written_out(
        features(windows.history, frequencies.history),
        features(windows.future, frequencies.future),
        features(windows.shifted_future, frequencies.future),
        omega,
        0.01 * rows,
    )
    moment = omega.T @ omega / rows + 1e-2 * torch.eye(16, dtype=torch.float64)
    divided = printed @ torch.linalg.inv(moment)
    for name, meaning in MEANINGS.items():
        cell = first_cell(drawn, Regression(update=name, whitening=1e-2), generators_of(0))
        expected = divided if meaning.divide_by_observations else printed
        torch.testing.assert_close(cell.update_tensor.detach(), expected, rtol=1e-6, atol=1e-9)
        torch.testing.assert_close(cell.initial.detach(), initial, rtol=1e-6, atol=1e-9)
        assert cell.keep_sign == meaning.keep_sign


def test_the_names_of_updates_are_those_of_the_settings() -> None:
    assert tuple(MEANINGS) == UPDATES
    with pytest.raises(ValueError, match="update must be one of bayes, sign, whitened, paper, got 'kalman'"):
        update_named("kalman")
    with pytest.raises(ValueError, match="update must be one of"):
        Regression(update="kalman")


def test_it_predicts_and_filters_as_the_recursion_written_out() -> None:
    model = fitted(readout=ALONE._replace(lags=1)).model
    with torch.no_grad():
        found = filter_sequences(model, TEST.values, TEST.mask).predictions[:, 1:]
        expected = filter_by_loop(model, TEST.values, TEST.mask)[:, 1:]
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)
    assert one_step_error(model, TEST) < 0.2, "the mean has 1"


def test_the_parts_are_handed_back_as_the_model_filters_them() -> None:
    result = fitted(readout=ReadoutSettings(0, [1e-4, 1e-2], "none"))
    for filtered, part in ((result.readout.train, TRAIN), (result.readout.validation, VALIDATION)):
        assert filtered is not None
        again = filter_sequences(result.model, part.values, part.mask).predictions
        torch.testing.assert_close(filtered.predictions, again, rtol=1e-8, atol=1e-10)
    assert result.readout.chosen["readout.ridge"] in (1e-4, 1e-2)
    assert (result.tried, result.decomposition) == (None, None)


def test_lags_that_are_left_open_are_chosen_by_the_validation_part() -> None:
    result = fitted(readout=ALONE._replace(state_ridges=[1e-2], choices=[0, 1, 2]))
    assert result.tried is not None
    assert {0, 1, 2} <= set(result.tried.errors)
    assert result.model.lags == result.readout.chosen["readout.lags"] == result.tried.lags > 0


@pytest.mark.parametrize("projection", [None, 5])
@pytest.mark.parametrize("rank", [None, 6])
def test_projection_and_rank_give_the_shape_asked_for(projection: int | None, rank: int | None) -> None:
    result = fitted(Regression(projection=projection, rank=rank, learn_frequencies=True))
    size = projection or 16
    expected = CellShape(frequencies=8, dimension=2, state=size, projected=projection, learn_frequencies=True)
    shape = {field.name: result.model.architecture[field.name] for field in fields(CellShape)}
    assert shape == asdict(expected)
    assert expected.features == size
    assert isinstance(result.model, FactorisedPSRNN) == (rank is not None)
    assert (result.decomposition is None) == (rank is None)
    assert result.model.features.frequencies.requires_grad
    assert one_step_error(result.model, TEST) < 0.5


def test_random_parameters_are_those_of_their_generator() -> None:
    first, second, other = (fitted(Regression(random=True), seed=seed).model for seed in (0, 0, 1))
    assert torch.equal(first.state_dict()["update_tensor"], second.state_dict()["update_tensor"])
    assert not torch.equal(first.initial, other.initial)
    with pytest.raises(
        ValueError, match=r"^random parameters have no regression to find a projection by; leave out one of the two$"
    ):
        Regression(random=True, projection=4)


def test_a_part_with_gaps_and_a_fixed_bandwidth() -> None:
    draw = FeatureDraw(count=8, bandwidth=BandwidthRule("fixed", value=2.0))
    model = fit(with_gap(TRAIN), VALIDATION, features=draw, readout=ALONE, generators=generators_of(0)).model
    assert one_step_error(model, TEST) < 0.3


def wave(rows: int = 300) -> np.ndarray:
    """Two features of very different units, (row, 2)."""
    noise = torch.randn(rows, 2, generator=generator(0, "noise"), dtype=torch.float64).numpy()
    phase = 2 * np.pi * np.arange(rows) / 25
    return np.stack([1000 + 50 * np.sin(phase), 0.01 * np.cos(phase)], 1) + noise * [2.0, 4e-4]


def test_arrays_are_fitted_in_their_own_units_gaps_and_all() -> None:
    series = wave()
    series[100:103, 1] = np.nan
    forecaster = fit_forecaster([series[:150], series[150:275]], features=DRAW, generators=generators_of(0))
    forecast = forecaster.forecast(series[:275], horizon=25)
    error = np.abs(forecast - series[275:]).mean(0)
    assert (error < 0.3 * np.nanstd(series, 0)).all(), error
    assert forecaster.feature_names == ("feature_0", "feature_1")


def test_tables_keep_the_names_of_their_columns() -> None:
    table = pd.DataFrame(wave(), columns=["level", "flow"])
    by_table, by_array = (
        fit_forecaster(
            [series[:200]], [series[200:]], features=DRAW, readout=ALONE, generators=generators_of(0)
        )
        for series in (table, table.to_numpy())
    )  # fmt: skip
    forecast = by_table.forecast(table[["flow", "level"]], horizon=3)
    assert list(forecast.columns) == ["flow", "level"]
    assert list(forecast.index) == [300, 301, 302]
    np.testing.assert_allclose(forecast[["level", "flow"]], by_array.forecast(table.to_numpy(), horizon=3), rtol=1e-9)


def by_columns(validation: pd.DataFrame) -> Forecaster:
    table = pd.DataFrame(wave(), columns=["level", "flow"])
    return fit_forecaster([table[:200]], [validation], features=DRAW, generators=generators_of(0))


def test_validation_tables_go_by_the_names_of_their_columns() -> None:
    table = pd.DataFrame(wave(), columns=["level", "flow"])
    first, second = by_columns(table[200:]), by_columns(table[200:][["flow", "level"]])
    pd.testing.assert_frame_equal(first.forecast(table, 3), second.forecast(table, 3), rtol=0, atol=0)
    with pytest.raises(ValueError, match=r"^column level is missing; the model needs level, flow, the table has flow$"):
        by_columns(table[200:][["flow"]])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([pd.DataFrame(wave()), wave()],), "1 of 2 series are tables and the others arrays; give all as one of the"),
        (([wave()], [wave()[:, :1]]), r"expected \(time, 2\) values of feature_0, feature_1, got shape \(300, 1\)"),
    ],
    ids=["mixed", "another width"],
)
def test_parts_that_do_not_go_together_are_refused(parts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fit_forecaster(*parts, features=DRAW, generators=generators_of(0))


def test_columns_may_be_called_by_numbers() -> None:
    table = pd.DataFrame(wave())
    forecaster = fit_forecaster([table], features=DRAW, readout=ALONE, generators=generators_of(0))
    assert forecaster.feature_names == ("0", "1")
    ahead = forecaster.forecast(table[[1, 0]], horizon=2)
    assert list(ahead.columns) == [1, 0]
    np.testing.assert_array_equal(ahead[[0, 1]], forecaster.forecast(wave(), horizon=2))


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ([], "no series to forecast"),
        ([np.zeros(5)], r"series 0 has shape \(5,\)"),
        ([wave(), wave()[:, :1]], r"series 1 has shape \(300, 1\)"),
        ([np.where(wave() > 1040, np.inf, wave())], "infinite value in row"),
        ([np.stack([wave()[:, 0], np.full(300, np.nan)], 1)], "feature 1 has no observed value"),
        ([wave(30)], r"no series has an observed step from step 4 on"),
    ],
    ids=["none", "one axis", "another width", "infinite", "unobserved", "short"],
)
def test_series_that_cannot_be_fitted_are_refused(series: list[np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_forecaster(series, features=DRAW, generators=generators_of(0))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((pd.DataFrame(wave()),), r"series is a single DataFrame; give a list of tables or arrays, as in \[series\]$"),
        ((wave(),), "series is a single ndarray; give a list"),
        (([wave()], pd.DataFrame(wave())), r"validation is a single DataFrame; .* as in \[validation\]$"),
        (([wave()], []), "no series to forecast in validation; give a list of tables or arrays"),
    ],
    ids=["table", "array", "table to validate", "nothing to validate"],
)
def test_a_single_series_in_place_of_a_list_is_refused(parts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fit_forecaster(*parts, features=DRAW, generators=generators_of(0))


def test_a_constant_feature_is_forecast_as_it_is() -> None:
    series = np.stack([wave()[:, 0], np.full(300, 7.0)], 1)
    forecaster = fit_forecaster([series], features=DRAW, readout=ALONE, generators=generators_of(0))
    np.testing.assert_allclose(forecaster.forecast(series, horizon=2)[:, 1], 7.0)
