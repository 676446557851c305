"""Times of an index beside those of the data fitted to: in which zone they go on, and in which clocks are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from models.forecasting.estimators.input import Group
from models.forecasting.index.steps import step_of


def beside(groups: Iterable[Group], tails: Sequence[Any], *, by_times: bool) -> list[Group]:
    """Returns series of X in the zone that their rows go on in, and with the one that calendar and season read
    (`Group.zone`): that of `tails`, the ends of indices of the data fitted to, or of the first of these.

    Times stay in their own zone, and are brought to that of the data where only there they begin days or have a step.
    Rows that begin days of their own zone, as the data do in theirs, are read as these days. by_times: whether calendar
    or season go by times; then times with a zone beside such without raise ValueError, and else they are left alone.
    """
    timed = [tail for tail in tails if _has_times(tail)]
    return [_beside(group, timed, by_times) if timed and _has_times(group.index) else group for group in groups]


def in_zone(groups: Iterable[Group], tails: Sequence[Any], name: str) -> list[Group]:
    """Returns series with their times in the zone of those in `tails`, the ends of indices that they go on from.

    Times in a zone of one of these stay in it, others are brought to the first; other indices stay as they are.
    Raises ValueError for times with a zone where those of the data have none, and for times without beside such with.
    """
    timed = [tail for tail in tails if _has_times(tail)]
    return [
        replace(group, index=_converted(group.index, timed, name)) if timed and _has_times(group.index) else group
        for group in groups
    ]


def in_clocks(index: Any, zone: Any) -> Any:
    """Returns times as clocks of a zone show them; an index as it is where there is none."""
    return index if zone is None or index is None else index.tz_convert(zone)


def _has_times(index: Any) -> bool:
    return index is not None and index.dtype.kind == "M"


def _beside(group: Group, tails: Sequence[Any], by_times: bool) -> Group:
    index: Any = group.index
    zone = _zone_beside(index, tails)
    if (index.tz is None) != (zone is None):
        if by_times:
            _refuse_mixed(index, zone, "X")
        return group
    if zone is None or str(zone) == str(index.tz) or all(map(_begins_days, (index, *tails))):
        return group
    return replace(group, index=_goes_on(index, zone), zone=zone)


def _zone_beside(index: Any, tails: Sequence[Any]) -> Any:
    zones = [tail.tz for tail in tails]
    return next((zone for zone in zones if str(zone) == str(index.tz)), zones[0])


def _goes_on(index: Any, zone: Any) -> Any:
    for told in (_begins_days, _tells_step):
        for times in (index, index.tz_convert(zone)):
            if told(times):
                return times
    return index


def _begins_days(times: Any) -> bool:
    clocks = times.tz_localize(None)
    return bool((clocks == clocks.normalize()).all())


def _tells_step(times: Any) -> bool:
    return step_of(times) is not None


def _converted(index: Any, tails: Sequence[Any], name: str) -> Any:
    zone = _zone_beside(index, tails)
    if (index.tz is None) != (zone is None):
        _refuse_mixed(index, zone, name)
    return in_clocks(index, zone)


def _refuse_mixed(index: Any, zone: Any, name: str) -> None:
    if index.tz is None:
        raise ValueError(
            f"the times in the index of {name} have no zone, and those of the data are in {zone}; give them theirs, "
            f"tz_localize('UTC') or tz_localize('{zone}'), with ambiguous='infer' where clocks are put back"
        )
    raise ValueError(
        f"the times in the index of {name} are in the zone {index.tz}, and those of the data have none; take it off "
        "with tz_localize(None), after tz_convert to the zone that the data were in; where clocks are put back, bring "
        "both to UTC with tz_convert('UTC') first"
    )
