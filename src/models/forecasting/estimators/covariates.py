"""Which columns of a person's data a forecaster observes, which it forecasts, and what it knows of the rows to come."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from models.forecasting.estimators.calendar import (
    CYCLES,
    PLACES,
    RowClock,
    calendar_waves,
    clock_of,
    cycles_that_fit,
    names_of_waves,
    needed_times,
    season_waves,
    seconds_apart,
)
from models.forecasting.estimators.input import Rows, called_otherwise, is_label
from models.forecasting.frame import NEXT_ROW
from models.runtime.parameters import shown


class Columns(NamedTuple):
    """Says what the columns of the data are for.

    targets: those that are forecast. others: those that are observed beside them, and forecast where steps feed on
    one another. known: the covariates, whose values to come are given. cycles, season: what is known of every row
    without being given, see `models.forecasting.estimators.calendar`. clock: which number a row has in its season.
    step: of the rows fitted to, in seconds, where there are cycles; 0 in files of before, which have all harmonics.
    """

    targets: tuple[Any, ...]
    others: tuple[Any, ...] = ()
    known: tuple[Any, ...] = ()
    cycles: tuple[str, ...] = ()
    season: int | None = None
    clock: RowClock = RowClock()
    step: float = 0.0

    @property
    def observed(self) -> tuple[Any, ...]:
        """Returns the labels of the columns of which a row to come is not known."""
        return (*self.targets, *self.others)

    @property
    def labels(self) -> tuple[Any, ...]:
        """Returns the labels of all columns that the data must have."""
        return (*self.observed, *self.known)

    @property
    def by_times(self) -> bool:
        """Says whether the calendar or the season go by the times of an index."""
        return bool(self.cycles) or (self.season is not None and self.clock.unit in PLACES)

    @property
    def leads(self) -> int:
        """Returns how many columns of a row as the model sees it tell of the row after it."""
        return len(self.known) + len(names_of_waves(self.cycles, self.step, self.season))

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names of the columns as the model sees them: what is known of the row after is called so."""
        led = (*self.known, *names_of_waves(self.cycles, self.step, self.season))
        return (*map(str, self.observed), *(f"{name}{NEXT_ROW}" for name in led))

    def known_rows(self, covariates: np.ndarray, index: Any, *, first: int) -> np.ndarray:
        """Returns what is known of rows whatever is observed in them: (time, leads).

        covariates (time, known); index: of the rows; first: the number of the first of them in its series.
        """
        parts = [covariates, calendar_waves(index, self.cycles, self.step)] if self.cycles else [covariates]
        if self.season is not None:
            parts.append(season_waves(self.clock.row_numbers(index, len(covariates), first=first), self.season))
        return np.concatenate(parts, axis=1)


def as_labels(given: Any, name: str) -> tuple[Any, ...]:
    """Returns a label, or several, as a tuple of texts and whole numbers of Python's own, from an array or index too.
    Raises TypeError for what is neither, a truth value among them."""
    if given is None:
        return ()
    several = _of_python(given)
    labels = tuple(map(_of_python, several)) if isinstance(several, Sequence) and not is_label(several) else (several,)
    if not all(map(is_label, labels)):
        raise TypeError(f"{name} must be the name of a column or a list of names, got {shown(given)}")
    if len(set(labels)) < len(labels):
        raise ValueError(f"{name} names a column twice: {', '.join(map(str, labels))}")
    return labels


def _of_python(given: Any) -> Any:
    """Returns numbers of NumPy, arrays and indexes as numbers and lists of Python's own; anything else as it is."""
    return given.tolist() if hasattr(given, "tolist") else given


def check_calendar(calendar: Any) -> None:
    """Raises ValueError or TypeError unless it is None, "auto" or a list of the names in
    `models.forecasting.estimators.calendar.CYCLES`."""
    if calendar is None or (isinstance(calendar, str) and calendar == "auto"):
        return
    if isinstance(calendar, str) or not isinstance(calendar, Sequence):
        raise TypeError(f'calendar must be "auto" or a list such as ["hour", "weekday"], got {shown(calendar)}')
    unknown = [name for name in calendar if name not in list(CYCLES)]
    if unknown:
        raise ValueError(f"calendar knows {', '.join(CYCLES)}, got {', '.join(map(str, unknown))}")
    if len(set(calendar)) < len(calendar):
        raise ValueError(f"calendar names a cycle twice: {', '.join(calendar)}; name each once")


def columns_of(rows: Rows, *, target: Any, covariates: Any, calendar: Any, season: int | None) -> Columns:
    """Returns the roles of the columns of the data.

    target: what is forecast, None for all but the covariates. calendar: names of cycles, or "auto" for those that the
    index of the longest series tells apart. Raises ValueError for a label that is not there or has two roles, and for
    a calendar without times.
    """
    known, targets = as_labels(covariates, "covariates"), as_labels(target, "target")
    if target is not None and not targets:
        raise ValueError("target names no column; name those to forecast, or leave it None for all")
    _check_roles(rows.labels, known, targets)
    free = tuple(label for label in rows.labels if label not in known)
    targets = targets or free
    if not targets:
        raise ValueError("every column is a covariate; leave one to forecast")
    others = tuple(label for label in free if label not in targets)
    longest = max(rows.groups, key=lambda group: len(group.values)).index
    cycles = _cycles(longest, calendar)
    step = seconds_apart(longest) if cycles else 0.0
    return Columns(targets, others, known, cycles, season, clock_of(longest), step)


class FromStart(NamedTuple):
    """Holds series that begin with the first row of the data fitted to, so that their place in a season is known."""

    data: Any


def _check_roles(labels: Sequence[Any], known: Sequence[Any], targets: Sequence[Any]) -> None:
    for name, chosen in (("covariates", known), ("target", targets)):
        absent = [label for label in chosen if label not in labels]
        if absent:
            otherwise = called_otherwise(absent, labels)
            meant = f"; did you mean {otherwise}?" if otherwise else ""
            raise ValueError(
                f"{name} names {', '.join(map(shown, absent))}; the columns are {', '.join(map(str, labels))}{meant}"
            )
    both = [label for label in targets if label in known]
    if both:
        raise ValueError(f"{both[0]} is both target and covariate; what is known ahead need not be forecast")


def _cycles(index: Any, calendar: Any) -> tuple[str, ...]:
    if calendar is None:
        return ()
    if calendar == "auto":
        cycles = cycles_that_fit(index)
        if not cycles:
            warnings.warn(
                'calendar="auto" tells the model of no cycle: one needs two whole cycles of at least 4 rows each in '
                "the index; leave calendar out, or give more rows",
                stacklevel=7,
            )
        return cycles
    if calendar:
        needed_times(index)
    return tuple(calendar)
