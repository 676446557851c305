"""Series that begin with rows of which nothing was observed: as if these were not there, in forecasts and in fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from hourly_load import HOURS, hourly_load
from models import EchoStateForecaster, PSRNNForecaster, VARForecaster
from models.baselines.echo_state import EchoState
from models.baselines.persistence import Persistence
from models.forecasting.filtering import MaskedSequences, scored_steps
from models.forecasting.fitting import Problem
from models.forecasting.readout import ReadoutSettings, fit_readout
from models.forecasting.readouts.fit import fit_grouped
from models.forecasting.readouts.naive import naive_errors
from models.forecasting.readouts.settings import GroupedSettings
from models.runtime.seeding import generators_of

GAP = 8
TOLD: dict[str, Any] = {"calendar": ["hour"], "covariates": "price"}
FORECASTERS: dict[str, Any] = {
    "calendar": PSRNNForecaster(count=5, lags=4, calendar=["hour"]),
    "covariate": PSRNNForecaster(count=5, lags=4, covariates="price"),
    "grouped": VARForecaster(readout="grouped", **TOLD),
    "var": VARForecaster(**TOLD),
    "echo_state": EchoStateForecaster(units=20, lags=4, **TOLD),
}


def behind_a_gap(table: pd.DataFrame, forecaster: Any) -> pd.DataFrame:
    """Returns the table with nothing but its covariate in the first rows."""
    gappy = table.copy()
    hidden = [name for name in table.columns if name != forecaster.covariates]
    gappy.loc[gappy.index[:GAP], hidden] = np.nan
    return gappy


@pytest.mark.parametrize("name", FORECASTERS)
@pytest.mark.filterwarnings("ignore:1 of 1 series of X has fewer rows than")
def test_what_is_known_ahead_is_no_row_seen(name: str) -> None:
    table, forecaster = hourly_load(), FORECASTERS[name].fit(hourly_load(200))
    for rows in (3, 40):
        gappy = behind_a_gap(table[200 - GAP : 200 + rows], forecaster)
        ahead = table.loc[HOURS[200 + rows : 205 + rows], ["price"]] if forecaster.covariates else None
        found, expected = (forecaster.predict(5, series, known=ahead) for series in (gappy, gappy[GAP:]))
        pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
        found, expected = forecaster.predict_one_step(gappy)[GAP:], forecaster.predict_one_step(gappy[GAP:])
        pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    found, expected = (
        forecaster.backtest(gappy, horizon=3, first=GAP + 1),
        forecaster.backtest(gappy[GAP:], horizon=3, first=1),
    )
    np.testing.assert_allclose(found.forecast, expected.forecast, rtol=1e-9)


@pytest.mark.parametrize("readout", ["linear", "grouped"])
def test_updates_go_on_from_rows_of_which_nothing_was_observed(readout: str) -> None:
    """Given piece by piece, the first of them inside of the gap, and whole."""
    table = hourly_load()
    forecaster = VARForecaster(readout=readout, season=24, **TOLD)
    gappy, known = behind_a_gap(table[:60], forecaster), table.loc[HOURS[60:64], ["price"]]
    forecaster.fit([table[:203], gappy[:3]])
    for begin, end in ((3, GAP), (GAP, GAP + 1), (GAP + 1, 60)):
        forecaster.update([table[200 + begin : 200 + end], gappy[begin:end]])
    ahead = table.loc[HOURS[257:260], ["price"]].set_axis(pd.date_range(HOURS[-1], periods=4, freq="h")[1:])
    found = forecaster.predict(3, known=[ahead, known[:3]])[1]
    whole = forecaster.predict(3, [gappy], known=[known[:3]])[0]
    pd.testing.assert_frame_equal(found, whole, rtol=1e-9)
    alone = forecaster.predict(3, [gappy[GAP:]], known=[known[:3]])[0]
    pd.testing.assert_frame_equal(found, alone, rtol=1e-9)


LAGS = 4
READOUT = ReadoutSettings(LAGS, [1e-4, 1e-2, 1.0], "none", [1e-4, 1e-2, 1.0])


def shifted(seed: int, gap: int) -> MaskedSequences:
    """Returns three sequences of 50 rows, on a high level, the first of them behind a gap of so many rows."""
    steps = np.random.default_rng(seed).normal(size=(3, 50, 2))
    values = torch.full((3, 50 + GAP, 2), torch.nan, dtype=torch.float64)
    for place, series in enumerate(2.0 + 0.3 * steps.cumsum(1)):
        begin = gap * (place == 0)
        values[place, begin : begin + 50] = torch.from_numpy(series)
    mask = ~values.isnan()
    return MaskedSequences(values.nan_to_num(nan=0.0), mask, scored_steps(mask, first_step=LAGS))


def base_of(part: MaskedSequences) -> Any:
    """Returns an echo state network that is drawn and not yet fitted."""
    generator = generators_of(0)("weights")
    model: Any = EchoState(units=6).fit(Problem(part, part, READOUT, generator)).model
    model.start_up = None
    return model


def test_scores_begin_behind_rows_of_the_sequence_itself() -> None:
    without, gappy = shifted(0, 0), shifted(0, GAP)
    assert torch.equal(gappy.scored[0, GAP:], without.scored[0, :-GAP])
    assert not bool(gappy.scored[0, : GAP + LAGS].any())
    assert torch.equal(gappy.scored[1:], without.scored[1:])


@torch.no_grad()
def test_a_readout_is_fitted_to_the_same_rows_behind_a_gap() -> None:
    models = []
    for gap in (0, GAP):
        models.append(base_of(shifted(0, 0)))
        fit_readout(models[-1], shifted(0, gap), shifted(1, gap), READOUT)
    (without, gappy) = ([*model.readout_parameters, *model.start_up.buffers()] for model in models)
    torch.testing.assert_close(gappy, without, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", ["echo_state", "last_value"])
def test_a_grouped_readout_is_fitted_to_the_same_rows_behind_a_gap(name: str, shared: bool) -> None:
    settings = GroupedSettings(lags=LAGS + 2, traces=(3.0,), count=5, direct=3, shared=shared)
    base = base_of(shifted(0, 0)) if name == "echo_state" else Persistence(dimension=2).double()
    fits = [fit_grouped(base, shifted(0, gap), shifted(1, gap), settings, generators_of(0)) for gap in (0, GAP)]
    (without, gappy) = ([fit.model.weight, fit.model.bias, fit.model.direct] for fit in fits)
    torch.testing.assert_close(gappy, without, rtol=1e-6, atol=1e-8)
    errors = [[(each.horizon, each.direct_error, each.iterated_error) for each in fit.horizons] for fit in fits]
    np.testing.assert_allclose(errors[1], errors[0], rtol=1e-6)
    naive = [naive_errors(shifted(1, gap), history=LAGS + 2, horizons=3, shared=shared) for gap in (0, GAP)]
    np.testing.assert_allclose(naive[1], naive[0], rtol=1e-12)


@pytest.mark.parametrize("name", ["linear", "auto", "grouped", "var"])
def test_a_forecaster_is_fitted_to_the_same_rows_behind_a_gap(name: str) -> None:
    """Four more rows leave the same number for validation."""
    made = {"linear": {"lags": 24}, "auto": {}, "grouped": {"lags": 6, "readout": "grouped"}}
    table = hourly_load(200)[["load", "heat"]]
    series = [table.to_numpy(), np.concatenate([np.full((4, 2), np.nan), table.to_numpy()])]
    fits = [
        (VARForecaster() if name == "var" else EchoStateForecaster(units=10, **made[name])).fit(each) for each in series
    ]
    assert fits[1].chosen_ == fits[0].chosen_
    np.testing.assert_allclose(fits[1].predict(12), fits[0].predict(12), rtol=1e-6)
