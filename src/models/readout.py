"""The readout in closed form: ridge regression along the filtered sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.filtering import MaskedSequences, filter_sequences
from models.numerics.ridge import AffineMap, RegressionData, fit_affine_by_validation
from models.recurrent import Recurrent


class ReadoutSettings(NamedTuple):
    """lags: recent observations beside the state; ridges: to choose from on validation; scale: see `fit_affine`."""

    lags: int
    ridges: Sequence[float]
    scale: str


def readout_rows(model: Recurrent, part: MaskedSequences) -> RegressionData:
    """Inputs of the readout along the filtered sequences, and the observations they should give, row by row."""
    with torch.no_grad():
        filtered = filter_sequences(model, part.values, part.mask)
        inputs = model.readout_inputs(filtered.states)
    return RegressionData(inputs.flatten(0, 1), part.values.flatten(0, 1), part.scored.flatten(0, 1))


def fit_readout(
    model: Recurrent, train: MaskedSequences, validation: MaskedSequences, *, ridges: Sequence[float], scale: str
) -> float:
    """Ridge from the filtered state (and recent observations) to o_t, set on the model; returns the ridge chosen.

    The validation part is filtered only when there are several ridges to choose from. With gaps the filter needs a
    readout to fill them, so the fit is made twice: first with the gaps filled by the training mean (a readout of 0),
    then by the first fit.
    """
    gaps = has_gaps(train.mask)
    chosen = ridges[0]
    for _ in range(2 if gaps else 1):
        rows = readout_rows(model, train)
        used = rows.mask.any(1)
        rows = RegressionData(*(part[used] for part in rows))
        held_out = readout_rows(model, validation) if len(ridges) > 1 else rows
        readout, chosen = fit_affine_by_validation(rows, held_out, ridges, scale=scale)
        model.set_readout(AffineMap(*readout))
    return chosen


def has_gaps(mask: Tensor) -> bool:
    """Whether an entry is missing before the last observed step of its sequence. mask (sequence, time, feature)."""
    before_end = mask.any(2).flip(1).cumsum(1).flip(1) > 0
    return bool((before_end.unsqueeze(2) & ~mask).any())
