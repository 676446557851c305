"""Rows that come after those that a forecaster was fitted to: whether they follow, and what is known of them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from models.forecasting.estimators.covariates import Columns
from models.forecasting.estimators.even_steps import way_to_even_steps
from models.forecasting.estimators.input import KINDS, TAIL, Form, Group, Grouping, Rows, as_range, read
from models.forecasting.estimators.late_rows import begins_late, say_late
from models.forecasting.estimators.position import Position
from models.forecasting.estimators.zones import in_clocks, in_zone
from models.forecasting.index.kinds import contents, holds_periods, kind_of, only_counts
from models.forecasting.index.steps import UNEVEN, index_after, index_in_step, times_in
from models.forecasting.index.working_days import (
    MOST_TOGETHER,
    near_working_days,
    skips_working_days,
)

GROUPINGS = {"one": "", "list": ", one for each series in a list", "groups": " whose index has the group first"}


KNOWN = {
    "one": "one table or array",
    "list": "a list with a table or array for each series",
    "groups": "one table whose index has two levels, the group first and the time second",
}  # the covariates to come, by how the data came


def described(form: Form) -> str:
    """Returns in words how data came."""
    return KINDS[form.kind] + GROUPINGS[form.grouping]


def index_ahead(tail: Any, horizon: int, known: Any = None) -> Any:
    """Returns the index of the `horizon` rows after its end; None for None.

    Where these are uneven, which `fit` has warned of, it goes on by working days if such are all that is missing; else
    it counts 1, 2, …, and periods go on one after the other. known: the index of the covariates to come, whose times
    count for more than working days, and whose periods for more than the next ones.
    """
    if tail is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        later = index_after(tail, horizon)
    taken = _dated(later) and _dated(known) and told_ahead(tail, horizon) is None
    return known.rename(tail.name) if taken else later


def told_ahead(tail: Any, horizon: int) -> Any:
    """Returns the index of the `horizon` rows after its end where it tells that; None where it does not, so that those
    of `index_ahead` stand in for want of it."""
    return None if tail is None else index_in_step(tail, horizon)


def known_to_come(columns: Columns, position: Position, covariates: np.ndarray) -> np.ndarray:
    """Returns what is known of the rows after a position, (horizon, leads), with their covariates (horizon, covariate).

    Raises ValueError where calendar or season go by an index that does not tell these rows."""
    by_index = columns.cycles or columns.season is not None
    index = told_ahead(position.tail, len(covariates)) if by_index else None
    return columns.known_rows(covariates, in_clocks(index, position.zone), first=position.rows)


def check_goes_on(columns: Columns, groups: Sequence[Group], grouping: Grouping) -> None:
    """Raises ValueError where calendar or season go by an index whose end does not tell the one of the next row.

    grouping: how the series came.
    """
    by_numbers = columns.season is not None and columns.clock.unit == "numbers"
    indices = [group.index for group in groups if group.index is not None]
    for index in indices if columns.by_times or by_numbers else ():
        tail = as_range(index[-TAIL:])
        if not (_dated(told_ahead(tail, 1)) if columns.by_times else hasattr(tail, "step")):
            raise ValueError(
                f"calendar and season go by the index, which has no even step where it ends, at {index[-1]}, so they "
                f"are not known of the rows to come; {way_to_even_steps(index, indices, grouping)}, or leave both out"
            )


def known_ahead(
    given: Any, labels: Sequence[Any], positions: Mapping[Any, Position], horizon: int, form: Form
) -> dict[Any, Group]:
    """Returns the covariates of the rows to come, values (horizon, covariate), by series, with times in the zone of
    those that they come after.

    labels: of the covariates; positions: where the series end. Raises ValueError where they are missing, have
    gaps, or belong to other rows or series. Warns of such that begin late after an uneven end.
    """
    if not labels:
        if given is not None:
            raise ValueError("this forecaster was fitted without covariates; leave known out")
        return {key: Group(key, np.zeros((horizon, 0)), None) for key in positions}
    wanted = f"known must hold {_columns(labels)} for the {horizon} row{'s' * (horizon > 1)} to come"
    if given is None:
        raise ValueError(wanted)
    rows = read(given, name="known", labels=labels)
    groups = {group.key: group for group in rows.groups}
    if rows.form.grouping != form.grouping:
        raise ValueError(f"{wanted}, as {KNOWN[form.grouping]}; got {KNOWN[rows.form.grouping]}")
    _check_same_series(groups, positions, wanted)
    for key, position in positions.items():
        (groups[key],) = in_zone([groups[key]], [position.tail], "known")
        _check_known(groups[key], position.tail, horizon, wanted + f" of series {key}" * (len(positions) > 1))
    _say_late([groups[key] for key in positions], positions, "known", stacklevel=4)
    return {key: groups[key] for key in positions}


def _check_same_series(given: Collection[Any], positions: Collection[Any], wanted: str) -> None:
    """Raises ValueError where the keys of the series given are not those of the data."""
    more = [key for key in given if key not in positions]
    absent = [key for key in positions if key not in given]
    if more or absent:
        what = f"has series {more[0]}, which is none of them" if more else f"has no row of series {absent[0]}"
        raise ValueError(f"{wanted}, for each series of the data; it {what}")


def _columns(labels: Sequence[Any]) -> str:
    """Returns the names of columns, said to be such where one is a number, which else reads as a count."""
    noun = "" if all(isinstance(label, str) for label in labels) else f"column{'s' * (len(labels) > 1)} "
    return noun + ", ".join(map(str, labels))


def _check_known(group: Group, tail: Any, horizon: int, wanted: str) -> None:
    if len(group.values) != horizon:
        raise ValueError(f"{wanted}, got {len(group.values)} row{'s' * (len(group.values) != 1)}")
    gaps = np.isnan(group.values).any(1)
    if gaps.any():
        raise ValueError(f"{wanted}, and row {int(np.argmax(gaps))} has a gap; fill it")
    index, own = told_ahead(tail, horizon), group.index
    if index is None and own is not None and not _may_follow(own, tail):
        raise ValueError(
            f"{wanted}, with {_with_frequency(tail)} in its index after {tail[-1]}; it has {_with_frequency(own)}, "
            f"{own[0]} to {own[-1]}; give it theirs, or an array"
        )
    if index is None and own is not None and not _go_on_in_working_days(own, tail):
        raise ValueError(
            f"{wanted}, on working days at one time of day after {tail[-1]}, of which at most {MOST_TOGETHER} side by "
            f"side are left out; it has {own[0]} to {own[-1]}; give it theirs, or an array"
        )
    if index is None or own is None or _are_of(own, index, index[0] - tail[-1]):
        return
    if contents(own) != contents(index):
        raise ValueError(
            f"{wanted}, with {contents(index)} in its index, {index[0]} to {index[-1]}; it has {contents(own)}, "
            f"{own[0]} to {own[-1]}; give it theirs, or an array"
        )
    raise ValueError(f"{wanted}, {index[0]} to {index[-1]}; it has {own[0]} to {own[-1]}")


def _are_of(own: Any, index: Any, step: Any) -> bool:
    """Says whether rows are those of `index`; rows that are counted from 0 beside times, spans or
    fractions have none."""
    if _dated(own) and _dated(index):
        return list(own) == list(index)
    if contents(own) != contents(index):
        return only_counts(own)
    if index.dtype.kind == "f" and only_counts(own):
        return True
    own = own.astype(np.float64) if index.dtype.kind == "f" and own.dtype.kind != "f" else own
    return bool(_alike(own, index, step).all())


def _may_follow(own: Any, tail: Any) -> bool:
    """Says whether rows can come after an end that tells no step: times, periods and spans are followed by later ones
    of their kind and frequency, or by row numbers, as forecasts then have them; any rows may follow other ends."""
    if tail is None or not (_dated(tail) or tail.dtype.kind == "m") or contents(own) == "numbers":
        return True
    comparable = own.dtype == tail.dtype if holds_periods(tail) else contents(own) == contents(tail)
    return comparable and bool(tail[-1] < own[0])


def _go_on_in_working_days(own: Any, tail: Any) -> bool:
    """Says whether dates after an end of working days, of which some are missing, are such; other rows and ends need
    not be."""
    times = times_in(tail) if _dated(tail) and _dated(own) else None
    if times is None or not skips_working_days(times):
        return True
    days: Any = times_in(tail[-1:].append(own))
    return near_working_days(days)


def _with_frequency(index: Any) -> str:
    return f"periods ({index.freqstr})" if holds_periods(index) else contents(index)


def _dated(index: Any) -> bool:
    return index is not None and (index.dtype.kind == "M" or holds_periods(index))


def _named(index: Any) -> bool:
    """Says whether an index has no order to hold to."""
    return index.dtype.kind not in "iufMm" and not holds_periods(index)


def following(rows: Rows, form: Form, positions: Mapping[Any, Position]) -> Rows:
    """Returns rows that follow those seen so far, with times in the zone of these.

    Raises ValueError for rows of another form than the data, of series that there were none of, for rows that do not
    follow, and for times with a zone beside such without. Warns of rows that begin late where an uneven end does not
    tell the next one (`late_rows.begins_late`)."""
    if (rows.form.kind, rows.form.grouping) != (form.kind, form.grouping):
        raise ValueError(f"new_rows must come as X did in fit, as {described(form)}")
    if form.grouping == "list" and len(rows.groups) != len(positions):
        raise ValueError(f"new_rows has {len(rows.groups)} series, and X had {len(positions)}; give a part for each")
    groups = []
    for group in rows.groups:
        if group.key not in positions:
            raise ValueError(f"new_rows has the group {group.key}, which fit did not see; predict takes it as X")
        tail = positions[group.key].tail
        groups += in_zone([group], [tail], "new_rows")
        _check_follows(groups[-1], tail)
    _say_late(groups, positions, "new_rows", stacklevel=3)
    return rows._replace(groups=groups)


def _say_late(groups: Sequence[Group], positions: Mapping[Any, Position], name: str, *, stacklevel: int) -> None:
    """Warns of series that begin late after an end that does not tell the next row. Whether it does takes longest to
    see, and is asked last."""
    late = {}
    for group in groups:
        tail, longest = positions[group.key].tail, positions[group.key].longest
        further = group.index is not None and begins_late(group.index, tail, longest)
        if further and told_ahead(tail, 1) is None:
            late[group.key] = group.index, tail
    say_late(late, name, len(positions), stacklevel=stacklevel + 1)


def _check_follows(group: Group, tail: Any) -> None:
    if tail is None or group.index is None or not len(tail):
        return
    first: Any = group.index[0]
    last: Any = tail[-1]
    if kind_of(group.index) != kind_of(tail):
        raise ValueError(
            f"the index of new_rows begins with {first!r}, and that of X ends with {last!r}; give rows that follow"
        )
    if _named(tail):
        return
    if not last < first:
        raise ValueError(f"new_rows begins at {first}, and the rows so far end at {last}; give rows that follow")
    expected = told_ahead(tail, len(group.index))
    if expected is None:
        return
    differs = ~_alike(group.index, expected, expected[0] - last)
    if differs.any():
        row = int(np.argmax(differs))
        begins = f"new_rows goes on in row {row} at" if row else "new_rows begins at"
        raise ValueError(f"{begins} {group.index[row]}, not at {expected[row]}; put in empty rows for those in between")


def _alike(index: Any, expected: Any, step: Any) -> np.ndarray:
    """Returns which rows have the times or the numbers expected, fractions up to a thousandth of their step and to
    rounding, bool (row,)."""
    if expected.dtype.kind != "f":
        return np.asarray(index == expected)
    rounding = 4 * float(np.finfo(index.dtype).eps) * np.abs(np.asarray(expected))
    return np.abs(np.asarray(index - expected)) <= UNEVEN * abs(step) + rounding
