"""The time column of a table: dates as dates, also those of digits alone, and other numbers as they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from data.base import DataError
from data.files.cells import numbers_of, said_of_cell
from data.tables.digit_dates import FEWEST_DATES, dates_of_digits, refuse_dates_gone_wrong, warn_of_counts
from data.tables.working_days import working_day_steps, working_days_after

FEWEST_STEPS = 9
UNEVEN = 1e-3  # of the step: two that differ by more are not the same
UNEQUAL = 10.0  # times the median step: a longer one is of a running total, not of times


def read_times(
    frame: pd.DataFrame,
    path: Path,
    time: str,
    decimal: str = ".",
    passed: np.ndarray | None = None,
    *,
    of_model: bool = False,
) -> np.ndarray:
    """Returns the times (row,) as float64, or datetime64 for dates, and for numbers that `dates_of_digits` knows as
    dates; dates with a zone are given in UTC. decimal: what parts the decimals of numbers that are texts. passed: rows,
    bool (row,), that need no time. of_model: one or two numbers may be days too, and nothing is said of numbers that
    may be dates. Periods are the time at which they begin.

    Raises DataError with the row of the first cell that is neither a finite number nor an ISO date, or of the first
    number that is no date where nine of ten are. Warns where it is not sure that numbers are dates.
    """
    column: Any = frame[time]
    column = column.dt.to_timestamp() if isinstance(column.dtype, pd.PeriodDtype) else column
    needed = np.ones(len(column), dtype=bool) if passed is None else ~passed
    dated = column.dtype.kind == "M"
    times = np.full(len(column), np.nan) if dated else numbers_of(column, decimal)
    if np.isnan(times).all():
        dates: Any = pd.to_datetime(column, errors="coerce", utc=True, format=None if dated else "ISO8601")
        times = dates.dt.tz_localize(None).to_numpy()
    bad = np.flatnonzero(needed & ~np.isfinite(times))
    if len(bad):
        row = bad[0]
        cell = str(column.iloc[row])
        raise DataError(
            f"{path}, column {time!r}, row {row + 2}: {cell!r} is neither a finite number nor an ISO date"
            f"{said_of_cell(cell, decimal)}"
        )
    if times.dtype.kind == "M":
        return times
    digits = dates_of_digits(times[needed], fewest=1 if of_model else FEWEST_DATES)
    if digits is None:
        refuse_dates_gone_wrong(np.where(needed, times, np.nan), path, time)
        return times
    if not of_model:
        warn_of_counts(times[needed], path, time)
    times = np.full(len(column), np.datetime64("NaT"), dtype=digits.dtype)
    times[needed] = digits
    return times


def never_falls(values: np.ndarray, parts: Iterable[np.ndarray]) -> bool:
    """Returns true when numbers (row,), NaN for a gap, rise somewhere and fall nowhere in any part (rows of one
    sequence, in order), as times and running totals do."""
    steps = np.concatenate([np.diff(values[rows][~np.isnan(values[rows])]) for rows in parts])
    return bool((steps >= 0).all() and (steps > 0).any())


def may_be_times(values: np.ndarray, parts: Iterable[np.ndarray], *, alone: bool) -> bool:
    """Returns true when numbers (row,) may say when: in each part (rows of one sequence, in order) they rise from row
    to row by one step, up to a thousandth of it. Whole numbers may rise by steps of up to ten times the median, where
    the column is alone in falling nowhere: several are running totals. Fewer than ten rows tell nothing."""
    steps = np.concatenate([np.diff(values[rows]) for rows in parts])
    if len(steps) < FEWEST_STEPS or not (steps > 0).all():
        return False
    step = float(np.median(steps))
    whole = alone and bool((values == np.round(values)).all())
    return bool((np.abs(steps - step) <= UNEVEN * step).all()) or (whole and float(steps.max()) <= UNEQUAL * step)


def as_numbers(times: np.ndarray) -> np.ndarray:
    """Returns the times as float64 (row,): dates as seconds since the first of them."""
    return (times - times.min()) / np.timedelta64(1, "s") if times.dtype.kind == "M" else times


def in_words(time: Any) -> str:
    """Returns one of the times as text: a date as ISO has it, without a time of day where that is midnight."""
    if not isinstance(time, np.datetime64 | pd.Timestamp):
        return f"{time:.15g}"
    return str(pd.Timestamp(time)).removesuffix(" 00:00:00")


def months_apart(dates: Any) -> int | None:
    """Returns how many months lie between neighbours that are all on one day of the month or all at its end; None
    else."""
    gaps = set(np.diff(dates.year * 12 + dates.month).tolist())
    regular = len(gaps) == 1 and (bool(dates.is_month_end.all()) or len(set(dates.day)) == 1)
    return gaps.pop() if regular and 0 not in gaps else None


def calendar_step(dates: pd.DatetimeIndex) -> Any:
    """Returns the step that pandas sees in three dates or more; None where it sees none, or one that they do not go on
    by, such as its working hours from 9 to 17 in those of any day of eight hours."""
    if len(dates) < 3:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pandas 3 announces that it will be an object, not a text
        step = dates.inferred_freq
    if step is None or not pd.date_range(dates[0], periods=len(dates), freq=step).equals(dates):
        return None
    return step if isinstance(step, str) else step.freqstr


def uneven(times: np.ndarray) -> bool:
    """Returns true when the times have no one step, so that they can go on by the median step at best.

    One step is the same between all of them (of numbers to a millionth), or a calendar's.
    """
    if len(times) < 3:
        return False
    if times.dtype.kind == "M":
        dates = pd.DatetimeIndex(times)
        return calendar_step(dates) is None and months_apart(dates) is None and len(set(np.diff(times).tolist())) > 1
    steps = np.diff(times)
    return not np.allclose(steps, np.median(steps), rtol=1e-6, atol=0.0)


def times_after(times: np.ndarray, count: int) -> np.ndarray:
    """Returns the times after the last one, (count,), by the median step; of dates by the step that pandas sees in
    them (days, working days, ends of months, …), or by whole months, where there is one, and by working days where
    some are missing (`working_day_steps`).

    Not a time (NaN, NaT) after a single one, which has no step.
    """
    if len(times) < 2:
        return np.full(count, np.nan if times.dtype.kind == "f" else np.datetime64("NaT"), dtype=times.dtype)
    dates = pd.DatetimeIndex(times) if times.dtype.kind == "M" else None
    step = None if dates is None else calendar_step(dates)
    if dates is not None and step is not None:
        return pd.date_range(dates[-1], periods=count + 1, freq=step)[1:].to_numpy().astype(times.dtype)
    months = None if dates is None else months_apart(dates)
    if months is None and working_day_steps(times) is not None:
        return working_days_after(times[-1], count).astype(times.dtype)
    if dates is None or months is None:
        return times[-1] + np.median(np.diff(times)) * np.arange(1, count + 1)
    later = [dates[-1] + pd.DateOffset(months=months * k) for k in range(1, count + 1)]
    index: Any = dates
    ends = bool(index.is_month_end.all())
    return np.array([day + pd.offsets.MonthEnd(0) if ends else day for day in later], dtype=times.dtype)
