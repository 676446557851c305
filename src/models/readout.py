"""The readout in closed form: ridge regression along the filtered sequences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.filtering import Filtered, MaskedSequences, filter_by_all_ranks, reread
from models.numerics.fixed_inputs import FixedInputs
from models.numerics.ridge import (
    AffineMap,
    RegressionData,
    Ridge,
    affine_from_moments,
    centred_moments,
    least_validation_error,
)
from models.recurrent import Recurrent


class ReadoutSettings(NamedTuple):
    """lags: recent observations beside the state; ridges: to choose from on validation; scale: see `per_sample_ridge`.

    state_ridges: those of the state's weights, each tried with each of `ridges`, which are then those of the lags
    alone: numbers of a state and of an observation may differ in size by far. None: one ridge for both. Without lags
    they take the place of `ridges`.
    """

    lags: int
    ridges: Sequence[float]
    scale: str
    state_ridges: Sequence[float] | None = None

    def candidates(self) -> list[dict[str, float]]:
        if self.state_ridges is None or not self.lags:
            return [{"readout.ridge": ridge} for ridge in self.state_ridges or self.ridges]
        pairs = product(self.ridges, self.state_ridges)
        return [{"readout.ridge": ridge, "readout.state_ridge": of_state} for ridge, of_state in pairs]

    def only(self, chosen: Mapping[str, Any]) -> ReadoutSettings:
        """The settings that leave no choice but `chosen`, one of the candidates."""
        of_state = chosen.get("readout.state_ridge")
        return self._replace(ridges=[chosen["readout.ridge"]], state_ridges=None if of_state is None else [of_state])


class FittedReadout(NamedTuple):
    """The candidate chosen, and the parts as filtered with the new readout; None where they are to be filtered anew."""

    chosen: dict[str, float]
    train: Filtered | None
    validation: Filtered | None


def penalty(candidate: Mapping[str, float], model: Recurrent, inputs: Tensor) -> Ridge:
    """One ridge, or one for each of the inputs (row, input): those of the state come first."""
    if "readout.state_ridge" not in candidate:
        return candidate["readout.ridge"]
    lagged = model.lags * len(model.readout_bias)
    each = torch.full(inputs.shape[1:], candidate["readout.state_ridge"], dtype=torch.float64, device=inputs.device)
    each[inputs.shape[1] - lagged :] = candidate["readout.ridge"]
    return each


def readout_rows(model: Recurrent, part: MaskedSequences, filtered: Filtered) -> RegressionData:
    """Inputs of the readout along the filtered sequences, and the observations they should give, row by row."""
    inputs = model.readout_inputs(filtered.states)
    rows = RegressionData(inputs.flatten(0, 1), part.values.flatten(0, 1), part.scored.flatten(0, 1))
    used = rows.mask.any(1)
    return RegressionData(*(column[used] for column in rows))


class ReadoutFit:
    """Solves readouts along the same sequences, for one model or for one that changes, in each epoch say.

    Ridge from the filtered state (and recent observations) to o_t, set on the model. Without gaps the recent
    observations are the same whatever the model: their share of the regression is computed once (`FixedInputs`).
    """

    def __init__(self, train: MaskedSequences, validation: MaskedSequences, settings: ReadoutSettings) -> None:
        self.train, self.validation, self.settings = train, validation, settings
        self.gaps = has_gaps(train.mask)
        self._lagged: FixedInputs | None = None

    @torch.no_grad()
    def __call__(self, model: Recurrent) -> FittedReadout:
        """The validation part is filtered only when there are several ridges to choose from.

        With gaps the filter needs a readout to fill them, so the fit is made twice: first with the gaps filled by the
        training mean (a readout of 0), then by the first fit. Without gaps the states do not depend on the readout,
        and are handed on.
        """
        if self.gaps:
            self._once(model)
        found = self._once(model)
        return FittedReadout(
            found.chosen,
            still_valid(model, self.train, found.train),
            still_valid(model, self.validation, found.validation),
        )

    def _once(self, model: Recurrent) -> FittedReadout:
        """Solved along the sequences as filtered with the readout that the model has; the parts as filtered."""
        candidates = self.settings.candidates()
        filtered = filter_by_all_ranks(model, self.train.values, self.train.mask)
        rows = readout_rows(model, self.train, filtered)
        held_out, other = rows, None
        if len(candidates) > 1:
            other = filter_by_all_ranks(model, self.validation.values, self.validation.mask)
            held_out = readout_rows(model, self.validation, other)
        readout, place = least_validation_error(self._fits(model, rows, candidates), held_out)
        model.set_readout(readout)
        return FittedReadout(candidates[place], filtered, other)

    def _fits(
        self, model: Recurrent, rows: RegressionData, candidates: Sequence[dict[str, float]]
    ) -> Iterator[AffineMap]:
        if not self.gaps and model.lags:
            yield from self._fits_beside_lags(model, rows, candidates)
            return
        moments = centred_moments(rows)
        for candidate in candidates:
            yield affine_from_moments(moments, penalty(candidate, model, rows.inputs), scale=self.settings.scale)

    def _fits_beside_lags(
        self, model: Recurrent, rows: RegressionData, candidates: Sequence[dict[str, float]]
    ) -> Iterator[AffineMap]:
        lagged = model.lags * len(model.readout_bias)
        state, recent = rows.inputs.split([rows.inputs.shape[1] - lagged, lagged], 1)
        if self._lagged is None:
            self._lagged = FixedInputs(recent, rows.targets, scale=self.settings.scale)
        for candidate in candidates:
            ridge = candidate["readout.ridge"]
            of_state = candidate.get("readout.state_ridge", ridge)
            yield self._lagged.fit(state, ridge=ridge, changing_ridge=of_state)


def fit_readout(
    model: Recurrent, train: MaskedSequences, validation: MaskedSequences, settings: ReadoutSettings
) -> FittedReadout:
    """One readout, once; see `ReadoutFit`."""
    return ReadoutFit(train, validation, settings)(model)


def still_valid(model: Recurrent, part: MaskedSequences, filtered: Filtered | None) -> Filtered | None:
    return None if filtered is None or has_gaps(part.mask) else reread(model, filtered)


def has_gaps(mask: Tensor) -> bool:
    """Whether an entry is missing before the last observed step of its sequence. mask (sequence, time, feature)."""
    before_end = mask.any(2).flip(1).cumsum(1).flip(1) > 0
    return bool((before_end.unsqueeze(2) & ~mask).any())
