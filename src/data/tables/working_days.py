"""Dates of working days, from Monday to Friday, of which some are missing, as holidays are."""

from __future__ import annotations

import numpy as np

FEWEST_ROWS = 15  # three weeks
MOST_TOGETHER = 5  # missing working days side by side, as where all is closed for a week
MOST_MISSING = 0.1  # of all working days from the first row to the last
CHANGE_OF_CLOCKS = np.timedelta64(1, "h")  # of the time of day in UTC, where a zone has summer time


def working_day_steps(times: np.ndarray) -> np.ndarray | None:
    """Returns how many working days lie between neighbours of ascending dates (row,), as whole numbers (row - 1,): 1,
    and more where some are missing. None where the dates are not those of working days.

    They are where all `FEWEST_ROWS` or more lie on Monday to Friday, one a day, at times of day that differ by at most
    `CHANGE_OF_CLOCKS`, no more than `MOST_TOGETHER` days are missing side by side, and no more than a share of
    `MOST_MISSING` of all.
    """
    if times.dtype.kind != "M" or len(times) < FEWEST_ROWS:
        return None
    days = times.astype("datetime64[D]")
    if not np.is_busday(days).all() or np.ptp(times - days) > CHANGE_OF_CLOCKS:
        return None
    steps = np.busday_count(days[:-1], days[1:])
    few = steps.min() > 0 and steps.max() <= 1 + MOST_TOGETHER and (steps - 1).sum() <= MOST_MISSING * steps.sum()
    return steps if few else None


def working_days_after(last: np.datetime64, count: int) -> np.ndarray:
    """Returns the working days after a date, at its time of day, (count,)."""
    day = last.astype("datetime64[D]")
    return np.busday_offset(day, np.arange(1, count + 1), roll="backward") + (last - day)
