"""Times with a zone: read and kept in UTC, written and gone on with in the zone that they came in."""

from __future__ import annotations

import re
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from data.base import DataError
from data.tables.times import times_after, uneven

OFFSET = re.compile(r"[T ].*(Z|[+-]\d\d(?::?\d\d)?)\s*$")  # behind a time of day
DAY = np.timedelta64(1, "D")


def zone_of(frame: pd.DataFrame, path: Path, time: str, passed: np.ndarray) -> tzinfo | None:
    """Returns the zone of the dates in a column: that of its type, the offset that all texts have, or UTC where their
    offsets differ; None for dates without a zone and for numbers. passed: rows, bool (row,), that need no time.

    Raises DataError with the row of the first date without a zone where others have one.
    """
    column: Any = frame[time]
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return column.dtype.tz
    if not (pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)):
        return None
    found = (OFFSET.search(str(cell)) for cell in column)
    offsets = pd.Series([own.group(1) if own else None for own in found], dtype=object)
    bare = offsets.isna().to_numpy()
    if bare.all():
        return None
    bad = np.flatnonzero(bare & ~passed)
    if len(bad):
        cell = str(column.iloc[bad[0]])
        raise DataError(
            f"{path}, column {time!r}, row {bad[0] + 2}: {cell!r} has no zone, and other times have one; write it, as "
            "in 2024-01-31T12:00+01:00"
        )
    several = offsets.nunique() > 1
    return UTC if several else pd.Timestamp(str(column.iloc[int(bare.argmin())]).strip()).tz


def in_zone(times: np.ndarray, zone: tzinfo | None) -> Any:
    """Returns times (row,) in UTC as a DatetimeIndex in a zone; as they are where there is none."""
    return times if zone is None else pd.DatetimeIndex(times).tz_localize("UTC").tz_convert(zone)


def clocks_of(times: np.ndarray, zone: tzinfo | None) -> np.ndarray:
    """Returns times (row,) in UTC as clocks of a zone show them, by which they go on: where clocks are never changed,
    or steps are of a day or longer. Others are returned as they are."""
    if zone is None:
        return times
    clocks = in_zone(times, zone).tz_localize(None).to_numpy()
    return clocks if zone.utcoffset(None) is not None or np.median(np.diff(clocks)) >= DAY else times


def uneven_in(times: np.ndarray, zone: tzinfo | None) -> bool:
    """Returns `uneven` of times (row,) in UTC, on the clocks by which they go on."""
    return uneven(clocks_of(times, zone))


def times_after_in(times: np.ndarray, count: int, zone: tzinfo | None) -> Any:
    """Returns `times_after` of times (row,) in UTC, (count,), in the zone that they came in, where there is one: days,
    working days and months are those of the zone. A time that the clocks skip is the first after it, and of two that
    they show alike it is the first."""
    clocks = clocks_of(times, zone)
    later = times_after(clocks, count)
    if clocks is times:
        return in_zone(later, zone)
    twice = np.ones(count, dtype=bool)
    return pd.DatetimeIndex(later).tz_localize(zone, ambiguous=twice, nonexistent="shift_forward")
