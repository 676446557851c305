"""Estimators whose model has a readout of state and recent observations: the lags, and training by gradient."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.forecasting.estimator import ForecastingEstimator
from models.forecasting.estimator_checks import check_lags
from models.forecasting.filtering import MaskedSequences
from models.forecasting.fitting import Fitted, Method, Problem
from models.forecasting.lags_ahead import settle_ahead
from models.forecasting.readout import ReadoutFit
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.forecasting.season import shortest_season
from models.forecasting.training import Descent, train_by_gradient
from models.runtime.parameters import whole_number
from models.runtime.seeding import Generators
from models.runtime.threads import threads_for

RIDGES = (1e-3, 1.0, 1e2, 1e4)  # of lags, and of the state; all pairs are tried
LAGS = (0, 1, 2, 4, 8, 16, 24)
READOUT = ReadoutSettings(0, RIDGES, "none", RIDGES)  # of the state alone, before lags are chosen


def lag_choices(observed: MaskedSequences, season: int | None) -> Sequence[int]:
    """Returns the numbers of lags that are tried: those of `LAGS`, and one, two and four seasons.

    observed: columns that are not known ahead. season: in rows; None finds it in them.
    """
    length = season or shortest_season(observed)
    return sorted({*LAGS, *([] if length is None else [length, 2 * length, 4 * length])})


@dataclass(kw_only=True, eq=False, repr=False)
class RecurrentEstimator(ForecastingEstimator):
    """Is an estimator whose readout sees the model's state and the last `lags` rows.

    lags: a number, 0 for the state alone, or "auto", by which the validation part chooses it.
    """

    lags: Any = "auto"

    def choices(self, train: MaskedSequences, leads: int) -> Sequence[int]:
        """Returns the numbers of lags to choose from; leads: how many of the last columns are known ahead."""
        if self.lags != "auto":
            return [int(self.lags)]
        observed = train.values.shape[2] - leads
        return lag_choices(MaskedSequences(*(part[:, :, :observed] for part in train)), self.season)

    def _check(self) -> None:
        check_lags(self.lags)


def trained(fitted: Fitted, solve: ReadoutFit, *, epochs: int, descent: Descent, generators: Generators) -> Fitted:
    """Returns the model after so many epochs of training by gradient, its lags and ridges as they were chosen.

    solve: has the two parts, and the readout that was asked for.
    """
    model: Any = fitted.model
    if not epochs or not isinstance(model, Recurrent):
        return fitted
    settings = solve.settings.with_lags(model.lags).only(fitted.chosen)
    with threads_for(model):
        errors = train_by_gradient(
            model, ReadoutFit(solve.train, solve.validation, settings), epochs=epochs, descent=descent,
            generator=generators("order"),
        )  # fmt: skip
    return Fitted(model, {**fitted.chosen, "epochs": errors.index(min(errors))})


@dataclass(kw_only=True, eq=False, repr=False)
class MethodEstimator(ForecastingEstimator):
    """Is an estimator of a model that is found in closed form."""

    @abstractmethod
    def _method(self) -> Method:
        """Returns what fits the model. Raises ValueError or TypeError for parameters that make no sense."""

    def _check(self) -> None:
        self._method()

    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int
    ) -> Fitted:
        del leads
        return self._method().fit(Problem(train, validation, READOUT, generators("weights")))


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkEstimator(RecurrentEstimator):
    """Is an estimator of a network: random weights, a readout solved on them, then `epochs` of training by gradient."""

    epochs: int = 20

    @abstractmethod
    def _method(self) -> Method:
        """Returns what draws the network. Raises ValueError or TypeError for parameters that make no sense."""

    def _check(self) -> None:
        super()._check()
        whole_number("epochs", self.epochs, least=0)
        self._method()

    def _model(
        self, train: MaskedSequences, validation: MaskedSequences, generators: Generators, *, leads: int
    ) -> Fitted:
        solve = ReadoutFit(train, validation, READOUT)
        drawn = self._method().fit(Problem(train, validation, READOUT, generators("weights")))
        with threads_for(drawn.model):
            fitted = settle_ahead(drawn, solve, self.choices(train, leads), leads=leads)
        return trained(fitted, solve, epochs=self.epochs, descent=Descent(), generators=generators)
