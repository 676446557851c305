"""A value of a table that is so far from the others of its column that it spoils their scale."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

FAR = 1e4  # times the spread of the others: no law with a variance that data follow reaches that far
FAR_OF_DEVIATION = 20.0  # times the standard deviation of the others, which a column that rests at one value needs too
LEAST_OBSERVED = 20  # values of a column, below which nothing is said of their spread
MOST_LOOKED_AT = 10_000  # rows that tell the spread of a column


class Spike(NamedTuple):
    """Says in which row (from 0) of a column the farthest value lies, and how many times the spread of the others it
    is away from their median: 0 where that is not far."""

    row: int
    value: float
    times: float


def farthest(values: np.ndarray) -> Spike:
    """Returns the value of a column (row,), NaN for an empty cell, that lies farthest from the median.

    The spread is the range of the middle half of at most `MOST_LOOKED_AT` rows, drawn under a fixed seed. Where that is
    0, as in columns of two values or nearly constant ones, it is the standard deviation of all values but the farthest.
    """
    seen = values
    if len(values) > MOST_LOOKED_AT:
        seen = values[np.random.default_rng(0).integers(len(values), size=MOST_LOOKED_AT)]
    if min(np.isfinite(values).sum(), np.isfinite(seen).sum()) < LEAST_OBSERVED:
        return Spike(0, np.nan, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        lower, median, upper = np.nanpercentile(seen, [25, 50, 75])
        distances = np.abs(values - median)
        row = int(np.nanargmax(distances))
        deviation = float(np.nanstd(np.delete(values, row))) if distances[row] > FAR * (upper - lower) else 0.0
    if not deviation or distances[row] <= FAR_OF_DEVIATION * deviation:
        return Spike(row, float(values[row]), 0.0)
    return Spike(row, float(values[row]), float(distances[row] / (upper - lower or deviation)))


def warn_of_spike(values: np.ndarray, path: Path, columns: Sequence[str]) -> None:
    """Warns of the value (row, column) that is farthest from the others of its column, where it lies more than `FAR`
    times their spread away. Rows count as in an editor: the header is row 1."""
    spikes = {name: farthest(own) for name, own in zip(columns, values.T, strict=True)}
    name, worst = max(spikes.items(), key=lambda item: item[1].times)
    if worst.times > FAR:
        warnings.warn(
            f"{path}, column {name!r}, row {worst.row + 2}: {worst.value:g} is {worst.times:.0e} times the spread of "
            "the others from their median, and spoils the column's scale; if it is an error, empty the cell",
            stacklevel=2,
        )
