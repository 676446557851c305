"""A forecaster whose readout is solved again on all rows, with what the held-out ones have chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.forecasting.estimators.held_out import rows_of
from models.forecasting.estimators.input import Group
from models.forecasting.estimators.learnt import Learnt
from models.forecasting.fitting import Problem
from models.forecasting.forecaster import Forecaster
from models.forecasting.known_ahead import from_first
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.series import FIRST_SCORED, standardised
from models.runtime.threads import threads_for

READOUT = ReadoutSettings(0, [], "none")  # lags and ridges are those chosen


def refitted(estimator: Any, learnt: Learnt, groups: Sequence[Group]) -> Learnt:
    """Returns it with the model solved again on all rows of the series, in the units and with the choices that it has;
    the residuals stay those of the model before."""
    before, columns = learnt.forecaster, learnt.columns
    series = [from_first(rows_of(columns, group), columns.leads) for group in groups]
    rows = standardised(series, before.units, first_step=FIRST_SCORED)
    with threads_for(before.model):
        model = estimator._solved_again(before.model, learnt.chosen, Problem.again(rows, READOUT))
    after = Forecaster(model, mean=before.mean, scale=before.scale, feature_names=before.feature_names)
    return learnt._replace(forecaster=after, held_out_from=before)
