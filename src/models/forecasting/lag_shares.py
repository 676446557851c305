"""What recent observations say of the next ones by themselves: computed once for many readouts."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from models.forecasting.filtering import MaskedSequences, has_gaps, scored_features
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.start_up import (
    fit_start_up,
    lag_rows,
    maps_of_each,
    mean_map,
    start_up_orders,
    steps_behind_lags,
)
from models.numerics.fixed_inputs import FixedInputs
from models.numerics.ridge import AffineMap, RegressionData, centred_moments


class _Regression(NamedTuple):
    train: MaskedSequences
    lags: int
    scale: str
    fixed: FixedInputs


class _Share(NamedTuple):
    """Holds the predictions x A of the recent observations x along `values`, with `alone` A. It holds `values` too, so
    that their id stays theirs."""

    values: Tensor
    alone: Tensor
    predictions: Tensor


class _Started(NamedTuple):
    train: MaskedSequences
    validation: MaskedSequences
    settings: ReadoutSettings
    maps: list[AffineMap]


class LagShares:
    """Keeps what recent observations alone say of the next ones, whatever the model, for one train part at a time.

    Models that are fitted one after the other to the same sequences without gaps, and the epochs of each, share it.
    """

    def __init__(self) -> None:
        self._last: _Regression | None = None
        self._shares: dict[int, _Share] = {}
        self._started: _Started | None = None

    def regression(self, train: MaskedSequences, rows: RegressionData, *, lags: int, scale: str) -> FixedInputs:
        """Returns the regression on recent observations; the last one is kept.

        rows: those of the recent observations along `train`, scored steps alone. Raises ValueError without rows.
        """
        last = self._last
        if last is None or last.train is not train or (last.lags, last.scale) != (lags, scale):
            self._last = last = _Regression(train, lags, scale, FixedInputs(rows.inputs, rows.targets, scale=scale))
            self._shares.clear()
        return last.fixed

    def share(self, values: Tensor, recent: Tensor, alone: Tensor) -> Tensor:
        """Returns x A, (row, feature), of the recent observations x (row, lags · feature) along `values`.

        alone: A (lags · feature, feature), of the last regression.
        """
        known = self._shares.get(id(values))
        if known is None or known.alone is not alone:
            known = self._shares[id(values)] = _Share(values, alone, recent @ alone.to(recent))
        return known.predictions

    def start_up(
        self, train: MaskedSequences, validation: MaskedSequences, settings: ReadoutSettings
    ) -> list[AffineMap]:
        """Returns the maps of `fit_start_up`; the last are kept."""
        last = self._started
        if last is None or last.train is not train or last.validation is not validation or last.settings != settings:
            self._started = last = _Started(
                train, validation, settings, self._fit_start_up(train, validation, settings)
            )
        return last.maps

    def _fit_start_up(
        self, train: MaskedSequences, validation: MaskedSequences, settings: ReadoutSettings
    ) -> list[AffineMap]:
        """Fits the start-up from the moments of `regression` where those are of the same rows. Where few rows have all
        lags, each order is fitted to rows of its own.

        Where no validation row has all lags, the ridges are chosen on the training rows.
        """
        lags, scale = settings.lags, settings.scale
        if few_have_all(train, lags) or few_have_all(validation, lags):
            return fit_each_order(train, validation, settings)
        rows, held_out = lagged_rows(train, lags), lagged_rows(validation, lags)
        if has_gaps(train.mask) or bool(train.scored[:, :lags].any()):
            moments = centred_moments(rows)
        else:
            moments = self.regression(train, rows, lags=lags, scale=scale).moments()
        held_out = held_out if bool(held_out.mask.any()) else rows
        return fit_start_up(moments, held_out, orders=start_up_orders(lags), ridges=settings.ridges, scale=scale)


def few_have_all(part: MaskedSequences, lags: int) -> bool:
    """Returns whether less than half of the scored rows that have one lag observed have all of them, as in short
    sequences with gaps. The others would say little of the forecasts that a start-up makes."""
    if lags < 2 or part.values.shape[1] <= 1:
        return False
    whole = int(steps_behind_lags(part.mask, part.scored, lags).sum()) if part.values.shape[1] > lags else 0
    return 2 * whole < int(steps_behind_lags(part.mask, part.scored, 1).sum())


def fit_each_order(train: MaskedSequences, validation: MaskedSequences, settings: ReadoutSettings) -> list[AffineMap]:
    """Returns what `fit_start_up` does, but each order is fitted to all rows that have its lags, and its ridge chosen
    on all such validation rows; on the training rows where there is none."""
    rows = lagged_rows(train, 1)
    maps = [mean_map(centred_moments(rows), rows.targets)]
    return maps + maps_of_each(
        start_up_orders(settings.lags)[1:], partial(lagged_rows, train), partial(lagged_rows, validation),
        ridges=settings.ridges, scale=settings.scale,
    )  # fmt: skip


def lagged_rows(part: MaskedSequences, lags: int) -> RegressionData:
    """Returns the scored rows with all lags observed. Where a feature that is scored anywhere has none such, those with
    gaps in their lags count as well, at the training mean."""
    if part.values.shape[1] <= lags:
        nothing = part.values[:0, 0]
        return RegressionData(nothing.repeat(1, lags), nothing, nothing > 0)
    rows = lag_rows(*part, lags)
    if bool(rows.mask.any(0)[scored_features(part.scored)].all()):
        return rows
    return lag_rows(part.values, torch.ones_like(part.mask), part.scored, lags)
