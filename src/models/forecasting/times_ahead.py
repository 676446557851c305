"""The times of a forecast that is served: those of the rows that were sent, gone on with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from models.forecasting.index.steps import index_after

if TYPE_CHECKING:
    import pandas as pd


DIGITS = {"%Y%m%d": 10_000, "%Y%m": 100}  # how a date is written as a number, and what its year is multiplied by
FIRST_YEAR, LAST_YEAR = 1800, 2200


class NoZone(ValueError):
    """Says that a date has no zone and others beside it have one."""


def dates_in(column: pd.Series) -> pd.Series:
    """Returns a column of dates, or of texts that are dates by ISO 8601; in UTC where these end in unequal offsets, as
    they do across a change of clocks.

    Raises ValueError for a text that is no date, and for one without a zone where others have one.
    """
    import pandas as pd

    with suppress(ValueError):
        return pd.to_datetime(column, format="ISO8601")
    dates = pd.to_datetime(column, format="ISO8601", utc=True)
    named = column[dates.notna()]
    bare = next((text for text in named if pd.Timestamp(text).tz is None), None)
    if bare is not None:
        raise NoZone(
            f"column {column.name}: {bare!r} has no zone, and other times have one; write it, as in "
            "2024-01-31T12:00+01:00"
        )
    return dates


def dates_of_digits(numbers: Any) -> pd.DatetimeIndex | None:
    """Returns numbers as dates where each has the digits of a day (20240131) or each those of a month (202401) from
    1800 to 2200; None for other numbers."""
    import pandas as pd

    for form, factor in DIGITS.items():
        years = numbers // factor
        if not (numbers % 1 == 0).all() or years.min() < FIRST_YEAR or years.max() > LAST_YEAR:
            continue
        dates = pd.DatetimeIndex(pd.to_datetime(numbers.astype(int).astype(str), format=form, errors="coerce"))
        if not dates.hasnans:
            return dates
    return None


def read_times(column: pd.Series, *, dates: bool | None = None) -> pd.Index:
    """Returns times as they came in a column: numbers, dates, or texts that are dates by ISO 8601, see `dates_in`.

    dates: whether the times of the training data were dates; numbers are then read as `dates_of_digits`. None where it
    is not known.
    Raises ValueError, in one line, for anything else, for a time that is missing, for a date without a zone beside
    others with one and for numbers that are no dates where these are wanted.
    """
    import pandas as pd

    refused = ValueError(f"column {column.name} must hold a time in each row: 2026-01-31 12:00, or a number")
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    texts = all(isinstance(entry, str) for entry in column)
    if not (numbers or texts or pd.api.types.is_datetime64_any_dtype(column)):
        raise refused
    try:
        times = pd.Index(column.astype(float) if numbers else dates_in(column))
    except NoZone:
        raise
    except (ValueError, TypeError):
        raise refused from None
    if times.isna().any():
        raise refused
    if not (numbers and dates):
        return times
    days = dates_of_digits(times)
    if days is None:
        raise ValueError(
            f"column {column.name} holds numbers, and the training data had dates; send texts as 2024-01-31"
        )
    return days


def refuse_disorder(times: Any) -> None:
    """Raises ValueError, naming the first, for a time that is not after the one before it."""
    late = np.flatnonzero(times[1:] <= times[:-1])
    if len(late):
        raise ValueError(
            f"the times go backwards or stand twice at {times[late[0] + 1]}; give rows in time order, each time once"
        )


def times_after(times: Any, horizon: int) -> pd.Index:
    """Returns the `horizon` times after the last one: dates by their own step (days, working days, whole months), by
    working days where some are missing, else by the median step; not a time (NaT, NaN) after a single one.

    Raises ValueError for times that go backwards or stand twice.
    """
    import pandas as pd

    refuse_disorder(times)
    if isinstance(times, pd.DatetimeIndex):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that they are uneven: here they go on by the median step
            later = index_after(times, horizon)
        if isinstance(later, pd.DatetimeIndex):
            return later
    if len(times) < 2:
        return pd.Index([times[0]] * horizon).where(np.zeros(horizon, bool))
    step = pd.Series(times).diff().median()
    return pd.Index([times[-1] + step * k for k in range(1, horizon + 1)])


def as_written(later: Sequence[Any], seen: Sequence[Any]) -> list[str | None]:
    """Returns dates of a forecast as texts by ISO 8601, one sequence after the other, None for what is not a time.

    later, seen: the dates of each sequence of the forecast, and of the rows before it. They are written without a time
    of day where all of both are midnights without a zone, and with fractions of a second where one has them.
    """
    import pandas as pd

    every = [dates.dropna() for dates in (*later, *seen)]
    if all(dates.tz is None and (dates == dates.normalize()).all() for dates in every):
        return [None if time is pd.NaT else str(time.date()) for dates in later for time in dates]
    below = ("nanosecond", "microsecond")
    finest = next((part for part in below if any(getattr(dates, part).any() for dates in every)), "second")
    return [None if time is pd.NaT else time.isoformat(" ", f"{finest}s") for dates in later for time in dates]


def times_ahead(sequences: Sequence[Any], horizon: int, *, as_texts: bool) -> list[Any]:
    """Returns the times of `horizon` rows after each sequence of times, one sequence after the other.

    as_texts: dates are given as texts, see `as_written`; None stands for what is not a time.
    """
    later = [times_after(times, horizon) for times in sequences]
    return as_written(later, sequences) if as_texts else [time for own in later for time in own]
