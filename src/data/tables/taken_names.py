"""Names that columns of a table cannot have, as tables of predictions have columns of these names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from data.base import DataError

TAKEN = ("sequence", "step", "time")  # columns of tables of predictions
ADDED = ("_predicted", "_lower", "_upper")  # to the names of features there


def refuse_taken(names: Sequence[str], time: str | None, file: Path) -> None:
    """Raises DataError for a feature that is called as another column of a table of predictions, which would overwrite
    it. The column of times may be called "time": its values stand there in place of a counter."""
    for name in TAKEN:
        if name in names and name != time:
            raise DataError(
                f"{file}: a feature cannot be called {name!r}, which is a column of every table of predictions; rename "
                f"it, name it as {'time' if name == 'time' else 'group, if it tells sequences apart'}, or leave it out "
                "of columns"
            )
    for name, added in product(names, ADDED):
        if name + added in (*names, time):
            raise DataError(
                f"{file}: {name + added!r} is what predictions of {name!r} are called; rename it, or leave it out"
            )


def refuse_taken_time(path: str | None, time: str | None) -> None:
    """Raises DataError for a column of times that is called as another column of every table of predictions."""
    if time in TAKEN and time != "time":
        raise DataError(
            f"{path}: the column of times cannot be called {time!r}, which is a column of every table of predictions; "
            "rename the column"
        )
