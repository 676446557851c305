"""Where a forecaster stands in a series: its state, moved on by new rows in time that grows with these alone."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.forecasting.divergence import warn_if_diverged
from models.forecasting.estimators.covariates import Columns
from models.forecasting.estimators.input import TAIL, Group, as_range
from models.forecasting.estimators.late_rows import longest_step
from models.forecasting.estimators.series_units import in_units, restored
from models.forecasting.estimators.zones import in_clocks
from models.forecasting.filtering import State, begun_along, filter_sequences, moved_by
from models.forecasting.forecaster import Forecaster
from models.forecasting.held_out import rows_seen
from models.forecasting.index.steps import goes_by
from models.forecasting.known_ahead import KnownAhead, as_seen_by, led, with_gaps
from models.forecasting.rolling import roll
from models.runtime.threads import threads_for

if TYPE_CHECKING:
    import pandas as pd

    from models.numerics.standardisation import Standardisation

BLOCK = 4096  # rows whose states are held at once


class Position(NamedTuple):
    """Says where a series ends: the state before its last row, what was observed in that row, (column,) in the units
    that the forecaster takes, how many rows there were, the end of its index, the zone that clocks are read in and the
    units of the series (`Group.zone`, `Group.units`), and the longest step of its index (`late_rows.longest_step`).

    The last row waits, because what is known of the row after it belongs to it (`models.forecasting.known_ahead`).
    """

    state: State
    last: np.ndarray
    rows: int
    tail: pd.Index | None
    zone: Any = None
    units: Standardisation | None = None
    longest: float = 0.0


def moved_on(model: Any, state: State, values: Tensor, mask: Tensor) -> State:
    """Returns the state after rows (time, d), standardised, of which the mask says what was observed."""
    for rows, observed in zip(values.split(BLOCK), mask.split(BLOCK), strict=True):
        if len(rows):
            filtered = filter_sequences(model, rows.unsqueeze(0), observed.unsqueeze(0), state)
            last = tuple(part[:, -1] for part in filtered.states)
            state = moved_by(model, last, filtered.filled[:, -1], begun_along(observed.unsqueeze(0))[:, -1])
    return tuple(part.clone() for part in state)


@torch.no_grad()
def begun(forecaster: Forecaster, columns: Columns, group: Group) -> Position:
    """Returns the position at the end of a series. group: its columns are `Columns.labels`."""
    model: Any = forecaster.model
    start = Position(model.initial_state(1), np.empty(0), 0, None, units=group.units)
    return moved(forecaster, columns, start, group)


def positions_of(forecaster: Forecaster, columns: Columns, groups: Iterable[Group]) -> dict[Any, Position]:
    """Returns the positions at the ends of several series, by their keys."""
    with threads_for(forecaster.model):
        return {group.key: begun(forecaster, columns, group) for group in groups}


def say_short(columns: Columns, groups: Collection[Group], history: int, *, stacklevel: int) -> None:
    """Warns where fewer than `history` rows of a series were seen, see `rows_seen`."""
    observed = len(columns.observed)
    short = sum(rows_seen(group.values[:, :observed]) < history for group in groups)
    if short:
        warnings.warn(
            f"{short} of {len(groups)} series of X {'have' if short > 1 else 'has'} fewer rows than the {history} "
            "that the model wants (history_), so that a simpler forecast stands in for its own; give more rows",
            stacklevel=stacklevel,
        )


@torch.no_grad()
def moved(forecaster: Forecaster, columns: Columns, position: Position, group: Group) -> Position:
    """Returns the position after more rows of the series, which `position` is left as it was for."""
    seen = len(columns.observed)
    observed, covariates = in_units(group.values[:, :seen], position.units), group.values[:, seen:]
    known = columns.known_rows(covariates, in_clocks(group.index, group.zone), first=position.rows)
    if position.rows:
        observed = np.concatenate([position.last[np.newaxis], observed])
        known = np.concatenate([np.zeros((1, known.shape[1])), known])
    rows = as_seen_by(forecaster.model, position.state, led(observed, known, known[-1])[:-1], columns.leads)
    state = moved_on(forecaster.model, position.state, *forecaster.standardised(rows))
    tail = longer_tail(position.tail, group.index)
    rows_seen = position.rows + len(group.values)
    longest = longest_step(position.longest, position.tail, group.index)
    return Position(state, observed[-1].copy(), rows_seen, tail, group.zone, position.units, longest)


def longer_tail(tail: Any, index: Any) -> Any:
    """Returns the end of an index that goes on with another one; both may be None."""
    if index is None or tail is None or not len(tail):
        return None if index is None else as_range(index[-TAIL:])
    import pandas as pd

    both = tail.append(index)
    if isinstance(both, pd.DatetimeIndex) and both.freq is None and goes_by(both, tail.freq):
        with contextlib.suppress(ValueError):  # times that do not go on by it
            both = pd.DatetimeIndex(both, freq=tail.freq)
    return as_range(both)[-TAIL:]


@torch.no_grad()
def forecast(forecaster: Forecaster, columns: Columns, position: Position, known: np.ndarray) -> np.ndarray:
    """Returns the forecast (horizon, target) from a position, in the data's own units.

    known (horizon, leads): what is known of the rows to come. Raises ValueError where it is not finite, and warns where
    it diverges (`models.forecasting.divergence`).
    """
    row = np.concatenate([position.last, known[0]])[np.newaxis]
    values, mask = forecaster.standardised(as_seen_by(forecaster.model, position.state, row, columns.leads))
    ahead: Any = KnownAhead(forecaster.model, columns.leads)  # pyright: ignore[reportArgumentType]
    state = moved_on(forecaster.model, position.state, values, mask)
    own = len(position.last)
    rows = np.pad(known[1:], ((0, 0), (own, 0)), constant_values=np.nan)
    to_come = with_gaps(*forecaster.standardised(rows))[:, own:]
    rolled = roll(ahead, ahead.with_known(state, to_come.unsqueeze(0)), len(known))[0]
    forecasts = restored(forecaster.in_own_units(rolled)[:, : len(columns.targets)], position.units)
    if not np.isfinite(forecasts).all():
        step = int(np.argmin(np.isfinite(forecasts).all(1))) + 1
        raise ValueError(
            f"the forecast diverges {step} step{'s' * (step > 1)} ahead; ask for fewer steps or fit another model"
        )
    warn_if_diverged(rolled[:, : len(columns.targets)], stacklevel=5)
    return forecasts
