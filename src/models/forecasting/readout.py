"""The readout in closed form: ridge regression along the filtered sequences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
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
from models.forecasting.recurrent import Recurrent
from models.forecasting.start_up import fit_start_up, lag_rows, start_up_of, start_up_orders
from models.numerics.fixed_inputs import EliminatedMap, FixedInputs
from models.numerics.ridge import (
    AffineMap,
    RegressionData,
    Ridge,
    affine_from_moments,
    centred_moments,
    least_validation_error,
)
from models.runtime.collectives import world


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


class _Regression(NamedTuple):
    train: MaskedSequences
    lags: int
    scale: str
    fixed: FixedInputs


class _Share(NamedTuple):
    """x A along `values`, with `alone` A. It holds its values, so that their id stays theirs."""

    values: Tensor
    alone: Tensor
    predictions: Tensor


class _Started(NamedTuple):
    train: MaskedSequences
    validation: MaskedSequences
    settings: ReadoutSettings
    maps: list[AffineMap]


class LagShares:
    """What recent observations alone say of the next ones, whatever the model: kept for one train part at a time.

    Models that are fitted one after the other to the same sequences without gaps, and the epochs of each, share it.
    """

    def __init__(self) -> None:
        self._last: _Regression | None = None
        self._shares: dict[int, _Share] = {}
        self._started: _Started | None = None

    def regression(self, train: MaskedSequences, rows: RegressionData, *, lags: int, scale: str) -> FixedInputs:
        """rows: those of the recent observations along `train`, scored steps alone."""
        last = self._last
        if last is None or last.train is not train or (last.lags, last.scale) != (lags, scale):
            self._last = last = _Regression(train, lags, scale, FixedInputs(rows.inputs, rows.targets, scale=scale))
            self._shares.clear()
        return last.fixed

    def share(self, values: Tensor, recent: Tensor, alone: Tensor) -> Tensor:
        """x A of the recent observations x (row, lags · feature) along `values`, with A of the last regression."""
        known = self._shares.get(id(values))
        if known is None or known.alone is not alone:
            known = self._shares[id(values)] = _Share(values, alone, recent @ alone.to(recent))
        return known.predictions

    def start_up(
        self, train: MaskedSequences, validation: MaskedSequences, settings: ReadoutSettings
    ) -> list[AffineMap]:
        """The maps of `fit_start_up`; the last are kept."""
        last = self._started
        if last is None or last.train is not train or last.validation is not validation or last.settings != settings:
            self._started = last = _Started(
                train, validation, settings, self._fit_start_up(train, validation, settings)
            )
        return last.maps

    def _fit_start_up(
        self, train: MaskedSequences, validation: MaskedSequences, settings: ReadoutSettings
    ) -> list[AffineMap]:
        """From the moments of `regression` where those are of the same rows.

        Where no validation row has all lags, the ridges are chosen on the training rows.
        """
        lags, scale = settings.lags, settings.scale
        rows, held_out = lagged_rows(train, lags), lagged_rows(validation, lags)
        if has_gaps(train.mask) or bool(train.scored[:, :lags].any()):
            moments = centred_moments(rows)
        else:
            moments = self.regression(train, rows, lags=lags, scale=scale).moments()
        held_out = held_out if bool(held_out.mask.any()) else rows
        return fit_start_up(moments, held_out, orders=start_up_orders(lags), ridges=settings.ridges, scale=scale)


def lagged_rows(part: MaskedSequences, lags: int) -> RegressionData:
    """The scored rows with all lags observed. Where a feature has none such, those with gaps in their lags as well,
    at the training mean."""
    if part.values.shape[1] <= lags:
        nothing = part.values[:0, 0]
        return RegressionData(nothing.repeat(1, lags), nothing, nothing > 0)
    rows = lag_rows(*part, lags)
    if bool(rows.mask.any(0).all()):
        return rows
    return lag_rows(part.values, torch.ones_like(part.mask), part.scored, lags)


def penalty(candidate: Mapping[str, float], model: Recurrent, inputs: Tensor) -> Ridge:
    """One ridge, or one for each of the inputs (row, input): those of the state come first."""
    if "readout.state_ridge" not in candidate:
        return candidate["readout.ridge"]
    lagged = model.lags * len(model.readout_bias)
    each = torch.full(inputs.shape[1:], candidate["readout.state_ridge"], dtype=torch.float64, device=inputs.device)
    each[inputs.shape[1] - lagged :] = candidate["readout.ridge"]
    return each


def readout_rows(model: Recurrent, part: MaskedSequences, states: State) -> RegressionData:
    """Inputs of the readout along the filtered sequences, and the observations they should give, row by row."""
    inputs = model.readout_inputs(states)
    rows = RegressionData(inputs.flatten(0, 1), part.values.flatten(0, 1), part.scored.flatten(0, 1))
    used = rows.mask.any(1)
    return RegressionData(*(column[used] for column in rows))


def unread(model: Recurrent, part: MaskedSequences) -> tuple[State, Tensor]:
    """States and filled values of `filter_by_all_ranks` up to each end; without gaps one rank predicts nothing."""
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
        """A model with lags that has no start-up yet is given one; see `models.forecasting.start_up`.

        The validation part is filtered only when there are several ridges to choose from.

        With gaps the filter needs a readout to fill them, so the fit is made twice: first with the gaps filled by the
        readout that the model has (0, the training mean, in a new one), then by the first fit. Those of the validation
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
        """What `filter_sequences` gives up to each end; without gaps sooner, with the readout that was solved last."""
        if has_gaps(part.mask):
            return filter_sequences(model, part.values, up_to_end(part.mask))
        return self._read(model, part, *unread(model, part))

    def _begin(self, model: Recurrent) -> None:
        if model.lags and model.start_up is None:
            maps = self.lagged.start_up(self.train, self.validation, self.settings._replace(lags=model.lags))
            orders = start_up_orders(model.lags)
            model.start_up = start_up_of(maps, orders=orders, history=model.lags, like=model.readout_bias)

    def _once(self, model: Recurrent) -> FittedReadout:
        """Solved along the sequences as filtered with the readout that the model has; the parts as filtered."""
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
        """Predictions from the states; by `EliminatedMap` where the model's readout is the one that was solved last."""
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
    """One readout, once; see `ReadoutFit`."""
    return ReadoutFit(train, validation, settings, lagged)(model)
