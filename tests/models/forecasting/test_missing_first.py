"""Series that begin with rows of which nothing was observed: as if these were not there, in forecasts and in fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hourly_load import HOURS, hourly_load
from models import EchoStateForecaster, PSRNNForecaster, VARForecaster

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
