"""The readout in closed form: ridge regression along the filtered sequences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.forecasting.filtering import (
    Filtered,
    MaskedSequences,
    State,
    filter_by_all_ranks,
    filter_sequences,
    has_gaps,
    up_to_end,
)
from models.forecasting.lag_shares import LagShares
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.forecasting.start_up import start_up_of, start_up_orders
from models.numerics.fixed_inputs import EliminatedMap
from models.numerics.ridge import (
    AffineMap,
    RegressionData,
    Ridge,
    affine_from_moments,
    centred_moments,
    least_validation_error,
)
from models.runtime.collectives import world


class FittedReadout(NamedTuple):
    """Holds the candidate chosen, and the parts as filtered with the new readout; None where they are to be filtered
    anew."""

    chosen: dict[str, Any]
    train: Filtered | None
    validation: Filtered | None


def penalty(candidate: Mapping[str, float], model: Recurrent, inputs: Tensor) -> Ridge:
    """Returns one ridge, or one for each of the inputs (row, input): those (input,) of the state come first."""
    if "readout.state_ridge" not in candidate:
        return candidate["readout.ridge"]
    lagged = model.lags * len(model.readout_bias)
    each = torch.full(inputs.shape[1:], candidate["readout.state_ridge"], dtype=torch.float64, device=inputs.device)
    each[inputs.shape[1] - lagged :] = candidate["readout.ridge"]
    return each


def readout_rows(model: Recurrent, part: MaskedSequences, states: State) -> RegressionData:
    """Returns inputs of the readout along the filtered sequences, and the observations they should give, row by row, at
    the steps where anything is scored.

    states: each tensor (sequence, time, …).
    """
    inputs = model.readout_inputs(states)
    rows = RegressionData(inputs.flatten(0, 1), part.values.flatten(0, 1), part.scored.flatten(0, 1))
    used = rows.mask.any(1)
    return RegressionData(*(column[used] for column in rows))


def unread(model: Recurrent, part: MaskedSequences) -> tuple[State, Tensor]:
    """Returns states and filled values of `filter_by_all_ranks` up to each end; without gaps one rank predicts
    nothing."""
    if world() == 1 and not has_gaps(part.mask):
        return model.states_observed(model.initial_state(len(part.values)), part.values), part.values
    filtered = filter_by_all_ranks(model, part.values, up_to_end(part.mask))
    return filtered.states, filtered.filled


class ReadoutFit:
    """Solves readouts along the same sequences, for one model or for one that changes, in each epoch say.

    Ridge from the filtered state (and recent observations) to o_t, set on the model. Without gaps the recent
    observations are the same whatever the model: their share of the regression, and of the predictions, is computed
    once and kept in `lagged`, which other fits along the same sequences may share.
    """

    def __init__(
        self,
        train: MaskedSequences,
        validation: MaskedSequences,
        settings: ReadoutSettings,
        lagged: LagShares | None = None,
    ) -> None:
        self.train, self.validation, self.settings = train, validation, settings
        self.lagged = lagged or LagShares()
        self.gaps = has_gaps(train.mask)
        self._last: tuple[Tensor, EliminatedMap] | None = None

    @torch.no_grad()
    def __call__(self, model: Recurrent) -> FittedReadout:
        """Solves the readout of a model and sets it. A model with lags that has no start-up yet is given one; see
        `models.forecasting.start_up`.

        The validation part is filtered only when there are several ridges to choose from.

        With gaps the filter needs a readout to fill them, so the fit is made twice: first with the gaps filled by the
        readout that the model has (0, the training mean, in a new one), then by the first fit. Gaps of the validation
        part count where a ridge is chosen by it. Without gaps the states do not depend on the readout, and are handed
        on.
        """
        self._begin(model)
        choosing = len(self.settings.candidates()) > 1
        if self.gaps or (choosing and has_gaps(self.validation.mask)):
            self._once(model)
        return self._once(model)

    @torch.no_grad()
    def filtered(self, model: Recurrent, part: MaskedSequences) -> Filtered:
        """Returns what `filter_sequences` gives up to each end; without gaps sooner, with the readout that was
        solved last."""
        if has_gaps(part.mask):
            return filter_sequences(model, part.values, up_to_end(part.mask))
        return self._read(model, part, *unread(model, part))

    def _begin(self, model: Recurrent) -> None:
        if model.lags and model.start_up is None:
            maps = self.lagged.start_up(self.train, self.validation, self.settings._replace(lags=model.lags))
            orders = start_up_orders(model.lags)
            model.start_up = start_up_of(maps, orders=orders, history=model.lags, like=model.readout_bias)

    def _once(self, model: Recurrent) -> FittedReadout:
        """Solves the readout along the sequences as filtered with the readout that the model has, and sets it. Returns
        the candidate chosen and the parts as filtered, each None where it is to be filtered anew."""
        candidates = self.settings.candidates()
        trained = unread(model, self.train)
        rows = readout_rows(model, self.train, trained[0])
        held_out, other = rows, None
        if len(candidates) > 1:
            other = unread(model, self.validation)
            held_out = readout_rows(model, self.validation, other[0])
        if self.gaps or not model.lags:
            readout, place = least_validation_error(self._fits(model, rows, candidates), held_out)
        else:
            readout, place = self._beside_lags(model, rows, held_out, candidates)
        model.set_readout(readout)
        read = None if self.gaps else self._read(model, self.train, *trained)
        held = None if other is None or has_gaps(self.validation.mask) else self._read(model, self.validation, *other)
        return FittedReadout(candidates[place], read, held)

    def _fits(
        self, model: Recurrent, rows: RegressionData, candidates: Sequence[dict[str, float]]
    ) -> Iterator[AffineMap]:
        moments = centred_moments(rows)
        for candidate in candidates:
            yield affine_from_moments(moments, penalty(candidate, model, rows.inputs), scale=self.settings.scale)

    def _beside_lags(
        self, model: Recurrent, rows: RegressionData, held_out: RegressionData, candidates: Sequence[dict[str, float]]
    ) -> tuple[AffineMap, int]:
        lagged = model.lags * len(model.readout_bias)
        state, recent = rows.inputs.split([rows.inputs.shape[1] - lagged, lagged], 1)
        regression = self.lagged.regression(
            self.train, rows._replace(inputs=recent), lags=model.lags, scale=self.settings.scale
        )
        beside = regression.beside(state)

        def solve(candidate: Mapping[str, float]) -> EliminatedMap:
            ridge = candidate["readout.ridge"]
            return beside.fit(ridge=ridge, changing_ridge=candidate.get("readout.state_ridge", ridge))

        place = 0
        if len(candidates) > 1:  # one map at a time: those of several ridges would fill the memory
            _, place = least_validation_error((solve(each).written_out() for each in candidates), held_out)
        fit = solve(candidates[place])
        readout = fit.written_out()
        self._last = readout.weight.to(model.readout_weight), fit
        return readout, place

    def _read(self, model: Recurrent, part: MaskedSequences, states: State, filled: Tensor) -> Filtered:
        """Returns the part with predictions from the states. They are made by `EliminatedMap` where the model's readout
        is the one that was solved last."""
        if self._last is None or not torch.equal(model.readout_weight, self._last[0]):
            return Filtered(model.predict(states), filled, states)
        fit = self._last[1]
        exposed, recent = model.exposed(model.belief(states)).flatten(0, 1), model.recent(states).flatten(0, 1)
        share = self.lagged.share(part.values, recent, fit.alone)
        predictions = fit.predict(recent, exposed, share).reshape(part.values.shape)
        return Filtered(model.begun(predictions, states), filled, states)


def fit_readout(
    model: Recurrent,
    train: MaskedSequences,
    validation: MaskedSequences,
    settings: ReadoutSettings,
    lagged: LagShares | None = None,
) -> FittedReadout:
    """Solves the readout of a model once, sets it, and returns what was chosen; see `ReadoutFit`.

    Raises ValueError for an output without any row, a ridge that is not positive or too small, and where several ridges
    meet an empty validation part.
    """
    return ReadoutFit(train, validation, settings, lagged)(model)
