"""A forecaster whose readout is solved again on all rows, with what the held-out ones have chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from torch import nn

from models.forecasting.estimators.held_out import rows_of
from models.forecasting.estimators.input import Group
from models.forecasting.estimators.learnt import Learnt
from models.forecasting.filtering import MaskedSequences
from models.forecasting.forecaster import Forecaster
from models.forecasting.known_ahead import from_first
from models.forecasting.readout import fit_readout
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.forecasting.series import FIRST_SCORED, standardised
from models.runtime.threads import threads_for


def refitted(estimator: Any, learnt: Learnt, groups: Sequence[Group]) -> Learnt:
    """Returns it with the model solved again on all rows of the series, in the units and with the choices that it has;
    the residuals stay those of the model before."""
    before, columns = learnt.forecaster, learnt.columns
    series = [from_first(rows_of(columns, group), columns.leads) for group in groups]
    rows = standardised(series, before.units, first_step=FIRST_SCORED)
    with threads_for(before.model):
        model = estimator._solved_again(before.model, learnt.chosen, rows)
    after = Forecaster(model, mean=before.mean, scale=before.scale, feature_names=before.feature_names)
    return learnt._replace(forecaster=after, held_out_from=before)


def readout_solved_again(model: Recurrent, chosen: Mapping[str, Any], rows: MaskedSequences) -> nn.Module:
    """Returns a copy of the model with its readout solved along all the rows, with the lags and ridges chosen."""
    again = deepcopy(model)
    fit_readout(again, rows, rows, ReadoutSettings(model.lags, [], "none").only(chosen))
    return again
