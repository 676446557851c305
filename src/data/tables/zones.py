"""Times with a zone: read and kept in UTC, written and gone on with in the zone that they came in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from data.base import DataError
from data.tables.times import times_after, uneven
from data.tables.working_days import working_day_steps

OFFSET = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)$")
LONGEST_OFFSET = 6  # characters: +01:00
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
    offsets = offsets_of([str(cell).strip() for cell in column.to_numpy(object)])
    bare = np.array([offset is None for offset in offsets])
    if bare.all():
        return None
    bad = np.flatnonzero(bare & ~passed)
    if len(bad):
        cell = str(column.iloc[bad[0]])
        raise DataError(
            f"{path}, column {time!r}, row {bad[0] + 2}: {cell!r} has no zone, and other times have one; write it, as "
            "in 2024-01-31T12:00+01:00"
        )
    several = len({*offsets} - {None}) > 1
    return UTC if several else pd.Timestamp(str(column.iloc[int(bare.argmin())]).strip()).tz


def offsets_of(texts: Sequence[str]) -> list[str | None]:
    """Returns what says the zone at the end of each date with a time of day, None where nothing does. Each ending is
    looked at once."""
    searched = {end: OFFSET.search(end) for end in {text[-LONGEST_OFFSET:] for text in texts}}
    known = {end: found.group() for end, found in searched.items() if found}
    if not known:
        return [None] * len(texts)
    return [known.get(text[-LONGEST_OFFSET:]) if "T" in text or " " in text else None for text in texts]


def in_zone(times: np.ndarray, zone: tzinfo | None) -> Any:
    """Returns times (row,) in UTC as a DatetimeIndex in a zone; as they are where there is none."""
    return times if zone is None else pd.DatetimeIndex(times).tz_localize("UTC").tz_convert(zone)


def clocks_of(times: np.ndarray, zone: tzinfo | None) -> np.ndarray:
    """Returns times (row,) in UTC as clocks of a zone show them, by which they go on: where clocks are never changed,
    or steps are of a day or longer. Others, and a time alone, are returned as they are."""
    if zone is None or len(times) < 2:
        return times
    clocks = in_zone(times, zone).tz_localize(None).to_numpy()
    return clocks if zone.utcoffset(None) is not None or np.median(np.diff(clocks)) >= DAY else times


def uneven_in(times: np.ndarray, zone: tzinfo | None) -> bool:
    """Returns `uneven` of times (row,) in UTC, on the clocks by which they go on."""
    return uneven(clocks_of(times, zone))


def working_day_steps_in(times: np.ndarray, zone: tzinfo | None) -> np.ndarray | None:
    """Returns `working_day_steps` of times (row,) in UTC, on the clocks by which they go on."""
    return working_day_steps(clocks_of(times, zone))


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
