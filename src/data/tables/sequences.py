"""`data=table`: the user's own table (CSV, Parquet, NPZ) as sequences."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from data.base import DataError, Dataset, Sequences
from data.files.column_names import column_name, column_names
from data.files.table_files import Table, TextFormat, existing_file, read_frame
from data.ranges import Seed, Share
from data.split import split_sequences
from data.tables.columns import Use, numbers
from data.tables.features import feature_columns
from data.tables.spikes import warn_of_spike
from data.tables.spreads import warn_of_spreads
from data.tables.taken_names import TAKEN, refuse_taken, refuse_taken_time
from data.tables.times import as_numbers, in_words, may_be_times, never_falls, read_times
from data.tables.zones import in_zone, uneven_in, working_day_steps_in, zone_of

IRREGULAR = 1.5
SOURCE = "table:"  # begins what `Dataset.source` says of such a file


def in_time_order(rows: np.ndarray, times: np.ndarray, path: Path, label: str) -> np.ndarray:
    """Sorts the rows of one sequence by time, times (row,) being those of the whole table, in UTC where they came in a
    zone. Raises DataError for a time that stands twice."""
    ordered = rows[np.argsort(times[rows], kind="stable")]
    twice = np.flatnonzero(np.diff(as_numbers(times[ordered])) == 0)
    if len(twice):
        row = ordered[twice[0] + 1] + 2
        raise DataError(
            f"{path}, row {row}: the same time stands twice in {label}; keep one of the rows, or give",
            give={"group": "COLUMN"},
        )
    return ordered


class LongSteps(NamedTuple):
    """Holds how many of the steps between times are long, the place of the time at which the first of them ends, and
    whether steps are of working days."""

    long: int
    steps: int
    place: int
    working: bool


def long_steps(times: np.ndarray, zone: tzinfo | None) -> LongSteps | None:
    """Returns what is known of the steps between the times (row,) of a sequence that are longer than `IRREGULAR` of the
    median: of working days where one is missing, as a weekend is none. None where none is too long."""
    steps = np.diff(as_numbers(times))
    if not (len(steps) and (steps > IRREGULAR * np.median(steps)).any() and uneven_in(times, zone)):
        return None
    working = working_day_steps_in(times, zone)
    steps = steps if working is None else working
    long = np.flatnonzero(steps > IRREGULAR * np.median(steps))
    return LongSteps(len(long), len(steps), int(long[0]) + 1, working is not None) if len(long) else None


def warn_of_uneven_steps(
    parts: Mapping[str, np.ndarray], times: np.ndarray, path: Path, zone: tzinfo | None, group: str | None
) -> None:
    """Warns once of sequences with steps that are too long (`long_steps`), by the first of them.

    parts: by name the places in the file, (row,), of its rows in the order of their times. group: the column that tells
    them apart; None where a file has none."""
    found = {label: steps for label, rows in parts.items() if (steps := long_steps(times[rows], zone)) is not None}
    if not found:
        return
    label, first = next(iter(found.items()))
    row, others = parts[label][first.place], len(found) - 1
    more = f", and {others} more sequence{'s have' if others > 1 else ' has'} such steps" if others else ""
    missing = "rows of working days" if first.working else "rows"
    alone = "the time" if group is None else f"{group!r} and the time"
    warnings.warn(
        f"{path}, {label}: time steps are uneven and are treated as equal; {first.long} of {first.steps} "
        f"{'are' if first.long > 1 else 'is'} long, the first ends in row {row + 2}, at "
        f"{in_words(in_zone(times[row : row + 1], zone)[0])}{more}; where {missing} are missing, put in one with "
        f"{alone} alone for each",
        stacklevel=2,
    )


def warn_of_times(values: np.ndarray, parts: Sequence[np.ndarray], path: Path, columns: Sequence[str]) -> None:
    """Warns of the first of several columns that may say when, in values (row, column); parts: rows of each
    sequence. Nothing is said of a column that `refuse_taken` refuses."""
    alone = sum(never_falls(own, parts) for own in values.T) == 1
    named = zip(columns, values.T, strict=True)
    name = next((name for name, own in named if may_be_times(own, parts, alone=alone)), None)
    if name is not None and len(columns) > 1 and name not in TAKEN:
        warnings.warn(
            f"{path}: column {name!r} rises in every row and is forecast like the others; if it says when, name it as "
            "time",
            stacklevel=2,
        )


def passed_over(frame: pd.DataFrame, group: str | None, time: str | None) -> np.ndarray:
    """Returns which empty rows are no steps, bool (row,): all where a time says when the others are, those between two
    groups where there are groups, else none."""
    empty = frame.isna().all(axis=1).to_numpy()
    if time is not None or not empty.any():
        return empty
    if group is None:
        return np.zeros(len(frame), dtype=bool)
    return empty & (frame[group].ffill() != frame[group].bfill()).to_numpy()


def refuse_missing_groups(frame: pd.DataFrame, path: Path, group: str, passed: np.ndarray) -> None:
    """Raises DataError for the first row without a group that is not passed over, bool (row,), and for a blank line
    within a group."""
    missing = np.flatnonzero(frame[group].isna().to_numpy() & ~passed)
    if not len(missing):
        return
    told = "the group is empty; fill it in or drop the row"
    if frame.iloc[missing[0]].isna().all():
        told = "a blank line within a group; delete it, or where it is a step without values write the group in it"
    raise DataError(f"{path}, column {group!r}, row {missing[0] + 2}: {told}")


def rows_by_group(groups: Any) -> dict[str, np.ndarray]:
    """Returns by the name of each group, in order of appearance, the places (row,) of its rows in their order. Rows
    without a group are in none."""
    codes, labels = pd.factorize(groups)  # -1 is no group
    _, *parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes + 1, minlength=1))[:-1])
    return {str(label): rows for label, rows in zip(labels, parts, strict=True)}


def warn_of_blank_lines(table: Table, path: Path) -> None:
    """Warns of blank lines between rows, which are steps without values where no group and no time says otherwise."""
    if table.blank.between:
        more = f", as {table.blank.between} are" if table.blank.between > 1 else ""
        warnings.warn(
            f"{path}, row {table.blank.first}: a blank line is read as a step without values{more}; delete those that "
            "are no steps",
            stacklevel=4,
        )


def sequences_of(
    frame: pd.DataFrame,
    path: Path,
    columns: Sequence[str],
    *,
    group: str | None,
    time: str | None,
    use: Use,
) -> Sequences:
    """Returns one sequence per value of `group`, in order of appearance; all rows are one sequence without it."""
    values = numbers(frame, path, columns, use._replace(orders=group is None and time is None))
    passed = passed_over(frame, group, time)
    if not use.of_model:
        warn_of_spike(values, path, columns)
    if group is None:
        parts = {path.name.split(".")[0]: np.flatnonzero(~passed)}
    else:
        refuse_missing_groups(frame, path, group, passed)
        parts = rows_by_group(frame[group])
    if not use.of_model:
        warn_of_spreads({label: values[rows] for label, rows in parts.items()}, path, columns, group)
    if time is None:
        if not use.of_model:
            warn_of_times(values, list(parts.values()), path, columns)
        return Sequences.from_arrays([values[rows] for rows in parts.values()], list(parts), len(columns))
    times = read_times(frame, path, time, use.decimal, passed, of_model=use.of_model)
    zone = zone_of(frame, path, time, passed) if times.dtype.kind == "M" else None
    parts = {label: in_time_order(rows, times, path, label) for label, rows in parts.items()}
    warn_of_uneven_steps(parts, times, path, zone, group)
    sequences = Sequences.from_arrays([values[rows] for rows in parts.values()], list(parts), len(columns))
    return replace(sequences, times=tuple(times[rows] for rows in parts.values()), zone=zone)


def read_sequences(
    path: str | None,
    *,
    columns: Sequence[str] | None,
    group: str | None = None,
    time: str | None = None,
    delimiter: str | None = None,
    decimal: str = "point",
) -> Sequences:
    """Returns the sequences of a file, not split. Raises DataError (one line: file, column, row) for what cannot be
    read."""
    return _read(path, TextFormat(delimiter, decimal), columns=columns, group=group, time=time)[0]


def read_new_sequences(
    path: str | None, text: TextFormat, *, columns: Sequence[str], group: str | None = None, time: str | None = None
) -> Sequences:
    """Returns the sequences of a file for a fitted model, whose columns these are: one of them may be without a value.
    Raises DataError as `read_sequences`."""
    return _read(path, text, columns=columns, group=group, time=time, of_model=True)[0]


def _read(
    path: str | None,
    text: TextFormat,
    *,
    columns: Sequence[str] | None,
    group: str | None,
    time: str | None,
    of_model: bool = False,
) -> tuple[Sequences, list[str], Path]:
    file = existing_file(path)
    text = text._replace(texts=(group,) if group else ())
    table = read_frame(file, text)
    group = group or table.group
    if group is None and time is None:
        warn_of_blank_lines(table, file)
    others = {name for name in (group, time) if name}
    chosen = feature_columns(table, file, column_names(columns), others)
    use = Use.of_file(file, text, of_model=of_model)
    return sequences_of(table.frame, file, chosen, group=group, time=time, use=use), chosen, file


def units_of(units: object, names: Sequence[str], file: Path) -> tuple[str, ...]:
    """Returns the unit of each column, "" where none is given. Raises DataError for units that are not given by column,
    and for a column that the file does not have."""
    if not isinstance(units, dict | None):
        example = {"units": {names[0]: units}}
        raise DataError(f"units={units} names no column; give each its unit, as in", give=example)
    named = {column_name(name, "units"): unit for name, unit in (units or {}).items()}
    unknown = sorted(set(named) - set(names))
    if unknown:
        raise DataError(f"units names {', '.join(unknown)}, which is no column of {file}")
    return tuple(named.get(name, "") for name in names)


def load_table(
    *,
    path: str | None = None,
    columns: list[str] | None = None,
    group: str | None = None,
    time: str | None = None,
    split: str = "time",
    validation: Share = 0.1,
    test: Share = 0.2,
    seed: Seed = 0,
    units: dict[str, str] | None = None,
    delimiter: str | None = None,
    decimal: str = "point",
) -> Dataset:
    """Reads a table of the user's: columns are features, rows time steps, empty cells gaps.

    columns: None takes every column but group, time and an index. group: one sequence per value. time: sort by it.
    split, validation, test, seed: see `data.split.split_sequences`. units: column → unit, for figures and tables.
    delimiter, decimal: of a text file, see `data.files.table_files.TextFormat`.
    Raises DataError (one line: file, column, row) for what cannot be read or split.
    """
    group, time = column_name(group, "group"), column_name(time, "time")
    refuse_taken_time(path, time)
    sequences, names, file = _read(path, TextFormat(delimiter, decimal), columns=columns, group=group, time=time)
    refuse_taken(names, time, file)
    parts = split_sequences(sequences, how=split, validation=validation, test=test, seed=seed)
    told = units_of(units, names, file)
    return Dataset(
        name=file.name.split(".")[0],
        train=parts[0],
        validation=parts[1],
        test=parts[2],
        feature_names=tuple(names),
        units=told,
        source=f"{SOURCE}{file.name}",
        time_name=time,
        group_name=group,
        cut_in_time=split == "time",
    )
