"""Times of an index in the zone of the data fitted to, so that hours of the day and seasons mean the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from models.forecasting.estimator_input import Group


def in_zone(groups: Iterable[Group], tails: Sequence[Any], name: str) -> list[Group]:
    """Returns series with their times in the zone of those in `tails`, the ends of indices of the data fitted to.

    Times in a zone of one of these stay in it, others are brought to the first; other indices stay as they are.
    Raises ValueError for times with a zone where those of the data have none, and for times without beside such with.
    """
    zones = [tail.tz for tail in tails if _has_times(tail)]
    return [
        replace(group, index=_converted(group.index, zones, name)) if zones and _has_times(group.index) else group
        for group in groups
    ]


def _has_times(index: Any) -> bool:
    return index is not None and index.dtype.kind == "M"


def _converted(index: Any, zones: Sequence[Any], name: str) -> Any:
    zone = next((zone for zone in zones if str(zone) == str(index.tz)), zones[0])
    if index.tz is None and zone is not None:
        raise ValueError(
            f"the times in the index of {name} have no zone, and those of the data fitted to are in {zone}; give them "
            "theirs with tz_localize"
        )
    if index.tz is not None and zone is None:
        raise ValueError(
            f"the times in the index of {name} are in the zone {index.tz}, and those of the data fitted to have none; "
            "take it off with tz_localize(None), after tz_convert to the zone that the data were in"
        )
    return index if zone is None else index.tz_convert(zone)
