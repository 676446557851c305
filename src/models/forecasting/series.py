"""Series as people have them, arrays and tables of unequal length, as the standardised tensors that models take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.forecasting.filtering import MaskedSequences, scored_steps
from models.forecasting.frame import is_frame, values_of
from models.numerics.standardisation import Standardisation, varies_by_rounding

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT = 0.1  # of each series, its end
FIRST_SCORED = 4  # rows of a series before this one are not fitted to and not scored


def check_series(series: Sequence[np.ndarray]) -> None:
    """Raises ValueError for no series, for shapes other than (time, feature) with one number of features, and for an
    infinite value."""
    if not series:
        raise ValueError("no series to forecast; give at least one (time, feature) array")
    for i, values in enumerate(series):
        if values.ndim != 2 or values.shape[1] != series[0].shape[1]:
            raise ValueError(f"series {i} has shape {values.shape}, expected (time, feature) with the features of all")
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0]
            raise ValueError(f"infinite value in row {row}, feature {column} of series {i}; leave it empty or mend it")


def check_list(series: Any, name: str) -> None:
    """Raises ValueError for a single table or array in place of a list of them, and for an empty list. name: of the
    argument."""
    if is_frame(series) or getattr(series, "ndim", 3) < 3:
        raise ValueError(f"{name} is a single {type(series).__name__}; give a list of tables or arrays, as in [{name}]")
    if not len(series):
        raise ValueError(f"no series to forecast in {name}; give a list of tables or arrays (time, feature)")


def arrays_of(
    series: Sequence[np.ndarray | pd.DataFrame], names: tuple[str, ...] | None = None, *, name: str = "series"
) -> tuple[list[np.ndarray], tuple[str, ...]]:
    """Returns the series as arrays (time, feature), NaN where nothing was observed, and the names of the features.

    names: of the features, by which tables are read; arrays have them in this order. None takes the names of the first
    table's columns, and for arrays feature_0, feature_1 and so on. name: of the argument, for errors. Raises ValueError
    for tables beside arrays, for another number of features than names, and as `check_list`, `check_series` and
    `models.forecasting.frame.values_of` do.
    """
    check_list(series, name)
    given: list[Any] = list(series)
    tables = sum(map(is_frame, given))
    if 0 < tables < len(given):
        raise ValueError(
            f"{tables} of {len(given)} series are tables and the others arrays; give all as one of the two"
        )
    if tables:
        names = names or tuple(map(str, given[0].columns))
        arrays = [values_of(table, names) for table in given]
    else:
        arrays = [np.asarray(array, np.float64) for array in given]
    check_series(arrays)
    names = names or tuple(f"feature_{i}" for i in range(arrays[0].shape[1]))
    if arrays[0].shape[1] != len(names):
        raise ValueError(f"expected (time, {len(names)}) values of {', '.join(names)}, got shape {arrays[0].shape}")
    return arrays, names


def cut_in_time(series: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Returns the first rows of each series, and its last tenth."""
    ends = [len(array) - round(HELD_OUT * len(array)) for array in series]
    parts = [(array[:end], array[end:]) for array, end in zip(series, ends, strict=True)]
    return [before for before, _ in parts], [after for _, after in parts]


def padded(series: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
    """Returns values (sequence, time, feature), 0 where nothing was observed and after a series' end; and the mask."""
    values = pad_sequence(
        [torch.tensor(array, dtype=torch.float64) for array in series], batch_first=True, padding_value=torch.nan
    )
    return values.nan_to_num(nan=0.0), ~values.isnan()


def units_of(series: Sequence[np.ndarray]) -> Standardisation:
    """Returns the units of the series, 1 for a constant feature's deviation.

    Raises ValueError for a feature without any observation.
    """
    rows = np.concatenate(series)
    unobserved = np.flatnonzero(np.isnan(rows).all(0))
    if len(unobserved):
        raise ValueError(f"feature {unobserved[0]} has no observed value; leave it out or fill it")
    mean, deviation, low, high = (torch.from_numpy(of(rows, 0)) for of in (np.nanmean, np.nanstd, np.nanmin, np.nanmax))
    return Standardisation.from_moments(mean, deviation, varies_by_rounding(low, high))


def standardised(series: Sequence[np.ndarray], units: Standardisation, *, first_step: int) -> MaskedSequences:
    """Returns the series in standard deviations from the mean, scored from step `first_step` on.

    Raises ValueError where no step is left to score.
    """
    values, mask = padded(series)
    scored = scored_steps(mask, first_step=first_step)
    if not bool(scored.any()):
        raise ValueError(f"no series has an observed step from step {first_step} on; give longer ones")
    return MaskedSequences(torch.where(mask, units.apply(values), 0.0), mask, scored)
