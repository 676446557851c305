"""Series that a model was not fitted to: read, brought to the columns of the data fitted to, and checked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from models.forecasting.estimators.covariates import Columns, FromStart
from models.forecasting.estimators.even_steps import way_to_resample
from models.forecasting.estimators.input import Form, Group, Grouping, Rows, of_labels, read
from models.forecasting.estimators.learnt import Learnt
from models.forecasting.estimators.own_units import units_beside
from models.forecasting.estimators.position import Position
from models.forecasting.estimators.row_checks import say_uneven
from models.forecasting.estimators.zones import beside
from models.forecasting.index.kinds import contents, only_counts
from models.forecasting.index.row_steps import step_between
from models.forecasting.index.steps import step_of, times_in


def read_histories(data: Any, learnt: Learnt, positions: Mapping[Any, Position]) -> Rows:
    """Returns series that the model was not fitted to, or that begin as those it was fitted to (`FromStart`), with the
    columns in the order of `Columns.labels` and times as `models.forecasting.estimators.zones.beside` has them.

    An array has its columns in the order of the data fitted to (`Learnt.labels`), a table goes by their names.
    positions: where the data fitted to end. A series has the units of the one fitted to that it goes on from, by its
    name or as the only one without a name on both sides. Warns of uneven times where theirs are even, of an index
    without times where they have them, and of another step than theirs.
    Raises TypeError and ValueError as `models.forecasting.estimators.input.read` does, and ValueError for times with a
    zone beside such without where calendar or season go by them, and where the season counts the rows fitted to, so
    that it is not known which row of it the series begin in.
    """
    began = isinstance(data, FromStart)
    rows = read(data.data if began else data, labels=learnt.labels)
    tails = [position.tail for position in positions.values()]
    groups = beside(of_labels(rows, learnt.columns.labels), tails, by_times=learnt.columns.by_times)
    if not began:
        _check_season(learnt.columns, tails)
    if not learnt.uneven:
        say_uneven(groups, learnt.columns, rows.form.grouping, stacklevel=5)
    if not learnt.columns.by_times:  # else X is refused without them
        _say_other_kind(groups, tails)
    _say_other_step(groups, tails, rows.form.grouping)
    alike = began or _are_alike(rows.form, learnt.form, len(positions))
    groups = units_beside(groups, positions if alike else {})
    return rows._replace(groups=groups, labels=learnt.columns.labels)


def _are_alike(form: Form, fitted_to: Form, series: int) -> bool:
    """Says whether keys tell series of X as they tell those fitted to: both by names, or the only one on both sides."""
    if fitted_to.grouping == "groups":
        return form.grouping == "groups"
    return form.grouping == "one" and series == 1


def in_order_of(found: Any, data: Any, form: Form) -> Any:
    """Returns what `handed_back` made of every row of the data in the order of their rows, a table with their index."""
    if form.kind != "frame":
        return found
    data = data.data if isinstance(data, FromStart) else data
    if form.grouping == "list":
        return [each.set_axis(part.index) for each, part in zip(found, data, strict=True)]
    if form.grouping == "groups":
        by_group = np.argsort(data.index.get_level_values(0).factorize()[0], kind="stable")
        found = found.iloc[np.argsort(by_group)]
    return found.set_axis(data.index)


def _check_season(columns: Columns, tails: Sequence[Any]) -> None:
    if columns.season is None or columns.clock.unit != "rows":
        return
    if any(map(_has_unlike_steps, tails)):
        raise ValueError(
            "nothing says which row of the season X begins in: it counts the rows fitted to, as their times are in "
            'steps of unequal length; go on from their end with update, or fit with calendar="auto" in place of season'
        )
    raise ValueError(
        "nothing says which row of the season X begins in: the data fitted to have no index of times or row "
        "numbers in even steps; fit a table with one and give X with it, or go on from its end with update"
    )


def _has_unlike_steps(index: Any) -> bool:
    """Says whether an index holds times whose step pandas knows, of unequal length where rows are counted."""
    times = None if index is None else times_in(index)
    return times is not None and len(times) > 2 and step_of(times) is not None


def _say_other_kind(groups: Sequence[Group], tails: Sequence[Any]) -> None:
    """Warns of the first series whose index holds no times, or spans of time, where those of the data fitted to do."""
    kinds = {_when(tail) for tail in tails if tail is not None}
    for group in groups:
        if group.index is None or _when(group.index) in kinds or not kinds & {"times", "spans of time"}:
            continue
        warnings.warn(
            f"the index of X holds {contents(group.index)}, and that of the data fitted to {contents(tails[0])}, so "
            "that nothing says whether its rows are as far apart; each counts as one step; give X such an index",
            stacklevel=5,
        )
        return


def _when(index: Any) -> str:
    return "times" if contents(index) == "periods" else contents(index)


def _say_other_step(groups: Sequence[Group], tails: Sequence[Any], grouping: Grouping) -> None:
    """Warns of the first series whose rows are further apart, or less far, than those at the ends of the data fitted
    to."""
    fitted_to = [step for tail in tails if (step := step_between(tail)) is not None]
    for group in groups:
        step = None if only_counts(group.index) else step_between(group.index)
        own = [each for each in fitted_to if step is not None and each.unit == step.unit]
        if step is not None and own and not any(step.is_like(each) for each in own):
            way = "" if step.unit == "numbers" else f", with {way_to_resample(grouping)} say"
            warnings.warn(
                f"the rows of X are {step} apart, and those of the data fitted to {own[0]}; each counts as one step of "
                f"theirs; bring X to their step{way}",
                stacklevel=5,
            )
            return
