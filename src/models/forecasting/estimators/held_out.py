"""The part of the data that a forecaster is not fitted to: it chooses, and it tells how far forecasts are off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from models.forecasting.estimators.covariates import Columns
from models.forecasting.estimators.input import Group
from models.forecasting.estimators.series_units import in_units
from models.forecasting.estimators.zones import in_clocks
from models.forecasting.filtering import MaskedSequences, filter_sequences
from models.forecasting.forecaster import Forecaster
from models.forecasting.known_ahead import KnownAhead, as_seen_by, known_windows, led, with_gaps
from models.forecasting.rolling import forecast_from_everywhere
from models.forecasting.series import padded
from models.numerics.standardisation import Standardisation

MOST_ORIGINS = 1000  # forecasts of the held-out part whose errors are looked at, evenly spaced


class HeldOut(NamedTuple):
    """Holds rows (time, d) as the model sees them, in the units that the forecaster takes, and the first that is held
    out: the rows before it are there for the state and for lags."""

    rows: np.ndarray
    first: int


def rows_of(columns: Columns, group: Group) -> np.ndarray:
    """Returns the rows of a series as the model sees them, (time, observed + leads), the observed columns in its own
    units where it has them.

    The row after the last is not there: what is known of it is taken to be as of the last. No row depends on it.
    """
    seen = len(columns.observed)
    known = columns.known_rows(group.values[:, seen:], in_clocks(group.index, group.zone), first=0)
    return led(in_units(group.values[:, :seen], group.units), known, known[-1])


def cut(rows: np.ndarray, *, share: float, context: int) -> tuple[np.ndarray, HeldOut]:
    """Returns the rows to fit to, and the last `share` of the rows with `context` of those before it, as far as there
    are so many."""
    end = len(rows) - round(share * len(rows))
    begin = max(0, end - context)
    return rows[:end], HeldOut(rows[begin:], end - begin)


def scored_parts(parts: Sequence[HeldOut], units: Standardisation, *, columns: int) -> MaskedSequences:
    """Returns the parts as standardised sequences, scored in the first `columns` columns from where they are held
    out."""
    values, mask = padded([part.rows for part in parts])
    scored = mask.clone()
    for place, part in enumerate(parts):
        scored[place, : part.first] = False
    scored[:, :, columns:] = False
    return MaskedSequences(torch.where(mask, units.apply(values), 0.0), mask, scored)


def origins_of(part: HeldOut) -> np.ndarray:
    """Returns the rows that forecasts of the held-out part begin at, at most `MOST_ORIGINS`, evenly spaced."""
    origins = np.arange(max(1, part.first), len(part.rows))
    if len(origins) <= MOST_ORIGINS:
        return origins
    return origins[np.arange(MOST_ORIGINS) * (len(origins) - 1) // (MOST_ORIGINS - 1)]


def spacing_of(part: HeldOut) -> np.ndarray:
    """Returns how many rows lie between each of `origins_of` and the next, in the mean, (origin,)."""
    origins = origins_of(part)
    apart = (origins[-1] - origins[0]) / (len(origins) - 1) if len(origins) > 1 else 1.0
    return np.full(len(origins), apart)


@torch.no_grad()
def forecasts_from(
    forecaster: Forecaster, columns: Columns, rows: np.ndarray, origins: np.ndarray, horizon: int
) -> np.ndarray:
    """Returns forecasts (origin, horizon, target) in the units of the rows, each from the rows before its origin and
    what is known of those after it.

    rows (time, d): as `rows_of` makes them. What is known beyond the end is taken to be the mean; a gap in what is
    known before it is as the model itself predicts it.
    """
    model: Any = forecaster.model
    values, mask = forecaster.standardised(as_seen_by(model, model.initial_state(1), rows, columns.leads))
    states = filter_sequences(model, values.unsqueeze(0), mask.unsqueeze(0)).states
    chosen = tuple(part[:, origins] for part in states)
    given = with_gaps(*forecaster.standardised(rows))
    known = known_windows(given, columns.leads, horizon)[origins].unsqueeze(0)
    ahead: Any = KnownAhead(model, columns.leads)
    rolled = forecast_from_everywhere(ahead, (*chosen, known), horizon)[0]
    return forecaster.in_own_units(rolled)[..., : len(columns.targets)]
