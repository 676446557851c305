"""Times of working days, from Monday to Friday, of which some are missing, as holidays are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from models.forecasting.index.kinds import holds_periods

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ROWS = 15  # of working days: three weeks
MOST_TOGETHER = 5  # missing working days side by side, as where all is closed for a week
MOST_MISSING = 0.1  # of all working days from the first row to the last
WORKING_DAYS = 'asfreq("B")'  # the call of pandas that fills them
CHANGE_OF_CLOCKS = np.timedelta64(1, "h")  # of the time of day in UTC, where a zone has summer time


def skips_working_days(times: pd.DatetimeIndex) -> bool:
    """Says whether ascending dates are those of working days, from Monday to Friday, of which some may be
    missing, as holidays are.

    They are where `FEWEST_ROWS` or more of them are `near_working_days`, and no more than a share of `MOST_MISSING` of
    all is missing.
    """
    if len(times) < FEWEST_ROWS or not near_working_days(times):
        return False
    days = times.tz_localize(None).to_numpy().astype("datetime64[D]")
    steps = int(np.busday_count(days[0], days[-1]))
    return steps - (len(times) - 1) <= MOST_MISSING * steps


def near_working_days(times: pd.DatetimeIndex) -> bool:
    """Says whether dates ascend on Monday to Friday, one a day, at times of day that differ by at most
    `CHANGE_OF_CLOCKS`, with no more than `MOST_TOGETHER` days missing side by side."""
    clocks = times.tz_localize(None).to_numpy()
    days = clocks.astype("datetime64[D]")
    if not np.is_busday(days).all() or np.ptp(clocks - days) > CHANGE_OF_CLOCKS:
        return False
    steps = np.busday_count(days[:-1], days[1:])
    return bool(((steps > 0) & (steps <= 1 + MOST_TOGETHER)).all())


def fill_call(index: Any) -> str:
    """Returns the call of pandas that puts rows in for those that an index misses, with its frequency where the index
    has working days at one time of day, as it keeps no other. Of periods `asfreq` would make others, and of spans of
    time none."""
    if holds_periods(index):
        return "reindex"
    if index.dtype.kind == "m":
        return 'resample("STEP").asfreq()'
    working = index.dtype.kind == "M" and skips_working_days(index) and len(set(index.time)) == 1
    return WORKING_DAYS if working else "asfreq"
