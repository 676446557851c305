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
from models.forecasting.lags import settle_lags
from models.forecasting.readout import FittedReadout, ReadoutFit
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.forecasting.season import find_season
from models.forecasting.training import Descent, train_by_gradient
from models.runtime.parameters import whole_number
from models.runtime.seeding import Generators
from models.runtime.threads import threads_for

RIDGES = (1e-4, 1e-2, 1.0, 1e2, 1e4)
LAGS = (0, 1, 2, 4, 8, 16, 24, 48, 96)


def lag_choices(train: MaskedSequences, season: int | None) -> Sequence[int]:
    """Returns the numbers of lags that are tried: those of `LAGS`, and one and two seasons and a row more."""
    found = (season, 0.0) if season else find_season(train)
    seasons = [] if found is None else [found[0], found[0] + 1, 2 * found[0], 2 * found[0] + 1]
    return sorted({*LAGS, *seasons})


@dataclass(kw_only=True, eq=False, repr=False)
class RecurrentEstimator(ForecastingEstimator):
    """Is an estimator whose readout sees the model's state and the last `lags` rows.

    lags: a number, 0 for the state alone, or "auto", by which the validation part chooses it.
    """

    lags: Any = "auto"

    def readout(self, train: MaskedSequences) -> ReadoutSettings:
        """Returns what is asked of the readout: ridges to choose from, and lags."""
        if self.lags == "auto":
            return ReadoutSettings(0, RIDGES, "none", RIDGES, choices=lag_choices(train, self.season))
        return ReadoutSettings(int(self.lags), RIDGES, "none", RIDGES)

    def _check(self) -> None:
        check_lags(self.lags)


def fit_method(
    method: Method,
    train: MaskedSequences,
    validation: MaskedSequences,
    readout: ReadoutSettings,
    generators: Generators,
) -> Fitted:
    """Returns the model as its method fits it, with the lags that validation chose where they are left open."""
    fitted = method.fit(Problem(train, validation, readout, generators("weights")))
    with threads_for(fitted.model):
        solve = ReadoutFit(train, validation, readout)
        settled = settle_lags(fitted.model, FittedReadout(fitted.chosen, None, None), solve)
    return Fitted(settled.model, settled.readout.chosen)


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

    def _model(self, train: MaskedSequences, validation: MaskedSequences, generators: Generators) -> Fitted:
        readout = ReadoutSettings(0, RIDGES, "none", RIDGES)
        return fit_method(self._method(), train, validation, readout, generators)


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

    def _model(self, train: MaskedSequences, validation: MaskedSequences, generators: Generators) -> Fitted:
        solve = ReadoutFit(train, validation, self.readout(train))
        fitted = fit_method(self._method(), train, validation, solve.settings, generators)
        return trained(fitted, solve, epochs=self.epochs, descent=Descent(), generators=generators)
