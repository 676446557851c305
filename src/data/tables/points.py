"""`data=points`: the user's own table (CSV, Parquet, NPZ) as points with a target, for regression."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch

from data.base import DataError
from data.files.column_names import column_name, column_names
from data.files.table_files import TextFormat, existing_file, read_frame
from data.points import Points, check_points, random_split, some_of
from data.ranges import Count, Seed, Share
from data.tables.columns import Use, numbers
from data.tables.features import feature_columns, warn_of_numbers


def load(
    *,
    path: str | None,
    target: str | None,
    columns: Sequence[str] | None = None,
    validation: Share = 0.1,
    test: Share = 0.2,
    points: Count | None = None,
    seed: Seed = 0,
    delimiter: str | None = None,
    decimal: str = "point",
) -> Points:
    """Reads a table whose rows are points; rows with an empty cell are left out, with a warning that counts them. Blank
    lines are passed over.

    path: see `data.files.table_files`. target: the column to predict. columns: the inputs; None: all others. points:
    take as many rows at most, drawn under the seed; None: all. validation, test: shares of these, drawn under the seed.
    delimiter, decimal: of a text file, see `data.files.table_files.TextFormat`.
    Warns of an input that numbers the rows, unless columns are named. Raises DataError (one line: file, column, row)
    for what cannot be read, and for a part without a row.
    """
    file = existing_file(path)
    target, columns = column_name(target, "target"), column_names(columns)
    if target is None:
        raise DataError("points: name the column to predict; give", give={"target": "COLUMN"})
    text = TextFormat(delimiter, decimal, skips_blank=True)
    table = read_frame(file, text)
    names = feature_columns(table, file, columns, {target})
    if target in names:
        raise DataError(f"columns names the target {target!r}; leave it out there")
    values = numbers(table.frame, file, [*names, target], Use.of_file(file, text, target=target))
    kept = values[~np.isnan(values).any(axis=1)]
    if len(kept) < len(values):
        lost = len(values) - len(kept)
        warnings.warn(f"{file}: {lost} of {len(values)} rows have an empty cell and are left out", stacklevel=2)
    if columns is None:
        warn_of_numbers(table.frame, file, names)
    check_points(points)
    rows = some_of(torch.from_numpy(kept), points, torch.Generator().manual_seed(seed))
    split = _split(len(rows), validation=validation, test=test, seed=seed)
    name = file.name.split(".")[0]
    return Points(name, rows[:, :-1], rows[:, -1], *split, tuple(names), target, source="file")


def read_inputs(
    path: str | None, *, columns: Sequence[str], delimiter: str | None = None, decimal: str = "point"
) -> np.ndarray:
    """Reads the inputs of new points, float64 (row, input) in the order of `columns`, NaN for an empty cell; other
    columns of the file are passed over, and blank lines where there are several inputs; else one is an empty cell.

    Raises DataError as `load`.
    """
    file, text = existing_file(path), TextFormat(delimiter, decimal, skips_blank=len(columns) > 1)
    table = read_frame(file, text)
    names = feature_columns(table, file, columns, set())
    return numbers(table.frame, file, names, Use.of_file(file, text, of_model=True))


def _split(rows: int, *, validation: float, test: float, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Raises DataError for shares that are none, and where a part gets no row."""
    for key, share in (("validation", validation), ("test", test)):
        if not 0 < share < 1:
            raise DataError(f"{key}={share} must be a share of the rows, between 0 and 1")
        if round(share * rows) < 1:
            raise DataError(f"{key}={share} of {rows} rows is less than one row; raise it, or give more rows")
    return random_split(rows, validation=round(validation * rows), test=round(test * rows), seed=seed)
