"""The readout in closed form: ridge regression along the filtered sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.filtering import Filtered, MaskedSequences, filter_sequences, reread
from models.numerics.ridge import AffineMap, RegressionData, fit_affine_by_validation
from models.recurrent import Recurrent


class ReadoutSettings(NamedTuple):
    """lags: recent observations beside the state; ridges: to choose from on validation; scale: see `fit_affine`."""

    lags: int
    ridges: Sequence[float]
    scale: str


class FittedReadout(NamedTuple):
    """The ridge chosen, and the parts as filtered with the new readout; None where they have to be filtered anew."""

    ridge: float
    train: Filtered | None
    validation: Filtered | None


def readout_rows(model: Recurrent, part: MaskedSequences, filtered: Filtered) -> RegressionData:
    """Inputs of the readout along the filtered sequences, and the observations they should give, row by row."""
    inputs = model.readout_inputs(filtered.states)
    return RegressionData(inputs.flatten(0, 1), part.values.flatten(0, 1), part.scored.flatten(0, 1))


def fit_once(
    model: Recurrent, train: MaskedSequences, validation: MaskedSequences, *, ridges: Sequence[float], scale: str
) -> FittedReadout:
    """The readout solved along the sequences as filtered with the readout that the model has; the parts as filtered."""
    filtered = filter_sequences(model, train.values, train.mask)
    rows = readout_rows(model, train, filtered)
    used = rows.mask.any(1)
    rows = RegressionData(*(part[used] for part in rows))
    held_out, other = rows, None
    if len(ridges) > 1:
        other = filter_sequences(model, validation.values, validation.mask)
        held_out = readout_rows(model, validation, other)
    readout, ridge = fit_affine_by_validation(rows, held_out, ridges, scale=scale)
    model.set_readout(AffineMap(*readout))
    return FittedReadout(ridge, filtered, other)


@torch.no_grad()
def fit_readout(
    model: Recurrent, train: MaskedSequences, validation: MaskedSequences, *, ridges: Sequence[float], scale: str
) -> FittedReadout:
    """Ridge from the filtered state (and recent observations) to o_t, set on the model.

    The validation part is filtered only when there are several ridges to choose from. With gaps the filter needs a
    readout to fill them, so the fit is made twice: first with the gaps filled by the training mean (a readout of 0),
    then by the first fit. Without gaps the states do not depend on the readout, and are handed on.
    """
    if has_gaps(train.mask):
        fit_once(model, train, validation, ridges=ridges, scale=scale)
    found = fit_once(model, train, validation, ridges=ridges, scale=scale)
    return FittedReadout(
        found.ridge, still_valid(model, train, found.train), still_valid(model, validation, found.validation)
    )


def still_valid(model: Recurrent, part: MaskedSequences, filtered: Filtered | None) -> Filtered | None:
    return None if filtered is None or has_gaps(part.mask) else reread(model, filtered)


def has_gaps(mask: Tensor) -> bool:
    """Whether an entry is missing before the last observed step of its sequence. mask (sequence, time, feature)."""
    before_end = mask.any(2).flip(1).cumsum(1).flip(1) > 0
    return bool((before_end.unsqueeze(2) & ~mask).any())
