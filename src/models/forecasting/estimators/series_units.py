"""Values of one series in its own units and back; where all series share those of the forecaster, as they are."""

from __future__ import annotations

import numpy as np
import torch

from models.numerics.standardisation import Standardisation


def in_units(values: np.ndarray, units: Standardisation | None) -> np.ndarray:
    """Returns values (time, column), of the data's own units, in those of their series; as they are for None."""
    return values if units is None else units.apply(torch.from_numpy(values)).numpy()


def restored(values: np.ndarray, units: Standardisation | None) -> np.ndarray:
    """Returns what `in_units` was given from what it returned, for the first columns: values (…, column)."""
    if units is None:
        return values
    columns = values.shape[-1]
    return Standardisation(units.mean[:columns], units.scale[:columns]).restore(torch.from_numpy(values)).numpy()


def widened(lengths: np.ndarray, units: Standardisation | None) -> np.ndarray:
    """Returns differences (…, column), in the units of a series, in the data's own: times its standard deviations."""
    return lengths if units is None else lengths * units.scale[: lengths.shape[-1]].numpy()
