"""Series that a model was not fitted to: read, and brought to the columns of the data that it was fitted to."""

from __future__ import annotations

from typing import Any

from models.forecasting.covariates import Columns, FromStart
from models.forecasting.estimator_input import Rows, of_labels, read
from models.forecasting.learnt import Learnt


def read_histories(data: Any, learnt: Learnt) -> Rows:
    """Returns series that the model was not fitted to, or that begin as those it was fitted to (`FromStart`), with the
    columns in the order of `Columns.labels`.

    An array has its columns in the order of the data fitted to (`Learnt.labels`), a table goes by their names.
    Raises TypeError and ValueError as `models.forecasting.estimator_input.read` does, and ValueError where the season
    counts the rows fitted to, so that it is not known which row of it the series begin in.
    """
    began = isinstance(data, FromStart)
    rows = read(data.data if began else data, labels=learnt.labels)
    if not began:
        _check_season(learnt.columns)
    return rows._replace(groups=of_labels(rows, learnt.columns.labels), labels=learnt.columns.labels)


def _check_season(columns: Columns) -> None:
    if columns.season is not None and columns.clock.unit == "rows":
        raise ValueError(
            "nothing says which row of the season X begins in: the data fitted to have no index of times or row "
            "numbers in even steps; fit a table with one and give X with it, or go on from its end with update"
        )
