"""What people hand to an estimator, tables and arrays, checked and brought to arrays of rows by group; and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from models.forecasting.frame import is_frame, is_row
from models.forecasting.numeric_columns import column_values
from models.runtime.arrays import for_numpy

if TYPE_CHECKING:
    import pandas as pd

    from models.numerics.standardisation import Standardisation

Kind = Literal["frame", "array", "vector"]
Grouping = Literal["one", "list", "groups"]
TAIL = 64  # rows of an index that are kept, to go on from
KINDS = {"frame": "a table of pandas", "array": "an array (time, feature)", "vector": "an array (time,)"}


class Form(NamedTuple):
    """Says how data came, so that results go back alike.

    kind: a table of pandas, an array (time, feature) or a vector (time,). grouping: one series, a list of them, or a
    table whose index has the group as its first level, called `group_name`.
    """

    kind: Kind
    grouping: Grouping
    group_name: Any = None


@dataclass(frozen=True, eq=False)
class Group:
    """Holds one series: its key (a place in the list, or the group's name), values (time, column), NaN where nothing
    was observed, the index of its rows (None for an array), the zone that calendar and season read its times in
    (None: as they are), and the units of its observed columns (None: those that all series share)."""

    key: Any
    values: np.ndarray
    index: pd.Index | None
    zone: Any = None
    units: Standardisation | None = None

    def followed_by(self, later: Group) -> Group:
        """Returns the series with later rows of its own after it."""
        index = None if self.index is None or later.index is None else as_range(self.index.append(later.index))
        return replace(self, values=np.concatenate([self.values, later.values]), index=index)


class Rows(NamedTuple):
    """Holds all series that were handed over, the labels of their columns, and the form that they came in."""

    groups: list[Group]
    labels: tuple[Any, ...]
    form: Form

    def followed_by(self, later: Rows) -> Rows:
        """Returns the series with the rows of `later`, of the same columns, after their own."""
        more = {group.key: group for group in later.groups}
        groups = [group.followed_by(more[group.key]) if group.key in more else group for group in self.groups]
        return self._replace(groups=groups)


def read(data: Any, *, name: str = "X", labels: Sequence[Any] | None = None) -> Rows:
    """Returns the data as arrays of doubles (time, column) by group.

    data: a table of pandas, an array (time, feature) or (time,), or a list of either; a table whose index has two
    levels has the group as the first one. labels: the columns that are wanted, in this order; others of a table are
    left aside. Without them all are taken.
    Raises TypeError for what is no such data, and ValueError for data without rows or columns, with an infinite value,
    a column without numbers, a column that is missing or there twice, and an index with a time twice or out of order.
    """
    if data is None or isinstance(data, str | bytes | dict):
        raise TypeError(f"{name} must be a table of pandas, an array (time, feature) or a list of them, got {_a(data)}")
    if is_frame(data):
        return _read_frame(data, name, labels)
    if is_row(data):  # a pandas.Series of values in time
        return _read_frame(_as_table(data, labels), name, labels)
    if isinstance(data, list | tuple) and any(hasattr(part, "shape") and part.shape != () for part in data):
        return _read_list(data, name, labels)
    return _read_array(data, name, labels)


def _a(data: Any) -> str:
    return "None" if data is None else f"a {type(data).__name__}"


def _as_table(series: pd.Series, labels: Sequence[Any] | None) -> pd.DataFrame:
    if labels is not None and len(labels) == 1:
        return series.to_frame(labels[0])
    return series.to_frame("value" if series.name is None else series.name)


def _read_list(data: Sequence[Any], name: str, labels: Sequence[Any] | None) -> Rows:
    parts = []
    for place, part in enumerate(data):
        rows = read(part, name=f"{name}[{place}]", labels=labels)
        if rows.form.grouping != "one":
            raise ValueError(
                f"{name}[{place}] holds several series; give a list of single ones, or one table of groups"
            )
        if labels is None:
            labels = rows.labels
        if parts and rows.form.kind != parts[0].form.kind:
            raise ValueError(
                f"{name}[{place}] is {KINDS[rows.form.kind]} and {name}[0] {KINDS[parts[0].form.kind]}; give one kind"
            )
        parts.append(rows)
    groups = [replace(part.groups[0], key=place) for place, part in enumerate(parts)]
    return Rows(groups, parts[0].labels, Form(parts[0].form.kind, "list"))


def _read_array(data: Any, name: str, labels: Sequence[Any] | None) -> Rows:
    values = array_of_numbers(data, name)
    kind: Kind = "vector" if values.ndim == 1 else "array"
    values = values[:, np.newaxis] if values.ndim == 1 else values
    if values.ndim != 2 or not values.shape[1]:
        raise ValueError(f"{name} must be (time, feature) or (time,), got shape {np.shape(data)}")
    own = tuple(range(values.shape[1]))
    if labels is not None and len(labels) != len(own):
        several = "s" * (len(labels) > 1)
        raise ValueError(f"{name} must have {len(labels)} column{several}, named {_list(labels)}, got {len(own)}")
    used = own if labels is None else tuple(labels)
    check_values(values, used, name)
    return Rows([Group(0, values, None)], used, Form(kind, "one"))


def array_of_numbers(data: Any, name: str) -> np.ndarray:
    """Returns the data as an array of doubles. Raises TypeError where it holds no numbers."""
    try:
        array = np.asarray(for_numpy(data))
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; give (time, feature), or a list of arrays") from None
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind == "O" and not any(isinstance(part, str | bytes) for part in array.flat):
        try:
            return array.astype(np.float64)  # None is a gap
        except (TypeError, ValueError, OverflowError):
            pass
    raise TypeError(f"{name} must hold numbers, got {array.dtype} ({_a(data)}); a gap is NaN")


def check_values(values: np.ndarray, labels: Sequence[Any], name: str) -> None:
    """Raises ValueError for no rows, and for an infinite value; it names the row and the column."""
    if not len(values):
        raise ValueError(f"{name} has no rows")
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise ValueError(
            f"{name} has an infinite value in row {row} of column {labels[column]}; mend it or leave it NaN"
        )


def _list(labels: Iterable[Any]) -> str:
    return ", ".join(map(str, labels))


def called_otherwise(wanted: Sequence[Any], present: Sequence[Any]) -> str:
    """Returns how columns are called that are wanted by numbers and there by texts, or the other way round, as in
    "'1', '2' (texts, not numbers)"; nothing where a column is there by neither."""
    by_text = {str(label): label for label in present}
    if not all(str(label) in by_text for label in wanted):
        return ""
    kinds = ["number", "text"] if isinstance(wanted[0], str) else ["text", "number"]
    own, other = (kind + "s" for kind in kinds) if len(wanted) > 1 else (f"a {kind}" for kind in kinds)
    return f"{', '.join(repr(by_text[str(label)]) for label in wanted)} ({own}, not {other})"


def _read_frame(frame: pd.DataFrame, name: str, labels: Sequence[Any] | None) -> Rows:
    labels = check_labels(frame, name) if labels is None else tuple(labels)
    _check_present(frame, labels, name)
    values = np.column_stack([column_values(frame.loc[:, label], name) for label in labels])
    check_values(values, labels, name)
    if frame.index.nlevels == 1:
        return Rows([Group(0, values, check_index(frame.index, name, alone=True))], labels, Form("frame", "one"))
    if frame.index.nlevels > 2:
        raise ValueError(f"the index of {name} has {frame.index.nlevels} levels; give (group, time), or the time alone")
    return _read_groups(frame.index, values, labels, name)


def _read_groups(index: Any, values: np.ndarray, labels: tuple[Any, ...], name: str) -> Rows:
    keys = index.get_level_values(0)
    if keys.hasnans:
        raise ValueError(f"{name} has a row without a group in its index; name its group or leave it out")
    groups, times = [], index.get_level_values(1)
    places, names = keys.factorize()
    by_group = np.split(np.argsort(places, kind="stable"), np.cumsum(np.bincount(places))[:-1])
    for key, rows in zip(names, by_group, strict=True):
        groups.append(Group(key, values[rows], check_index(times[rows], f"group {key} of {name}")))
    return Rows(groups, labels, Form("frame", "groups", index.names[0]))


def is_label(given: Any) -> bool:
    """Says whether a column may be called so: a text or a whole number, which a truth value is not."""
    return isinstance(given, str | int) and not isinstance(given, bool)


def check_labels(frame: pd.DataFrame, name: str) -> tuple[Any, ...]:
    """Returns the names of a table's columns. Raises ValueError for none, for several levels, and for names that are
    neither texts nor whole numbers, or differ by that alone."""
    if frame.columns.nlevels > 1:
        raise ValueError(f"the columns of {name} have {frame.columns.nlevels} levels; give names of one level")
    labels = tuple(int(label) if isinstance(label, np.integer) else label for label in frame.columns)
    if not labels:
        raise ValueError(f"{name} has no columns")
    wrong = [label for label in labels if not is_label(label)]
    if wrong:
        raise ValueError(f"a column of {name} is called {wrong[0]!r}; name columns by texts or whole numbers")
    if len(set(map(str, labels))) < len(set(labels)):
        raise ValueError(f"{name} has a column called by a number and one by the same text; rename one of them")
    return labels


def _check_present(frame: pd.DataFrame, labels: Sequence[Any], name: str) -> None:
    present = list(frame.columns)
    absent = [label for label in labels if label not in present]
    if otherwise := called_otherwise(absent, present) if absent else "":
        kind = "str" if isinstance(absent[0], str) else "int"
        raise ValueError(
            f"{name} has no column {', '.join(map(repr, absent))}, but {otherwise}; call its columns as in fit, with "
            f"rename(columns={kind}) where all are such"
        )
    if absent:
        raise ValueError(f"{name} has no column {_list(absent)}; it needs {_list(labels)} and has {_list(present)}")
    twice = [label for label in labels if present.count(label) > 1]
    if twice:
        raise ValueError(f"{name} has the column {_list(dict.fromkeys(twice))} twice; leave one out")


def check_index(index: Any, name: str, *, alone: bool = False) -> pd.Index:
    """Returns the index of a table's rows; whole numbers in even steps as a range.

    alone: of a table without groups, which may be several series one below the other.
    Raises ValueError for a row without a time, for a time that is there twice, and for one before the row above.
    """
    import pandas as pd

    if index.hasnans:
        raise ValueError(f"the index of {name} is empty in row {int(np.argmax(index.isna()))}; give each row its time")
    if index.has_duplicates:
        row = int(np.argmax(index.duplicated()))
        several = ", or, for several series, set_index([group, time])" if alone else ""
        raise ValueError(
            f"the index of {name} has {index[row]} twice (again in row {row}); keep one row of each{several}"
        )
    ordered = index.dtype.kind in "iufMm" or isinstance(index, pd.PeriodIndex) or index.inferred_type == "date"
    if ordered and not index.is_monotonic_increasing:
        row = int(np.argmax(np.asarray(index[1:] < index[:-1]))) + 1
        raise ValueError(f"the index of {name} goes backwards at {index[row]} (row {row}); sort the table by its index")
    return as_range(index)


def as_range(index: Any) -> Any:
    """Returns an index of whole numbers in even steps as a range; any other as it is."""
    import pandas as pd

    if isinstance(index, pd.RangeIndex) or index.dtype.kind not in "iu" or not len(index):
        return index
    steps = np.unique(np.diff(index.to_numpy()))
    if len(steps) > 1:
        return index
    step, first = int(steps[0]) if len(steps) else 1, int(index[0])
    return pd.RangeIndex(first, first + step * len(index), step, name=index.name)


def of_labels(rows: Rows, labels: Sequence[Any]) -> list[Group]:
    """Returns the series with these of their columns, in this order."""
    order = [rows.labels.index(label) for label in labels]
    return [replace(group, values=group.values[:, order]) for group in rows.groups]


def handed_back(
    results: Sequence[np.ndarray], keys: Sequence[Any], indices: Sequence[Any], columns: Sequence[Any], form: Form
) -> Any:
    """Returns results (time, column) by group in the form in which the data came.

    A vector has the shape (time,) where there is one column.
    """
    if form.kind == "frame":
        import pandas as pd

        frames = [
            pd.DataFrame(values, index=index, columns=list(columns))
            for values, index in zip(results, indices, strict=True)
        ]
        if form.grouping == "groups":
            inner = indices[0].name if len(indices) else None
            return pd.concat(frames, keys=list(keys), names=[form.group_name, inner])
        return frames if form.grouping == "list" else frames[0]
    vector = form.kind == "vector" and len(columns) == 1
    arrays = [values[:, 0] if vector else values for values in results]
    return arrays if form.grouping == "list" else arrays[0]
